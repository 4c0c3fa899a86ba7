"""Arrays in memory: where their numbers are, and arrays computed number by number."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .assembler import Assembler, Value, storage, vector
from .workspace import Workspace

Index = int | str  # a number, or the name of an i64


@runtime_checkable
class LongArray(Protocol):
    """An array whose numbers are loaded or computed where they are needed.

    `shared`: whether all lanes have the same numbers, which an assembler of one lane
    can read. `weight`: about how many instructions a number takes.
    """

    shape: tuple[int, ...]
    kind: str
    shared: bool
    weight: int

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Return the number at a place."""
        ...

    def flat(self) -> "LongArray | None":
        """Return the array with one axis, `None` if that takes a copy."""
        ...


class Memory:
    """A block of numbers at a pointer, `start` numbers after it.

    Each number is a vector of the lanes, or a scalar in `shared` memory. Python counts
    the arrays that refer to it: with the last one it returns to its workspace, and what
    is lowered afterwards may use it.
    """

    def __init__(self, pointer: str, size: int, shared: bool):
        self.pointer, self.start, self.shared = pointer, 0, shared
        # NumPy keeps the strides of views; these bytes are never touched.
        self.layout = np.empty(size, np.int8)
        self._workspace: Workspace | None = None
        self._part = 0, 0

    @classmethod
    def taken(
        cls, workspace: Workspace, pointer: str, size: int, number: int, shared: bool
    ) -> "Memory":
        """Return memory of a workspace for numbers of `number` bytes."""
        memory = cls(pointer, size, shared)
        memory._part = workspace.take(size * number), size * number
        memory.start = memory._part[0] // number
        memory._workspace = workspace
        return memory

    def __del__(self):
        if self._workspace is not None:
            self._workspace.release(*self._part)

    def offset(self, layout: np.ndarray) -> int:
        """Return the number of the first element of a view."""
        return _address(layout) - _address(self.layout)


def _address(layout: np.ndarray) -> int:
    return layout.__array_interface__["data"][0]


