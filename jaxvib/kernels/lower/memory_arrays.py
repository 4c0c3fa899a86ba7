"""Arrays in memory: where their numbers are, and arrays computed number by number."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir.assembler import Assembler, Value, storage, vector
from .workspace import Workspace

# Numbers of an argument up to which all are loaded at once: a loop's table of more would
# leave the fastest cache.
_LONG = 128


class Run(NamedTuple):
    """Consecutive indices from `first`, one for each number of a vector."""

    first: "int | str"


Index = int | str | Run  # a number, the name of an i64, or a vector of them


class Interleaved(NamedTuple):
    """The order of numbers of a GPU's threads: the first of each thread, the second, ...

    Threads that read the same number of an array read adjacent ones. **Fields:** the
    names of the number of `threads` and of this `thread`, i64.
    """

    threads: str
    thread: str


class Memory:
    """A block of numbers at a pointer, `start` numbers after it.

    Python counts the arrays that refer to it: with the last one it returns to its
    `workspace`, and arrays that are lowered afterwards may use it.
    """

    def __init__(
        self,
        pointer: str,
        size: int,
        bytes_: int = 1,
        workspace: Workspace | None = None,
        of: "Sequence[Memory]" = (),
        order: Interleaved | None = None,
    ):
        """Take memory of a workspace; without one it is there, as that of constants.

        `bytes_`: those of a number; `of`: others, kept as long as this, one of which it
        is at run time; `order`: of numbers of several threads, `None` for those of one.
        """
        self.pointer, self._workspace, self._size = pointer, workspace, size * bytes_
        self.order, self.slot = order, ""
        if order is not None and workspace is not None:
            # Parts are used again, by arrays of other kinds: each number takes the same
            # bytes of the same thread.
            self._size, bytes_, self.slot = 8 * size, 8, "i64"
        self._of = of
        self.parts: frozenset[int] = frozenset({id(self)}.union(*[m.parts for m in of]))
        # NumPy keeps the strides of views; these bytes are never touched.
        self.layout = np.empty(size, np.int8)
        self._first = 0 if workspace is None else workspace.take(self._size)
        self.start = self._first // bytes_

    def __del__(self):
        if self._workspace is not None:
            self._workspace.release(self._first, self._size)

    @property
    def is_own(self) -> bool:
        """Whether it is the program's: not that of an argument or a constant."""
        return self._workspace is not None

    def may_be_of(self, others: "Iterable[Memory]") -> bool:
        """Return whether some of it may be a part of other memory."""
        return any(self.parts & other.parts for other in others)

    def offset(self, layout: np.ndarray) -> int:
        """Return the number of the first element of a view."""
        return _address(layout) - _address(self.layout)


def _address(layout: np.ndarray) -> int:
    return layout.__array_interface__["data"][0]


