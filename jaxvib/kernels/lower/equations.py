"""Lowering of the equations of a jaxpr: of numbers that have names, and of memory.

A name for each number of each array makes short programs fast, and programs of arrays of
a thousand numbers so long that no compiler can take them. There only short arrays have
names; long ones are in memory, with loops over them.
"""

import contextlib
import functools
import math
import sys
import sysconfig
from collections import Counter
from collections.abc import Collection, Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jax.extend import core
from jax.extend.core import ClosedJaxpr, Jaxpr

from ..ir.assembler import (
    Assembler,
    LoweringError,
    Value,
    kind_of,
    known,
    literal,
    storage,
)
from . import (
    axes,
    control,
    in_place,
    indexing,
    linear,
    loops,
    ordering,
    primitives,
    tangents,
)
from .control import counted
from .jvp_rules import opened
from .memory_arrays import (
    Argument,
    Computed,
    Index,
    Interleaved,
    LongArray,
    Memory,
    Named,
    Repeated,
    Run,
    Stored,
    loaded,
    plus,
    store_number,
    times,
)
from .workspace import Workspace

# Each number of a lane is an LLVM value. This many take LLVM 10 s, and XLA minutes.
_MAX_LINES = 300_000
WORK = "%work"  # the pointer to the workspace
# Bytes of memory per thread: five matrices of 5000 rows, the largest dense ones.
_LARGEST = 2**30
# Numbers of a constant array: a thousand degrees of freedom. They are part of the text.
_CONSTANTS = 1_000_000
# Vectors of an axis up to which no loop is emitted: it takes longer than a vector.
_UNROLLED = 4
# The order of a GPU's memory for the program, and of its arguments. Threads beyond the last
# lane repeat it, in memory of their own.
THREADS, _LANES = Interleaved("%threads", "%thread"), Interleaved("%n", "%i")
# Those that may have long arrays inside.
_OUTER = {**control.TABLE, **loops.TABLE, **tangents.TABLE}
_TABLE = {
    **primitives.TABLE,
    **axes.TABLE,
    **ordering.TABLE,
    **indexing.TABLE,
    **linear.TABLE,
    **in_place.TABLE,
    **_OUTER,
}
# Those that take arguments of which nothing is loaded yet.
_READERS = {*primitives.VIEWS, "concatenate", *control.CALLS}
# Folders of Python, of installed packages and of this library.
_NOT_THE_USERS = (
    *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")),
    str(Path(__file__).parents[2]),
)


