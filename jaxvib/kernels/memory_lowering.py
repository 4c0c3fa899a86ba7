"""Lowering of a program whose long arrays are in memory, with loops over them.

A name for each number of each array makes short programs fast, and programs of arrays of
a thousand numbers so long that no compiler can take them. Here only short arrays have
names.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from jax.extend import core
from jax.extend.core import ClosedJaxpr, Jaxpr

from . import lowering, memory_control, memory_indexing, memory_primitives
from .assembler import LoweringError, Value, kind_of, literal, storage
from .control import counted
from .lowering import Lowering, Program, check_kind
from .memory_arrays import (
    Computed,
    Index,
    LongArray,
    Memory,
    Named,
    Repeated,
    Stored,
    plus,
    times,
)
from .workspace import Workspace

# Numbers of an array that has a name for each: as many as are solved for by name.
SHORT = 16
# Bytes of memory per thread: XLA would need them for one lane of each vector.
_LARGEST = 2**30
# Numbers of an iteration, which hide the time of its jump; and the weight of an array
# above which its numbers do so.
_TOGETHER, _HEAVY = 4, 9
_TABLE = {
    **memory_primitives.TABLE,
    **memory_indexing.TABLE,
    **memory_control.TABLE,
}


def lower_lanes_in_memory(closed: ClosedJaxpr, width: int, short: int = SHORT) -> Program:
    """Lower a jaxpr like `lower_lanes`, with arrays of more than `short` in memory.

    **Raises:** `LoweringError` for unsupported operations.
    """
    return lowering.program_of(MemoryLowering(width, short), closed)


class MemoryLowering(Lowering):
    """Lowers the equations of a jaxpr, with loops over long arrays.

    Arrays of up to `short` numbers are NumPy arrays of `Value`, as in `Lowering`, the
    others `LongArray`. An array that one equation uses is computed there, one number
    after the other, and only others are stored.
    """

    def __init__(self, width: int, short: int = SHORT):
        super().__init__(width)
        self.short, self._memory = short, Workspace()
        self._constants: dict[tuple, Memory] = {}

    @property
    def workspace(self) -> int:
        """The bytes of memory that the program needs."""
        return self._memory.size

    # Arguments, results and constants.

    def load(self, pointer: str, shape: tuple[int, ...], kind: str, align: int) -> Any:
        """Load an argument; long ones are copied, as their numbers are far apart."""
        if not self.is_long(shape):
            return super().load(pointer, shape, kind, align)
        target, a = self.new(shape, kind), self.assembler
        whole = target.view(target.layout.reshape(-1))
        with counted(self, target.layout.size) as number:
            whole.write(a, [number], lowering.loaded(a, pointer, number, kind, align))
        return target

    def store(self, pointer: str, values: Any, kind: str, align: int) -> None:
        """Store a result."""
        if isinstance(values, np.ndarray):
            return super().store(pointer, values, kind, align)
        a, whole = self.assembler, self.stored(values)
        strides = np.empty(whole.shape, np.int8).strides
        with self.loops(whole.shape) as place:
            number: Index = 0
            for index, stride in zip(place, strides, strict=True):
                number = plus(a, number, times(a, index, stride))
            lowering.store(a, pointer, number, whole.at(a, place), kind, align)
        return None

    def array(self, numbers: Any) -> Any:
        """Return constants as an array; all lanes read the same long one."""
        numbers = np.asarray(numbers)
        if not self.is_long(numbers.shape):
            return super().array(numbers)
        kind = numbers.dtype.name
        check_kind(kind)
        first = numbers.flat[0]
        if np.all(numbers.view(f"u{numbers.itemsize}") == first.view(f"u{first.itemsize}")):
            return Repeated(self.assembler.constant(first, kind), numbers.shape, first)
        numbers = np.ascontiguousarray(numbers)
        key = kind, numbers.tobytes()
        if key not in self._constants:
            name = f"@table{len(self._constants)}"
            type_ = storage(kind)
            whole = ", ".join(
                f"{type_} {literal(int(x) if kind == 'bool' else x, _stored_as(kind))}"
                for x in numbers.flat
            )
            of = f"[{numbers.size} x {type_}]"
            self.tables.append(f"{name} = internal constant {of} [{whole}]")
            self._constants[key] = Memory(name, numbers.size, shared=True)
        memory = self._constants[key]
        return Stored(memory, memory.layout.reshape(numbers.shape), kind)

    # Arrays of one form as another.

    def is_long(self, shape: Sequence[int]) -> bool:
        """Return whether arrays of a shape are in memory."""
        return int(np.prod(shape)) > self.short

    def new(self, shape: Sequence[int], kind: str, shared: bool = False) -> Stored:
        """Return a new array in memory, its numbers unset."""
        size = max(int(np.prod(shape)), 1)
        number = np.dtype(kind).itemsize * (1 if shared else self.assembler.width)
        memory = Memory.taken(self._memory, lowering.WORK, size, number, shared)
        if self._memory.size > _LARGEST:
            raise LoweringError(f"its arrays take more than {_LARGEST} bytes")
        layout = memory.layout[: int(np.prod(shape))].reshape(shape)
        return Stored(memory, layout, kind)

    def long(self, array: Any, shape: tuple[int, ...] | None = None) -> LongArray:
        """Return a short array as a long one; a single number repeated to a `shape`."""
        if not isinstance(array, np.ndarray):
            return array
        if array.size == 1 and shape is not None:
            value = array.flat[0]
            return Repeated(value if value.number is not None else value.plain(), shape)
        target = self.new(array.shape, array.flat[0].kind if array.size else "bool")
        self.fill(target, array)
        return target

    def short_array(self, array: Any) -> np.ndarray:
        """Return a long array as names of its numbers."""
        if isinstance(array, np.ndarray):
            return array
        values = np.empty(array.shape, object)
        for place in np.ndindex(array.shape):
            values[place] = array.at(self.assembler, place)
        return values

    def stored(self, array: Any) -> Stored:
        """Return an array in memory."""
        if isinstance(array, Stored):
            return array
        array = self.long(array)
        if isinstance(array, Stored):
            return array
        target = self.new(array.shape, array.kind, array.shared)
        with self.once() if array.shared else contextlib.nullcontext():
            self.fill(target, array)
        return target

    def kept(self, array: Any) -> Any:
        """Return an array that may be read several times."""
        return self.stored(array) if isinstance(array, Computed) else array

    def fill(self, target: Stored, source: Any, active: Value | None = None) -> None:
        """Store the numbers of an array in another, those of the `active` lanes."""
        if isinstance(source, np.ndarray):
            source = Named(source, target.kind)
        a = self.assembler

        def move(here: Stored, from_: LongArray, place):
            value = from_.at(a, place)
            if active is not None:
                value = a.select(active, value, here.at(a, place))
            here.write(a, place, value)

        if isinstance(source, Named):
            for place in np.ndindex(source.shape):
                move(target, source, place)
            return
        flat, whole = source.flat(), target.flat()
        if flat is None or whole is None:
            with self.loops(target.shape) as place:
                move(target, source, place)
            return
        together = 1 if source.weight > _HEAVY else _TOGETHER
        size = target.layout.size
        if size >= together:
            with counted(self, size // together) as turn:
                first = times(a, turn, together)
                for k in range(together):
                    move(whole, flat, [plus(a, first, k)])
        for k in range(size - size % together, size):
            move(whole, flat, [k])

    # Loops.

    @contextlib.contextmanager
    def loops(self, shape: Sequence[int]) -> Generator[list[Index]]:
        """Emit loops around what the context emits; yield the indices of a place."""
        with contextlib.ExitStack() as stack:
            yield [0 if n == 1 else stack.enter_context(counted(self, n)) for n in shape]

    @contextlib.contextmanager
    def once(self) -> Generator[None]:
        """Emit what the context emits for one lane: what all lanes share."""
        a = self.assembler
        width, a.width = a.width, 1
        try:
            yield
        finally:
            a.width = width

    # Equations.

    def evaluate(self, jaxpr: Jaxpr, constants: Sequence, arguments: Sequence) -> list:
        """Lower a jaxpr and return its results."""
        uses, last = _uses(jaxpr)
        environment: dict[Any, Any] = {}

        def put(variables, arrays):
            for variable, array in zip(variables, arrays, strict=True):
                environment[variable] = self.kept(array) if uses[variable] > 1 else array

        def read(variable):
            if isinstance(variable, core.Literal):
                return self.array(np.asarray(variable.val, variable.aval.dtype))
            return environment[variable]

        put(jaxpr.constvars, map(self.array, constants))
        put(jaxpr.invars, arguments)
        for number, equation in enumerate(jaxpr.eqns):
            inputs = [read(variable) for variable in equation.invars]
            put(equation.outvars, self.equation(equation, inputs))
            self.check_length()
            # Releases the memory of what is not used any more.
            for variable in last.get(number, ()):
                environment.pop(variable, None)
        return [read(variable) for variable in jaxpr.outvars]

    def equation(self, equation: Any, inputs: Sequence) -> list:
        """Lower one equation."""
        name = equation.primitive.name
        shapes = [variable.aval.shape for variable in equation.outvars]
        long = not all(isinstance(array, np.ndarray) for array in inputs)
        write = _TABLE.get(name)
        # Loops and branches may have long arrays inside.
        long = long or any(map(self.is_long, shapes)) or name in memory_control.TABLE
        if write is None or not long:
            return self._by_name(equation, inputs)
        for variable in (*equation.invars, *equation.outvars):
            check_kind(kind_of(variable.aval.dtype))
        results = write(self, equation, inputs)
        return [
            array if self.is_long(shape) else self.short_array(array)
            for array, shape in zip(results, shapes, strict=True)
        ]

    def _by_name(self, equation: Any, inputs: Sequence) -> list:
        """Lower an equation number by number."""
        whole = [self.short_array(array) for array in inputs]
        short, self.short = self.short, sys.maxsize
        results = super().equation(equation, whole)
        self.short = short
        return [
            self.long(array) if self.is_long(array.shape) else array for array in results
        ]


def _stored_as(kind: str) -> str:
    return "uint8" if kind == "bool" else kind


def _uses(jaxpr: Jaxpr) -> tuple[Counter, dict[int, list]]:
    """Return how many equations use each variable, and which each is the last to use."""
    uses, last = Counter(), {}
    for number, equation in enumerate(jaxpr.eqns):
        for variable in {v for v in equation.invars if not isinstance(v, core.Literal)}:
            uses[variable] += 1
            last[variable] = number
        for variable in equation.outvars:
            last.setdefault(variable, number)
    results = [v for v in jaxpr.outvars if not isinstance(v, core.Literal)]
    uses.update(results)
    for variable in results:
        last.pop(variable, None)
    gone: dict[int, list] = {}
    for variable, number in last.items():
        gone.setdefault(number, []).append(variable)
    return uses, gone
