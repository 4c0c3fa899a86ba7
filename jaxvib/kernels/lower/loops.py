"""Lowering of loops and branches; what is long in them is in memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.assembler import kind_of
from . import control
from .control import Table
from .memory_arrays import Argument, Memory, Stored


def _loop(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower a `while`: it runs until all lanes are done; finished lanes are masked.

    Long carried arrays are replaced after each iteration.
    """
    inputs = [lowering.kept(array) for array in inputs]
    condition, body = control.loop_jaxprs(equation)
    condition_consts, body_consts, start = control.loop_inputs(equation, inputs)
    carried = _Carried(lowering, start)

    def go_on(short):
        (go,) = lowering.closed(condition, [*condition_consts, *carried.whole(short)])
        return go[()]

    def turn(short):
        return carried.replace(lowering.closed(body, [*body_consts, *carried.whole(short)]))

    return carried.whole(control.repeat(lowering, carried.short, go_on, turn))


class _Carried:
    """The loop-carried arrays: the short ones by name, the long ones in memory."""

    def __init__(self, lowering: Any, start: Sequence):
        self.lowering = lowering
        self.short = [array for array in start if isinstance(array, np.ndarray)]
        self.arrays: list[Stored | None] = []
        for array in start:
            if isinstance(array, np.ndarray):
                self.arrays.append(None)
                continue
            free = isinstance(array, Stored) and array.given_up
            self.arrays.append(array if free else lowering.copy(array))

    def whole(self, short: Sequence) -> list:
        """Return all arrays, given the short ones."""
        some = iter(short)
        return [next(some) if array is None else array for array in self.arrays]

    def replace(self, new: Sequence) -> list:
        """Store new long arrays; return the short ones."""
        lowering = self.lowering
        # Any of them may be computed from the old ones: all are, before one is replaced.
        pairs = [
            (old, self._apart(old, array))
            for old, array in zip(self.arrays, new, strict=True)
            if old is not None
        ]
        for old, array in pairs:
            if array is not None:
                lowering.replace(old, array)
        return [a for a, old in zip(new, self.arrays, strict=True) if old is None]

    def _apart(self, old: Stored, array: Any) -> Any:
        """Return a new array in memory of its own, `None` if it is the old one."""
        lowering = self.lowering
        array = lowering.kept(array)
        if not isinstance(array, Stored):
            return array
        carried = [other.memory for other in self.arrays if other is not None]
        if not array.memory.may_be_of(carried):
            return array
        if array.memory is old.memory and array.layout is old.layout:
            return None
        others = [memory for memory in carried if memory is not old.memory]
        if array.flat() is not None and not array.memory.may_be_of(others):
            return array  # some of the old one, or none: the same bytes may be copied
        return lowering.copy(array)