class Stored:
    """An array in memory.

    `layout`: a view of `memory.layout` with the array's shape and strides, so that
    NumPy's rearrangements are those of the array; `origin`: the name of an index that
    is added to all; `given_up`: whether a loop may carry it where it is.
    """

    weight, given_up = 1, False

    def __init__(
        self, memory: Memory, layout: np.ndarray, kind: str, origin: int | str = 0
    ):
        self.memory, self.layout, self.kind, self.origin = memory, layout, kind, origin
        self.shape = layout.shape

    def view(self, layout: np.ndarray) -> "Stored":
        """Return a rearrangement, by that of the layout."""
        return Stored(self.memory, layout, self.kind, self.origin)

    def holds(self, layout: np.ndarray) -> bool:
        """Return whether a rearrangement of the layout is a view, not a copy."""
        return np.may_share_memory(layout, self.memory.layout)

    def row(self, a: Assembler, index: str) -> "Stored":
        """Return the array at an index of the first axis."""
        moved = self.moved(a, times(a, index, self.layout.strides[0]))
        return moved.view(self.layout[0, ...])

    def moved(self, a: Assembler, index: int | str) -> "Stored":
        """Return the array that begins `index` numbers later."""
        return Stored(self.memory, self.layout, self.kind, plus(a, self.origin, index))

    def is_at(self, other: "Stored") -> bool:
        """Return whether it is known to be the same array in the same memory."""
        if self.memory is not other.memory or self.origin != other.origin:
            return False
        places = [
            (array.memory.offset(array.layout), array.layout.strides, array.shape)
            for array in (self, other)
        ]
        return places[0] == places[1]

    def pointer(self, a: Assembler) -> str:
        """Return the pointer to the first number."""
        return self._pointer(a, [0] * len(self.shape))[0]

    def flat(self) -> "Stored | None":
        """Return the array with one axis, `None` if that takes a copy."""
        contiguous = self.layout.flags.c_contiguous
        return self.view(self.layout.reshape(-1)) if contiguous else None

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Load the number at a place, or a vector of them."""
        kept, (pointer, step) = storage(self.kind), self._pointer(a, place)
        if a.width > 1 and step == 0:
            width, a.width = a.width, 1
            number = a.loaded(self.kind, a.assign(f"load {kept}, ptr {pointer}"))
            a.width = width
            return a.same(number, width)
        if a.width > 1 and step != 1:
            return self._gathered(a, [self._later(a, pointer, k * step)
                                      for k in range(a.width)])  # fmt: skip
        name = a.assign(f"load {vector(kept, a.width)}, ptr {pointer}, {self._align()}")
        return a.loaded(self.kind, name)

    def write(self, a: Assembler, place: Sequence[Index], value: Value) -> None:
        """Store the number at a place, or a vector of them."""
        name, (pointer, step) = a.storable(value), self._pointer(a, place)
        kept = storage(self.kind)
        whole = vector(kept, a.width)
        if a.width == 1 or step == 1:
            a.line(f"store {whole} {name}, ptr {pointer}, {self._align()}")
            return
        for k in range(a.width):
            number = a.assign(f"extractelement {whole} {name}, i64 {k}")
            a.line(f"store {kept} {number}, ptr {self._later(a, pointer, k * step)}")

    def at_each(self, a: Assembler, place: Sequence[Index], offsets: Value) -> Value:
        """Load a vector of numbers at distances (int64) from a place."""
        pointer, step = self._pointer(a, place)
        pointers = []
        for k in range(a.width):
            text = f"extractelement {a.type('int64')} {offsets.name}, i64 {k}"
            pointers.append(self._later(a, pointer, plus(a, a.assign(text), k * step)))
        return self._gathered(a, pointers)

    def _gathered(self, a: Assembler, pointers: Sequence[str]) -> Value:
        kept, name = storage(self.kind), "poison"
        for k, pointer in enumerate(pointers):
            number = a.assign(f"load {kept}, ptr {pointer}")
            whole = vector(kept, a.width)
            name = a.assign(f"insertelement {whole} {name}, {kept} {number}, i64 {k}")
        return a.loaded(self.kind, name)

    def _pointer(self, a: Assembler, place: Sequence[Index]) -> tuple[str, int]:
        """Return the pointer to a place, and the distance of a run's numbers."""
        # A constant distance costs a load nothing.
        index, known, step = self.origin, self.memory.offset(self.layout), 0
        for k, stride in zip(place, self.layout.strides, strict=True):
            if isinstance(k, Run):
                k, step = k.first, stride
            if isinstance(k, int):
                known += k * stride
            else:
                index = plus(a, index, times(a, k, stride))
        pointer, known = self.memory.pointer, known + self.memory.start
        if self.memory.order is not None:  # a program for GPUs has no vectors
            threads, thread = self.memory.order
            index = times(a, plus(a, index, known), threads)
            index, kept = plus(a, index, thread), self.memory.slot or storage(self.kind)
            text = f"getelementptr {kept}, ptr {pointer}, i64 {index}"
            return a.assign(text), step
        pointer = self._later(a, self._later(a, pointer, index), known)
        return pointer, step

    def _later(self, a: Assembler, pointer: str, index: int | str) -> str:
        if index == 0:
            return pointer
        text = f"getelementptr {storage(self.kind)}, ptr {pointer}, i64 {index}"
        return a.assign(text)

    def _align(self) -> str:
        return f"align {np.dtype(self.kind).itemsize}"