class Stored:
    """An array in memory.

    `layout`: a view of `memory.layout` with the array's shape and strides, so that
    NumPy's rearrangements are those of the array; `origin`: the name of an index that
    is added to all.
    """

    weight = 1

    def __init__(self, memory: Memory, layout: np.ndarray, kind: str, origin: Index = 0):
        self.memory, self.layout, self.kind, self.origin = memory, layout, kind, origin
        self.shape, self.shared = layout.shape, memory.shared

    def view(self, layout: np.ndarray) -> "Stored":
        """Return a rearrangement, by that of the layout."""
        return Stored(self.memory, layout, self.kind, self.origin)

    def holds(self, layout: np.ndarray) -> bool:
        """Return whether a rearrangement of the layout is a view, not a copy."""
        return np.may_share_memory(layout, self.memory.layout)

    def row(self, a: Assembler, index: str) -> "Stored":
        """Return the array at an index of the first axis."""
        origin = plus(a, self.origin, times(a, index, self.layout.strides[0]))
        return Stored(self.memory, self.layout[0, ...], self.kind, origin)

    def flat(self) -> "Stored | None":
        """Return the array with one axis, `None` if that takes a copy."""
        contiguous = self.layout.flags.c_contiguous
        return self.view(self.layout.reshape(-1)) if contiguous else None

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Load the number at a place."""
        return self._loaded(a, *self.offset(a, place))

    def write(self, a: Assembler, place: Sequence[Index], value: Value) -> None:
        """Store the number at a place."""
        kept = vector(storage(self.kind), a.width)
        name = a.storable(value)
        a.line(f"store {kept} {name}, ptr {self._pointer(a, *self.offset(a, place))}")

    def offset(self, a: Assembler, place: Sequence[Index]) -> tuple[Index, int]:
        """Return the index in memory of the number at a place, in two parts.

        The second part is known now: a constant distance costs a load nothing.
        """
        index, known = self.origin, self.memory.offset(self.layout)
        for k, stride in zip(place, self.layout.strides, strict=True):
            if isinstance(k, int):
                known += k * stride
            else:
                index = plus(a, index, times(a, k, stride))
        return index, known

    def at_each(self, a: Assembler, offset: Value) -> Value:
        """Load a number of each lane, at its index in memory (int64)."""
        if a.width == 1:
            return self._loaded(a, offset.name)
        kept = storage(self.kind)
        several = vector(kept, a.width)
        name = "poison"
        for lane, pointer in enumerate(self._pointers(a, offset)):
            number = a.assign(f"load {kept}, ptr {pointer}")
            text = f"insertelement {several} {name}, {kept} {number}, i64 {lane}"
            name = a.assign(text)
        return a.loaded(self.kind, name)

    def write_each(self, a: Assembler, offset: Value, value: Value) -> None:
        """Store a number of each lane, at its index in memory (int64)."""
        kept, name = storage(self.kind), a.storable(value)
        several = vector(kept, a.width)
        if a.width == 1:
            a.line(f"store {kept} {name}, ptr {self._pointer(a, offset.name)}")
            return
        for lane, pointer in enumerate(self._pointers(a, offset)):
            number = a.assign(f"extractelement {several} {name}, i64 {lane}")
            a.line(f"store {kept} {number}, ptr {pointer}")

    def _loaded(self, a: Assembler, index: Index, known: int = 0) -> Value:
        pointer, kept = self._pointer(a, index, known), storage(self.kind)
        if not self.shared or a.width == 1:
            name = a.assign(f"load {vector(kept, a.width)}, ptr {pointer}")
            return a.loaded(self.kind, name)
        width, a.width = a.width, 1
        number = a.loaded(self.kind, a.assign(f"load {kept}, ptr {pointer}"))
        a.width = width
        return a.same(number, width)

    def _pointer(self, a: Assembler, index: Index, known: int = 0) -> str:
        kept = vector(storage(self.kind), 1 if self.shared else a.width)
        pointer, start = self.memory.pointer, self.memory.start + known
        if isinstance(index, str):
            pointer = a.assign(f"getelementptr {kept}, ptr {pointer}, i64 {index}")
        else:
            start += index
        return a.assign(f"getelementptr {kept}, ptr {pointer}, i64 {start}")

    def _pointers(self, a: Assembler, offset: Value) -> list[str]:
        kept, base = storage(self.kind), self._pointer(a, 0)
        pointers = []
        for lane in range(a.width):
            text = f"extractelement {a.type('int64')} {offset.name}, i64 {lane}"
            index: Index = a.assign(text)
            if not self.shared:
                index = plus(a, times(a, index, a.width), lane)
            pointers.append(
                a.assign(f"getelementptr {kept}, ptr {base}, i64 {index}")
            )
        return pointers


class Repeated:
    """An array of equal numbers."""

    weight = 0

    def __init__(self, value: Value, shape: tuple[int, ...], number: Any = None):
        """Repeat a `value`; `number`: that of a constant, for any number of lanes."""
        self.value, self.shape, self.kind = value, shape, value.kind
        self.number = value.number if number is None else number
        self.shared = self.number is not None

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Return the number."""
        return a.constant(self.number, self.kind) if self.shared else self.value

    def flat(self) -> "Repeated":
        """Return the array with one axis."""
        return self.of((int(np.prod(self.shape)),))

    def of(self, shape: tuple[int, ...]) -> "Repeated":
        """Return an array of the same numbers with another shape."""
        return Repeated(self.value, shape, self.number)


class Named:
    """A short array, whose numbers have names: only places known now can be read."""

    weight, shared = 0, False

    def __init__(self, values: np.ndarray, kind: str):
        self.values, self.shape, self.kind = values, values.shape, kind

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Return the number at a place."""
        return self.values[tuple(place)]

    def flat(self) -> "Named":
        """Return the array with one axis."""
        return Named(self.values.reshape(-1), self.kind)


class Computed:
    """An array whose numbers are computed where they are needed, each once.

    `flattened`: returns the array with one axis, `None` if that takes a copy.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        kind: str,
        number: Callable[[Sequence[Index]], Value],
        shared: bool = False,
        weight: int = 9,
        flattened: Callable[[], "LongArray | None"] = lambda: None,
    ):
        self.shape, self.kind, self.shared, self.weight = shape, kind, shared, weight
        self._number, self.flat = number, flattened

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Compute the number at a place."""
        return self._number(place)


def plus(a: Assembler, x: Index, y: Index) -> Index:
    """Return the sum of two indices."""
    if isinstance(x, int) and isinstance(y, int):
        return x + y
    if x == 0:
        return y
    return x if y == 0 else a.assign(f"add i64 {x}, {y}")


def times(a: Assembler, x: Index, factor: int) -> Index:
    """Return a multiple of an index."""
    if isinstance(x, int):
        return x * factor
    if factor == 0:
        return 0
    return x if factor == 1 else a.assign(f"mul i64 {x}, {factor}")