def _scan(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower a `scan`: all lanes are in the same iteration.

    Rows of short arrays are in tables, those of long ones are views of arrays in memory.
    """
    parameters, a = equation.params, lowering.assembler
    constants, carries = control.scan_counts(parameters)
    length, reverse = parameters["length"], parameters["reverse"]
    used = [lowering.kept(array) for array in inputs[:constants]]
    carried = _Carried(lowering, inputs[constants : constants + carries])
    first = constants + carries
    pairs = zip(equation.invars[first:], inputs[first:], strict=True)
    columns = [_column(lowering, *pair) for pair in pairs]
    results = [_rows(lowering, variable) for variable in equation.outvars[carries:]]
    if not length:  # rows of no array may be long
        empty = [lowering.array(np.zeros(v.aval.shape, v.aval.dtype))
                 for v in equation.outvars[carries:]]  # fmt: skip
        return [*carried.whole(carried.short), *empty]
    carry, same = control.Carried(lowering, carried.short), {}
    with control.counted(lowering, length, carry) as turn:
        row = a.assign(f"sub i64 {length - 1}, {turn}") if reverse else turn
        rows = [_row(lowering, column, row) for column in columns]
        values = [*used, *carried.whole(carry.values), *rows]
        new = lowering.closed(parameters["jaxpr"], values)
        for number, (result, array) in enumerate(zip(results, new[carries:], strict=True)):
            for column, old in zip(columns, rows, strict=True):
                if array is old and isinstance(column, Stored) and column.memory.is_own:
                    same[number] = column  # each row has taken the place of the old one
            if isinstance(result, Table):
                result.write(row, array)
            elif number not in same:
                lowering.fill(result.row(a, row), array)
        carry.following = carried.replace(new[:carries])
    whole = [one.whole() if isinstance(one, Table) else one for one in results]
    whole = [same.get(number, result) for number, result in enumerate(whole)]
    return [*carried.whole(carry.values), *whole]


def _rows(lowering: Any, variable: Any) -> Table | Stored:
    """Return a new array for a variable, whose rows are written in a loop."""
    shape, kind = variable.aval.shape, kind_of(variable.aval.dtype)
    long = lowering.is_long(shape)
    return lowering.new(shape, kind) if long else Table(lowering, kind, shape)


def _column(lowering: Any, variable: Any, array: Any) -> Table | Argument | Stored:
    """Return a variable's array, whose rows are read in a loop."""
    if isinstance(array, Argument):
        return array
    if not isinstance(array, np.ndarray):
        return lowering.stored(array)
    table = Table(lowering, kind_of(variable.aval.dtype), array.shape)
    for k in range(array.shape[0]):
        table.write(str(k), array[k, ...])
    return table


def _row(lowering: Any, array: Table | Argument | Stored, index: str) -> Any:
    """Return a row, in its own form: short ones by name."""
    if isinstance(array, Table | Argument):
        return array.read(index)
    row = array.row(lowering.assembler, index)
    return row if lowering.is_long(row.shape) else lowering.short_array(row)


def _branch(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower a `cond` or `switch`: branches that no lane takes are skipped.

    The branch that is taken stores its long results.
    """
    a, (which, *operands) = lowering.assembler, inputs
    branches, which = equation.params["branches"], which[()]
    last = len(branches) - 1
    if which.number is not None or not last:
        chosen = 0 if not last else int(np.clip(which.number, 0, last))
        return lowering.closed(branches[chosen], operands)
    operands = [lowering.kept(array) for array in operands]
    shapes = [(v.aval.shape, kind_of(v.aval.dtype)) for v in equation.outvars]
    long = [
        _Results(lowering, shape, kind) if lowering.is_long(shape) else None
        for shape, kind in shapes
    ]
    short: list = []
    outer = lowering.mask
    for number, taken in enumerate(branches):
        # An index out of range selects the nearest branch.
        how = "le" if number == 0 else "ge" if number == last else "eq"
        here = a.compare(how, which, a.constant(number, which.kind))
        concerned = here if outer is None else a.bitwise_and(here, outer)
        start, inside, after = a.block, a.label(), a.label()
        a.branch(a.any(concerned), inside, after)
        a.begin(inside)
        lowering.mask = concerned
        found = lowering.closed(taken, operands)
        lowering.mask = outer
        for results, array in zip(long, found, strict=True):
            if results is not None:
                results.add(array)
        names = [array for array, one in zip(found, long, strict=True) if one is None]
        short = control.joined(
            a,
            here,
            names,
            short,
            (start, after),
            lambda start, end: [one.join(start, end) for one in long if one is not None],
        )
    some = iter(short)
    return [next(some) if one is None else one.whole() for one in long]


class _Results:
    """A long result of branches: that of the one that is taken, where it is in memory."""

    def __init__(self, lowering: Any, shape: tuple[int, ...], kind: str):
        self.lowering, self._shape, self._kind = lowering, shape, kind
        self._arrays: list[Stored] = []
        self._pointer = "null"
        # A GPU's numbers are not next to each other: they are copied.
        self._copy = lowering.new(shape, kind) if lowering.threads else None

    def add(self, array: Any) -> None:
        """Add the result of a branch, at its end."""
        lowering = self.lowering
        if self._copy is not None:
            return lowering.fill(self._copy, array)
        if not isinstance(array, Stored) or array.flat() is None:
            array = lowering.copy(array)
        self._arrays.append(array)
        self._last = array.pointer(lowering.assembler)
        return None

    def join(self, start: str, end: str) -> None:
        """Emit which one it is, at the begin of a block: after `end`, or another branch."""
        if self._copy is None:
            a = self.lowering.assembler
            sources = (self._last, end), (self._pointer, start)
            self._pointer = a.assign(a.phi("ptr", *sources))

    def whole(self) -> Stored:
        """Return the result."""
        if self._copy is not None:
            return self._copy
        first = self._arrays[0]
        if all(array.is_at(first) for array in self._arrays):
            return first
        size, memories = int(np.prod(self._shape)), [a.memory for a in self._arrays]
        memory = Memory(self._pointer, size, of=memories)
        return Stored(memory, memory.layout.reshape(self._shape), self._kind)


TABLE = {"while": _loop, "cond": _branch, "scan": _scan}