class Repeated:
    """An array of equal numbers: a constant, or a value that a scalar has."""

    weight = 0

    def __init__(self, shape: tuple[int, ...], kind: str, number: Any):
        self.shape, self.kind, self.number = shape, kind, number

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Return the number."""
        if not isinstance(self.number, Value):
            return a.constant(self.number, self.kind)
        return a.same(self.number, a.width)

    def flat(self) -> "Repeated":
        """Return the array with one axis."""
        return self.of((int(np.prod(self.shape)),))

    def of(self, shape: tuple[int, ...]) -> "Repeated":
        """Return an array of the same numbers with another shape."""
        return Repeated(shape, self.kind, self.number)


class Named:
    """A short array, whose numbers have names: only places known now can be read.

    `layout`: a NumPy array of the numbers.
    """

    weight = 0

    def __init__(self, layout: np.ndarray, kind: str):
        self.layout, self.shape, self.kind = layout, layout.shape, kind

    @classmethod
    def of(cls, array: np.ndarray) -> "Named":
        """Return an array of names; the dtype of none is not asked for."""
        return cls(array, array.flat[0].kind if array.size else "bool")

    def view(self, layout: np.ndarray) -> "Named":
        """Return a rearrangement, by that of the layout."""
        return Named(layout, self.kind)

    def holds(self, layout: np.ndarray) -> bool:
        """Return whether a rearrangement needs no copy in memory: none does."""
        return True

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Return the number at a place."""
        known: Any = tuple(place)
        return self.layout[known]

    def write(self, a: Assembler, place: Sequence[Index], value: Value) -> None:
        """Set the number at a place."""
        known: Any = tuple(place)
        self.layout[known] = value

    def flat(self) -> "Named":
        """Return the array with one axis."""
        return Named(self.layout.reshape(-1), self.kind)


class Computed:
    """An array whose numbers are computed where they are needed, each once.

    `number(place)` returns one of them; `flattened` the array with one axis, `None` if
    that takes a copy.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        kind: str,
        number: Callable[[Sequence[Index]], Value],
        weight: int = 9,
        flattened: Callable[[], "LongArray | None"] = lambda: None,
    ):
        self.shape, self.kind, self.weight = shape, kind, weight
        self._number, self.flat = number, flattened

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Compute the number at a place."""
        return self._number(place)


# Arrays whose numbers are loaded or computed where they are needed: `at(a, place)` returns
# the number at a place, or a vector of them along a `Run`; `flat()` the array with one
# axis, None if that takes a copy. `weight`: about how many instructions a number takes.
LongArray = Stored | Repeated | Named | Computed


def index_value(a: Assembler, index: Index) -> Value:
    """Return an index as a number (int64)."""
    first = index.first if isinstance(index, Run) else index
    if isinstance(first, int):
        value = a.constant(first, "int64")
    else:
        value = a.same(Value(first, "int64"), a.width)
    if not isinstance(index, Run) or a.width == 1:
        return value
    places = ", ".join(f"i64 {k}" for k in range(a.width))
    return a.add(value, Value(f"<{places}>", "int64"))


def plus(a: Assembler, x: int | str, y: int | str) -> int | str:
    """Return the sum of two indices."""
    if isinstance(x, int) and isinstance(y, int):
        return x + y
    if x == 0:
        return y
    return x if y == 0 else a.assign(f"add i64 {x}, {y}")


def difference(a: Assembler, x: int | str, y: int | str) -> int | str:
    """Return the difference of two indices."""
    if isinstance(x, int) and isinstance(y, int):
        return x - y
    return x if y == 0 else a.assign(f"sub i64 {x}, {y}")


def times(a: Assembler, x: int | str, factor: int | str) -> int | str:
    """Return a multiple of an index."""
    if isinstance(x, int) and isinstance(factor, int):
        return x * factor
    if 0 in (x, factor):
        return 0
    return x if factor == 1 else a.assign(f"mul i64 {x}, {factor}")


def _lane_place(a: Assembler, pointer: str, number: int | str, kind: str) -> str:
    offset = a.assign(f"mul i64 %n, {number}")
    offset = a.assign(f"add i64 {offset}, %i")
    return a.assign(f"getelementptr {storage(kind)}, ptr {pointer}, i64 {offset}")


