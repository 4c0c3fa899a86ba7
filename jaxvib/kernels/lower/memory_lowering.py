"""Lowering of a program whose long arrays are in memory, with loops over them.

A name for each number of each array makes short programs fast, and programs of arrays of
a thousand numbers so long that no compiler can take them. Here only short arrays have
names.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Collection, Generator, Sequence
from typing import Any

import numpy as np
from jax.extend import core
from jax.extend.core import ClosedJaxpr, Jaxpr

from ..ir.assembler import LoweringError, kind_of, literal, storage
from . import (
    axes,
    indexing,
    linear,
    lowering,
    memory_control,
    memory_primitives,
)
from .control import counted
from .cost_estimate import SHORT
from .lowering import Lowering, Program, check_kind
from .memory_arrays import (
    Computed,
    Index,
    Interleaved,
    LongArray,
    Memory,
    Named,
    Repeated,
    Run,
    Stored,
    plus,
    times,
)
from .workspace import Workspace

# Bytes of memory per thread: five matrices of 5000 rows, the largest dense ones.
_LARGEST = 2**30
# Numbers of a constant array: a thousand degrees of freedom. They are part of the text.
_CONSTANTS = 1_000_000
# Vectors of an axis up to which no loop is emitted: it takes longer than a vector.
_UNROLLED = 4
# The order of a GPU's memory for the program, and of its arguments. Threads beyond the last
# lane repeat it, in memory of their own.
THREADS, _LANES = Interleaved("%threads", "%thread"), Interleaved("%n", "%i")
_TABLE = {
    **memory_primitives.TABLE,
    **axes.TABLE,
    **indexing.TABLE,
    **memory_control.TABLE,
    **linear.TABLE,
}


def lower_lanes_in_memory(
    closed: ClosedJaxpr,
    vector: int,
    short: int = SHORT,
    shared: Collection[int] = (),
) -> Program:
    """Lower a jaxpr like `lower_lanes`, with arrays of more than `short` in memory.

    The `shared` arguments, long ones, have no axis of lanes: all read the same.

    **Raises:** `LoweringError` for unsupported operations.
    """
    pointers = {f"%in{k}" for k in shared}
    return lowering.program_of(MemoryLowering(vector, short, pointers), closed)


class MemoryLowering(Lowering):
    """Lowers the equations of a jaxpr for one lane, with loops over long arrays.

    Arrays of up to `short` numbers are NumPy arrays of `Value`, as in `Lowering`, the
    others `LongArray`. An array that one equation uses is computed there, one number
    after the other, and only others are stored. The numbers of an iteration are a
    `vector` along the last axis; that of the lanes would make arrays so large that they
    leave the cache. `shared`: pointers of arguments that all lanes read; `threads`:
    whether the target is a GPU, whose threads interleave their numbers.
    """

    def __init__(
        self,
        vector: int,
        short: int = SHORT,
        shared: Collection[str] = (),
        threads: bool = False,
    ):
        super().__init__(1, threads)
        self.unrolls = short == sys.maxsize
        self._shared = shared
        self._order = THREADS if threads else None
        self.vector, self.short, self._memory = vector, short, Workspace()
        self._constants: dict[tuple, Memory] = {}

    # Arguments, results and constants.

    def load(self, pointer: str, shape: tuple[int, ...], kind: str, align: int) -> Any:
        """Load an argument; the numbers of a long one are in order for one lane only."""
        if not self.is_long(shape):
            return super().load(pointer, shape, kind, align)
        shared = pointer in self._shared
        if shared or self.threads:
            order = None if shared else _LANES
            memory = Memory(pointer, int(np.prod(shape)), order=order)
            return Stored(memory, memory.layout.reshape(shape), kind)
        a, copy = self.assembler, self.new(shape, kind)
        whole = copy.view(copy.layout.reshape(-1))
        start = whole.pointer(a)
        before, scattered, after = a.block, a.label(), a.label()
        a.branch(self._is_scattered(pointer, kind), scattered, after)
        a.begin(scattered)
        with counted(self, whole.shape[0]) as number:
            whole.write(a, [number], lowering.loaded(a, pointer, number, kind, align))
        end = a.block
        a.jump(after)
        a.begin(after)
        found = a.assign(f"phi ptr [ {pointer}, %{before} ], [ {start}, %{end} ]")
        memory = Memory(found, whole.shape[0], of=[copy.memory])
        return Stored(memory, memory.layout.reshape(shape), kind)

    def _is_scattered(self, pointer: str, kind: str) -> str:
        """Emit whether the numbers of a lane are apart, or not aligned."""
        a = self.assembler
        apart = a.assign("icmp ne i64 %n, 1")
        place = a.assign(f"ptrtoint ptr {pointer} to i64")
        rest = a.assign(f"and i64 {place}, {np.dtype(kind).itemsize - 1}")
        crooked = a.assign(f"icmp ne i64 {rest}, 0")
        return a.assign(f"or i1 {apart}, {crooked}")

    def store(self, pointer: str, values: Any, kind: str, align: int) -> None:
        """Store a result."""
        if isinstance(values, np.ndarray):
            return super().store(pointer, values, kind, align)
        a, whole = self.assembler, self.stored(values)
        strides = np.empty(whole.shape, np.int8).strides
        with self.loops(whole.shape) as place:
            number: int | str = 0
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
        bits = f"u{numbers.itemsize}"
        if np.all(numbers.view(bits) == first.view(bits)):
            return Repeated(numbers.shape, kind, first)
        if numbers.size > _CONSTANTS:
            raise LoweringError(f"it has a constant array of {numbers.size} numbers")
        key = kind, numbers.tobytes()
        if key not in self._constants:
            name, kept = f"@table{len(self._constants)}", storage(kind)
            written = (
                literal(x, "uint8" if kind == "bool" else kind) for x in numbers.flat
            )
            whole = ", ".join(f"{kept} {number}" for number in written)
            self.tables.append(
                f"{name} = internal constant [{numbers.size} x {kept}] [{whole}]"
            )
            self._constants[key] = Memory(name, numbers.size)
        memory = self._constants[key]
        return Stored(memory, memory.layout.reshape(numbers.shape), kind)

    # Arrays of one form as another.

    def is_long(self, shape: Sequence[int]) -> bool:
        """Return whether arrays of a shape are in memory."""
        return int(np.prod(shape)) > self.short

    def new(self, shape: Sequence[int], kind: str) -> Stored:
        """Return a new array in memory, its numbers unset."""
        size = int(np.prod(shape))
        number = np.dtype(kind).itemsize
        memory = Memory(
            lowering.WORK, max(size, 1), number, self._memory, order=self._order
        )
        self.workspace = self._memory.size
        if self.workspace > _LARGEST:
            raise LoweringError(f"its arrays take more than {_LARGEST} bytes")
        return Stored(memory, memory.layout[:size].reshape(shape), kind)

    def long(self, array: Any, shape: tuple[int, ...] | None = None) -> LongArray:
        """Return a short array as a long one; a single number repeated to a `shape`."""
        if not isinstance(array, np.ndarray):
            return array
        if array.size == 1 and shape is not None:
            value = array.flat[0]
            number = value.plain() if value.number is None else value.number
            return Repeated(shape, value.kind, number)
        target = self.new(array.shape, array.flat[0].kind if array.size else "bool")
        self.fill(target, array)
        return target

    def stored(self, array: Any) -> Stored:
        """Return an array in memory."""
        array = self.long(array)
        return array if isinstance(array, Stored) else self.copy(array)

    def copy(self, array: Any) -> Stored:
        """Return a copy of an array, its numbers in order."""
        array = self.long(array)
        target = self.new(array.shape, array.kind)
        self.fill(target, array)
        return target

    def kept(self, array: Any) -> Any:
        """Return an array that may be read several times."""
        return self.copy(array) if isinstance(array, Computed) else array

    def fill(self, target: Stored, source: Any) -> None:
        """Store the numbers of an array in another of the same shape."""
        a = self.assembler
        if isinstance(target, Named):
            super().fill(target, source)
            return
        if isinstance(source, np.ndarray):
            for place in np.ndindex(source.shape):
                target.write(a, place, source[place])
            return
        flat, whole = source.flat(), target.flat()
        if flat is not None and whole is not None:
            alike = isinstance(flat, Stored) and flat.kind == whole.kind
            if alike and not self.threads:
                a.copy_bytes(whole.pointer(a), flat.pointer(a), _size(flat))
                return
            source, target = flat, whole
        with self.loops(target.shape[:-1]) as place:
            for part in self.along(target.shape[-1]):
                with part as index:
                    target.write(a, [*place, index], source.at(a, [*place, index]))

    def replace(self, target: Stored, source: Any) -> None:
        """Store an array in another, of which it may be the whole or no part."""
        if not isinstance(source, Stored) or not source.memory.may_be_of([target.memory]):
            return self.fill(target, source)
        if source.is_at(target):
            return None
        if self.threads or source.flat() is None or target.flat() is None:
            return self.fill(target, source)
        a, moves, after = self.assembler, self.assembler.label(), self.assembler.label()
        places = source.pointer(a), target.pointer(a)
        a.branch(a.assign(f"icmp ne ptr {places[0]}, {places[1]}"), moves, after)
        a.begin(moves)
        self.fill(target, source)
        a.jump(after)
        a.begin(after)
        return None

    # Loops.

    @contextlib.contextmanager
    def loops(self, shape: Sequence[int | str]) -> Generator[list[int | str]]:
        """Emit loops around what the context emits; yield the indices of a place."""
        with contextlib.ExitStack() as stack:
            yield [0 if n == 1 else stack.enter_context(counted(self, n)) for n in shape]

    def along(
        self, length: int | str, first: int | str = 0
    ) -> list[contextlib.AbstractContextManager[Index]]:
        """Return loops along an axis: one of whole vectors, and one of what is left.

        They begin at a `first` index and have a `length`, known now or late.
        """
        a, vector = self.assembler, self.vector
        if isinstance(length, int):
            turns: int | str = length // vector
            left: int | str = length % vector
        else:
            turns = a.assign(f"udiv i64 {length}, {vector}")
            left = a.assign(f"urem i64 {length}, {vector}")
        parts: list[contextlib.AbstractContextManager[Index]] = []
        if isinstance(turns, int) and turns <= _UNROLLED:
            parts += [self._vector(plus(a, first, k * vector)) for k in range(turns)]
        elif turns:
            parts.append(self._vectors(turns, first))
        if left:
            parts.append(self._singles(left, plus(a, first, times(a, turns, vector))))
        return parts

    @contextlib.contextmanager
    def _vectors(self, turns: int | str, first: int | str) -> Generator[Index]:
        a = self.assembler
        with counted(self, turns) as turn:
            place = plus(a, times(a, turn, self.vector), first)
            with self.vectors_of(self.vector):
                yield Run(place)

    @contextlib.contextmanager
    def _vector(self, first: int | str) -> Generator[Index]:
        with self.vectors_of(self.vector):
            yield Run(first)

    @contextlib.contextmanager
    def _singles(self, number: int | str, first: int | str) -> Generator[Index]:
        with self.loops((number,)) as (turn,):
            yield plus(self.assembler, turn, first)

    @contextlib.contextmanager
    def vectors_of(self, width: int) -> Generator[None]:
        """Emit what the context emits for vectors of a width."""
        a = self.assembler
        before, a.width = a.width, width
        try:
            yield
        finally:
            a.width = before

    # Equations.

    def uses(self, jaxpr: Jaxpr) -> tuple[Collection, dict[int, list]]:
        """Return what several equations use, and what each is the last to use."""
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
        return {variable for variable, number in uses.items() if number > 1}, gone

    def lowered(self, equation: Any, inputs: Sequence) -> list:
        """Lower one equation by its primitive's function."""
        name = equation.primitive.name
        shapes = [variable.aval.shape for variable in equation.outvars]
        long = not all(isinstance(array, np.ndarray) for array in inputs)
        write = _TABLE.get(name)
        # Loops and branches may have long arrays inside.
        long = long or any(map(self.is_long, shapes)) or name in memory_control.TABLE
        if write is None or not long:
            return self.by_name(equation, inputs)
        for variable in (*equation.invars, *equation.outvars):
            check_kind(kind_of(variable.aval.dtype))
        results = write(self, equation, inputs)
        return [
            array if self.is_long(shape) else self.short_array(array)
            for array, shape in zip(results, shapes, strict=True)
        ]

    def by_name(self, equation: Any, inputs: Sequence) -> list:
        """Lower an equation number by number."""
        whole = [self.short_array(array) for array in inputs]
        before = self.short, self.unrolls
        self.short, self.unrolls = sys.maxsize, True
        results = super().lowered(equation, whole)
        self.short, self.unrolls = before
        return [
            self.long(array) if self.is_long(array.shape) else array for array in results
        ]


def _size(array: Stored) -> int:
    return array.layout.size * np.dtype(array.kind).itemsize