class Lowering:
    """Lowers the equations of a jaxpr.

    Arrays of up to `short` numbers are NumPy arrays of `Value`; rearranging them emits
    nothing. The others are `LongArray`: one that one equation uses is computed there, one
    number after the other, and only others are stored. Without `short` all are named, for
    `width` lanes at a time. With it there is one lane at a time, and the numbers of an
    iteration are a `vector` of that width along the last axis; that of the lanes would
    make arrays so large that they leave the cache.

    `shared`: pointers of arguments that all lanes read; `threads`: whether the target is a
    GPU, with one lane per thread and few registers, whose threads interleave their
    numbers; `mask`: the lanes that are active in the current loop or branch, `None` for
    all; `tables`: definitions of constants that all lanes read; `workspace`: the bytes of
    memory that the program needs.
    """

    workspace: int = 0

    def __init__(
        self,
        width: int,
        short: int | None = None,
        shared: Collection[str] = (),
        threads: bool = False,
    ):
        self.assembler = Assembler(width if short is None else 1)
        self.vector, self.short = width, sys.maxsize if short is None else short
        self.threads, self._shared = threads, shared
        self.mask: Value | None = None
        self.tables: list[str] = []
        self._order, self._memory = THREADS if threads else None, Workspace()
        self._constants: dict[tuple, Memory] = {}

    @property
    def unrolls(self) -> bool:
        """Whether all arrays have names now, and loops over them are unrolled."""
        return self.short == sys.maxsize

    # Arguments, results and constants.

    def load(self, pointer: str, shape: tuple[int, ...], kind: str, align: int) -> Any:
        """Load an argument; the numbers of a long one are in order for one lane only."""
        if not self.is_long(shape):
            return Argument.of(self.assembler, pointer, shape, kind, align)
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
            whole.write(a, [number], loaded(a, pointer, number, kind, align))
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
        a = self.assembler
        values = self.short_array(values) if self.unrolls else values
        if isinstance(values, np.ndarray):
            for number, value in enumerate(values.flat):
                store_number(a, pointer, number, value, kind, align)
            return
        whole = self.stored(values)
        strides = np.empty(whole.shape, np.int8).strides
        with self.loops(whole.shape) as place:
            number: int | str = 0
            for index, stride in zip(place, strides, strict=True):
                number = plus(a, number, times(a, index, stride))
            store_number(a, pointer, number, whole.at(a, place), kind, align)

    def array(self, numbers: Any) -> Any:
        """Return constants as an array; all lanes read the same long one."""
        numbers = np.asarray(numbers)
        kind = numbers.dtype.name
        check_kind(kind)
        if not self.is_long(numbers.shape):
            values = np.empty(numbers.shape, object)
            for place in np.ndindex(numbers.shape):
                values[place] = self.assembler.constant(numbers[place], kind)
            return values
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
        return math.prod(shape) > self.short

    def new(self, shape: Sequence[int], kind: str) -> Any:
        """Return a new array, its numbers unset."""
        if self.unrolls:
            return Named(np.empty(shape, object), kind)
        size = int(np.prod(shape))
        number = np.dtype(kind).itemsize
        memory = Memory(WORK, max(size, 1), number, self._memory, order=self._order)
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
        target = self.new(array.shape, Named.of(array).kind)
        self.fill(target, array)
        return target

    def short_array(self, array: Any) -> np.ndarray:
        """Return a long array as names of its numbers."""
        if isinstance(array, np.ndarray):
            return array
        if isinstance(array, Argument):
            return array.whole()
        if isinstance(array, Named):
            return array.layout
        values = np.empty(array.shape, object)
        for place in np.ndindex(array.shape):
            values[place] = array.at(self.assembler, place)
        return values

    def stored(self, array: Any) -> Any:
        """Return an array whose numbers can be read at any place of a loop."""
        if self.unrolls:
            return Named.of(array)
        array = self.long(array)
        return array if isinstance(array, Stored) else self.copy(array)

    def copy(self, array: Any) -> Any:
        """Return a copy of an array, its numbers in order, which can be written."""
        if self.unrolls:
            return Named.of(array.copy())
        array = self.long(array)
        target = self.new(array.shape, array.kind)
        self.fill(target, array)
        return target

    def kept(self, array: Any) -> Any:
        """Return an array that may be read several times."""
        return self.copy(array) if isinstance(array, Computed) else array

    def fill(self, target: Any, source: Any) -> None:
        """Set the numbers of an array to those of another of the same shape."""
        a = self.assembler
        if isinstance(target, Named):
            target.layout[...] = self.short_array(source)
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

    def evaluate(self, jaxpr: Jaxpr, constants: Sequence, arguments: Sequence) -> list:
        """Lower a jaxpr and return its results."""
        # Names of numbers are used any number of times, and take no memory.
        shared, last = ((), {}) if self.unrolls else self.uses(jaxpr)
        environment: dict[Any, Any] = {}

        def put(variables, arrays):
            for variable, array in zip(variables, arrays, strict=True):
                environment[variable] = self.kept(array) if variable in shared else array

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

    def check_length(self) -> None:
        """Raise `LoweringError` if the program is too long."""
        if len(self.assembler.lines) > _MAX_LINES:
            raise LoweringError(f"more than {_MAX_LINES} instructions")

    def closed(self, closed: ClosedJaxpr, arguments: Sequence) -> list:
        """Lower a closed jaxpr."""
        return self.evaluate(*opened(closed), arguments)

    def equation(self, equation: Any, inputs: Sequence) -> list:
        """Lower one equation."""
        try:
            return self.lowered(equation, inputs)
        except LoweringError as error:
            error.place = error.place or _line_of(equation)
            raise

    def lowered(self, equation: Any, inputs: Sequence) -> list:
        """Lower one equation by its primitive's function."""
        name = equation.primitive.name
        write = _TABLE.get(name)
        for variable in (*equation.invars, *equation.outvars):
            check_kind(kind_of(variable.aval.dtype))
        if write is None:
            raise LoweringError(f"JAX's {name} is not supported")
        if self.unrolls:
            if name not in _READERS:
                # The rows of a scan's arrays are read in its loop.
                first = (
                    sum(control.scan_counts(equation.params)) if name == "scan" else None
                )
                whole = [self.short_array(array) for array in inputs[:first]]
                inputs = [*whole, *inputs[len(whole) :]]
            return [
                array if isinstance(array, Argument) else self.short_array(array)
                for array in write(self, equation, inputs)
            ]
        shapes = [variable.aval.shape for variable in equation.outvars]
        long = not all(isinstance(array, np.ndarray) for array in inputs)
        if not (long or any(map(self.is_long, shapes)) or name in _OUTER):
            return self.by_name(equation, inputs)
        return [
            array if self.is_long(shape) else self.short_array(array)
            for array, shape in zip(write(self, equation, inputs), shapes, strict=True)
        ]

    def by_name(self, equation: Any, inputs: Sequence) -> list:
        """Lower an equation number by number."""
        whole = [self.short_array(array) for array in inputs]
        before, self.short = self.short, sys.maxsize
        results = self.lowered(equation, whole)
        self.short = before
        return [
            self.long(array) if self.is_long(array.shape) else array for array in results
        ]


def _size(array: Stored) -> int:
    return array.layout.size * np.dtype(array.kind).itemsize


@functools.cache
def check_kind(kind: str) -> None:
    """Raise `LoweringError` for unsupported dtypes; cached, as every variable has one."""
    if not known(kind):
        raise LoweringError(f"dtype {kind} is not supported")


def _line_of(equation: Any) -> str:
    """Return the line of the user's code that an equation comes from, "" if unknown."""
    traceback = equation.source_info.traceback
    for frame in traceback.frames if traceback else ():
        if not frame.file_name.startswith(_NOT_THE_USERS):
            return f" ({frame.file_name}:{frame.line_num})"
    return ""
