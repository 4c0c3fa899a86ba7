"""Lowering of loops and branches whose long arrays are in memory."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core

from . import control
from .assembler import kind_of
from .jvp_rules import is_real
from .memory_arrays import Stored


def _loop(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower a `while`: long carried arrays are replaced after each iteration."""
    inputs = [lowering.kept(array) for array in inputs]
    condition, body, asked, used, start = control.loop_parts(equation, inputs)
    carried = _Carried(lowering, start)

    def go_on(short):
        (go,) = lowering.closed(condition, [*asked, *carried.whole(short)])
        return go[()]

    def turn(short):
        return carried.replace(lowering.closed(body, [*used, *carried.whole(short)]))

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
            self.arrays.append(lowering.copy(array))

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
                lowering.fill(old, array)
        return [a for a, old in zip(new, self.arrays, strict=True) if old is None]

    def _apart(self, old: Stored, array: Any) -> Any:
        """Return a new array in memory of its own, `None` if it is the old one."""
        lowering = self.lowering
        array = lowering.kept(array)
        if not isinstance(array, Stored):
            return array
        memories = [other.memory for other in self.arrays if other is not None]
        if array.memory not in memories:
            return array
        if array.memory is old.memory and array.layout is old.layout:
            return None
        return lowering.copy(array)


def _scan(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower a `scan`, whose rows are views of arrays in memory."""
    parameters, a = equation.params, lowering.assembler
    constants, carries = control.scan_counts(parameters)
    length, reverse = parameters["length"], parameters["reverse"]
    used = [lowering.kept(array) for array in inputs[:constants]]
    carried = _Carried(lowering, inputs[constants : constants + carries])
    columns = [lowering.stored(array) for array in inputs[constants + carries :]]
    results = [
        lowering.new(v.aval.shape, kind_of(v.aval.dtype))
        for v in equation.outvars[carries:]
    ]
    if not length:
        return [*carried.whole(carried.short), *results]
    carry = control.Carried(lowering, carried.short)
    with control.counted(lowering, length, carry) as turn:
        row = a.assign(f"sub i64 {length - 1}, {turn}") if reverse else turn
        rows = [_readable(lowering, column.row(a, row)) for column in columns]
        values = [*used, *carried.whole(carry.values), *rows]
        new = lowering.closed(parameters["jaxpr"], values)
        for result, array in zip(results, new[carries:], strict=True):
            lowering.fill(result.row(a, row), array)
        carry.following = carried.replace(new[:carries])
    return [*carried.whole(carry.values), *results]


def _readable(lowering: Any, array: Stored) -> Any:
    """Return an array in its own form: short ones by name."""
    return array if lowering.is_long(array.shape) else lowering.short_array(array)


def _branch(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower a `cond`: the branch that is taken stores its long results."""
    a, (which, *operands) = lowering.assembler, inputs
    branches, which = equation.params["branches"], which[()]
    last = len(branches) - 1
    if which.number is not None or not last:
        chosen = 0 if not last else int(np.clip(which.number, 0, last))
        return lowering.closed(branches[chosen], operands)
    operands = [lowering.kept(array) for array in operands]
    shapes = [(v.aval.shape, kind_of(v.aval.dtype)) for v in equation.outvars]
    long = [
        lowering.new(shape, kind) if lowering.is_long(shape) else None
        for shape, kind in shapes
    ]
    short: list = []
    for number, taken in enumerate(branches):
        # An index out of range selects the nearest branch.
        how = "le" if number == 0 else "ge" if number == last else "eq"
        here = a.compare(how, which, a.constant(number, which.kind))
        start, inside, after = a.block, a.label(), a.label()
        a.branch(a.any(here), inside, after)
        a.begin(inside)
        found = lowering.closed(taken, operands)
        for target, array in zip(long, found, strict=True):
            if target is not None:
                lowering.fill(target, array)
        names = [array for array, one in zip(found, long, strict=True) if one is None]
        short = control.joined(a, here, names, short, (start, after))
    some = iter(short)
    return [next(some) if target is None else target for target in long]


def _called(lowering: Any, equation: Any, inputs: Sequence) -> list:
    return control.called(lowering, equation, inputs)


def _tangents(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower a jaxpr and its tangents along rows, which are an axis of long arrays."""
    parameters = equation.params
    jaxpr, count = parameters["jaxpr"], parameters["values"]
    constants = len(jaxpr.constvars)
    variables = [*jaxpr.constvars, *jaxpr.invars]
    directions = equation.invars[-1].aval.shape[0]
    real = [is_real(variable) for variable in jaxpr.outvars[:count]]

    def whole(*arguments):
        arrays, rows = arguments[: len(variables)], arguments[len(variables) :]

        def of(*moved):
            closed = core.ClosedJaxpr(jaxpr, arrays[:constants])
            results = core.jaxpr_as_fun(closed)(*moved)
            values = results[:count]
            return [v for v, one in zip(values, real, strict=True) if one], results

        def along(*row):
            return jax.jvp(of, tuple(arrays[constants:]), row, has_aux=True)[1:]

        columns, results = jax.vmap(along, out_axes=(0, None))(*rows)
        columns = iter(columns)
        return [
            *(
                next(columns)
                if one
                else np.zeros((directions, *v.aval.shape), v.aval.dtype)
                for one, v in zip(real, jaxpr.outvars, strict=False)
            ),
            *results,
        ]

    shapes = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars]
    return lowering.closed(jax.make_jaxpr(whole)(*shapes), inputs)


TABLE = {
    **dict.fromkeys(control.CALLS, _called),
    "call_hi_primitive": control.expanded,
    "while": _loop,
    "scan": _scan,
    "cond": _branch,
    "columns": _tangents,
}