def loaded(a: Assembler, pointer: str, number: int | str, kind: str, align: int) -> Value:
    """Load a number of an argument, by its index or the name of that."""
    stored, address = vector(storage(kind), a.width), _lane_place(a, pointer, number, kind)
    return a.loaded(kind, a.assign(f"load {stored}, ptr {address}, align {align}"))


def store_number(
    a: Assembler, pointer: str, number: int | str, value: Value, kind: str, align: int
) -> None:
    """Store a number of a result."""
    stored, name = vector(storage(kind), a.width), a.storable(value)
    address = _lane_place(a, pointer, number, kind)
    a.line(f"store {stored} {name}, ptr {address}, align {align}")


class Argument(NamedTuple):
    """A long argument, whose rows are loaded where a loop reads them, or some joined.

    `places`: where its numbers are among those of all `pointers`, which are `size` each;
    `table`: of these pointers, if there are several.
    """

    places: np.ndarray
    pointers: tuple[str, ...]
    size: int
    assembler: Assembler
    kind: str
    align: int
    table: str = ""

    @classmethod
    def of(
        cls, a: Assembler, pointer: str, shape: tuple[int, ...], kind: str, align: int
    ) -> "Argument | np.ndarray":
        """Return an argument; the numbers of a short one are loaded at once."""
        places = np.arange(math.prod(shape)).reshape(shape)
        return cls(places, (pointer,), max(places.size, 1), a, kind, align).view(places)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.places.shape

    def view(self, places: np.ndarray) -> "Argument | np.ndarray":
        """Return a rearrangement; by names if it is short, or its rows are irregular."""
        found = self._replace(places=places)
        if places.size <= _LONG or len(places) < 2 or np.diff(places, 2, axis=0).any():
            return found.whole()
        which = places.reshape(len(places), -1) // self.size
        return found.whole() if (which != which[:, :1]).any() else found

    def joined(self, others: "Sequence[Argument]") -> "Argument":
        """Return arguments of one shape, this one first, joined along the first axis."""
        a, number = self.assembler, 1 + len(others)
        table = a.entry(f"alloca [{number} x ptr]")
        pointers = *self.pointers, *(other.pointers[0] for other in others)
        for k, pointer in enumerate(pointers):
            place = a.assign(f"getelementptr ptr, ptr {table}, i64 {k}")
            a.line(f"store ptr {pointer}, ptr {place}")
        places = np.concatenate([self.places + k * self.size for k in range(number)])
        return self._replace(places=places, pointers=pointers, table=table)

    def read(self, row: str) -> np.ndarray:
        """Return a row."""
        a, (first, second), pointer = self.assembler, self.places[:2], self.pointers[0]
        origin, step = first.flat[0], (second - first).flat[0]
        begin = a.assign(f"mul i64 {row}, {step}")
        begin = a.assign(f"add i64 {begin}, {origin}")
        if self.table:
            which = a.assign(f"udiv i64 {begin}, {self.size}")
            place = a.assign(f"getelementptr ptr, ptr {self.table}, i64 {which}")
            pointer = a.assign(f"load ptr, ptr {place}")
            begin = a.assign(f"urem i64 {begin}, {self.size}")
        values = np.empty(first.shape, object)
        for k in np.ndindex(values.shape):
            number = a.assign(f"add i64 {begin}, {first[k] - origin}")
            values[k] = self._loaded(pointer, number)
        return values

    def whole(self) -> np.ndarray:
        """Return all numbers."""
        values = np.empty(self.places.shape, object)
        for k in np.ndindex(values.shape):
            which, place = divmod(int(self.places[k]), self.size)
            values[k] = self._loaded(self.pointers[which], place)
        return values

    def _loaded(self, pointer: str, number: int | str) -> Value:
        return loaded(self.assembler, pointer, number, self.kind, self.align)


def are_whole(arrays: Sequence) -> bool:
    """Return whether arrays are whole arguments of one shape."""
    first = arrays[0]
    return all(
        isinstance(array, Argument)
        and len(array.pointers) == 1
        and array.places.shape == first.places.shape
        and np.array_equal(array.places.reshape(-1), np.arange(array.size))
        for array in arrays
    )
