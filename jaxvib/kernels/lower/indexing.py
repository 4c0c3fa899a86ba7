"""Lowering of slices, gathers and scatters with run-time indices.

Each is written once, for arrays of names and for arrays in memory: a slice of names is
chosen among all places where it may begin, and one in memory begins at an address.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir.assembler import Assembler, Value, is_float
from .axes import places
from .memory_arrays import Computed, Index, LongArray, Named, Run, Stored
from .primitives import added, each, maximum, minimum, multiplied


class _NamedSlice:
    """A slice of an array of names, which begins at in-bounds `starts` on some axes."""

    def __init__(self, lowering, array: Named, sizes, starts, inside: Value):
        self._lowering, self._array, self._sizes = lowering, array, tuple(sizes)
        self._starts, self.inside = starts, inside

    @functools.cached_property
    def _numbers(self) -> np.ndarray:
        a, layout = self._lowering.assembler, self._array.layout
        for axis, length in enumerate(self._sizes):
            front, start = np.moveaxis(layout, axis, 0), self._starts.get(axis)
            first = 0 if start is None else start.number
            chosen = front[first or 0 : (first or 0) + length]
            for k in range(1, front.shape[0] - length + 1 if first is None else 0):
                here = a.compare("eq", start, a.constant(k, start.kind))
                moved = front[k : k + length]
                chosen = each(lambda x, y, c=here: a.select(c, x, y), moved, chosen)
            layout = np.moveaxis(chosen, 0, axis)
        return layout

    @functools.cached_property
    def _places(self) -> list[tuple[np.ndarray, Value]]:
        """Where the slice may be, and whether it is there."""
        a, found, layout = self._lowering.assembler, [], self._array.layout
        ranges: list[Sequence[int]] = [[0]] * layout.ndim
        for axis, start in self._starts.items():
            most = layout.shape[axis] - self._sizes[axis] + 1
            ranges[axis] = range(most) if start.number is None else [start.number]
        for first in itertools.product(*ranges):
            here = self.inside
            for axis, start in self._starts.items():
                same = a.compare("eq", start, a.constant(first[axis], start.kind))
                here = same if here.number else a.bitwise_and(here, same)
            pairs = zip(first, self._sizes, strict=True)
            found.append((layout[tuple(slice(k, k + n) for k, n in pairs)], here))
        return found

    def at(self, a: Assembler, place: Sequence[Any]) -> Value:
        """Return the number at a place of the slice."""
        return self._numbers[tuple(place)]

    def whole(self) -> Named:
        """Return the slice as an array."""
        return self._array.view(self._numbers)

    def fill(self, array: np.ndarray) -> None:
        """Replace the slice by an array of the same shape."""
        for place in np.ndindex(array.shape):
            self.put(place, array[place], None)

    def put(self, place: Sequence[Any], new: Value, combine: Callable | None) -> None:
        """Set a number, `combine`d with the old one, if the indices were in bounds."""
        a, place = self._lowering.assembler, tuple(place)
        if combine is not None:
            new = combine(a, {}, self._numbers[place], new)
        for part, here in self._places:
            part[place] = a.select(here, new, part[place])


class _StoredSlice(NamedTuple):
    """A slice of an array in memory.

    `array`: begins there; for a vector of slices `offsets` (int64) are added to it.
    """

    lowering: Any
    array: Stored
    sizes: Sequence[int]
    offsets: Value | None
    inside: Value

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Return the number at a place of the slice."""
        if self.offsets is None:
            return self.array.at(a, place)
        return self.array.at_each(a, place, self.offsets)

    def whole(self) -> Stored:
        """Return the slice as an array."""
        return self.array.view(self.array.layout[tuple(map(slice, self.sizes))])

    def fill(self, array: Any) -> None:
        """Replace the slice by an array of the same shape."""
        self.lowering.fill(self.whole(), array)

    def put(self, place: Sequence[Index], new: Value, combine: Callable | None) -> None:
        """Set a number, `combine`d with the old one, if the indices were in bounds."""
        a = self.lowering.assembler
        old = self.at(a, place)
        new = new if combine is None else combine(a, {}, old, new)
        self.array.write(a, place, a.select(self.inside, new, old))


def _slice(
    lowering: Any, array: Any, sizes: Sequence, indices: dict, clipped: bool = True
) -> Any:
    """Return a slice of `sizes` that begins at indices on some axes, within bounds.

    Its `inside`: whether the indices were in bounds, or true if they are `clipped`.
    """
    a, starts = lowering.assembler, {}
    inside = a.constant(True, "bool")
    for axis, start in indices.items():
        if np.dtype(start.kind).itemsize < 4:
            start = a.convert(start, "int32")
        most = array.shape[axis] - sizes[axis]
        zero, last = a.constant(0, start.kind), a.constant(most, start.kind)
        kept = a.select(a.compare("lt", start, zero), zero, start)
        starts[axis] = kept = a.select(a.compare("gt", kept, last), last, kept)
        if not clipped:
            inside = a.bitwise_and(inside, a.compare("eq", kept, start))
    if lowering.unrolls:
        return _NamedSlice(lowering, array, sizes, starts, inside)
    offsets = None
    for axis, start in starts.items():
        stride = a.constant(array.layout.strides[axis], "int64")
        offset = a.multiply(a.convert(start, "int64"), stride)
        if a.width > 1:
            offsets = offset if offsets is None else a.add(offsets, offset)
        else:
            number = offset.name if offset.number is None else int(offset.number)
            array = array.moved(a, number)
    return _StoredSlice(lowering, array, sizes, offsets, inside)


def _dynamic_slice(lowering: Any, equation: Any, inputs: Sequence) -> list:
    starts = {axis: start[()] for axis, start in enumerate(inputs[1:])}
    sizes = equation.params["slice_sizes"]
    return [_slice(lowering, lowering.stored(inputs[0]), sizes, starts).whole()]


def _dynamic_update(lowering: Any, equation: Any, inputs: Sequence) -> list:
    target, update = lowering.copy(inputs[0]), inputs[1]
    starts = {axis: start[()] for axis, start in enumerate(inputs[2:])}
    _slice(lowering, target, update.shape, starts).fill(update)
    return [target]


class _Slices(NamedTuple):
    """The slices of an array that a gather reads or a scatter replaces.

    `axes`: of the array, with an index each; `gone`: those that results or updates lack;
    `batches`: axes of the array that have the same place as one of the `indices`.
    """

    lowering: Any
    array: Any
    indices: LongArray
    sizes: Sequence[int]
    axes: Sequence[int]
    gone: Sequence[int]
    batches: dict[int, int]
    clipped: bool

    def begin(self, first: Sequence[Index]) -> Any:
        """Return the slice for a place of the indices."""
        lowering, a, starts = self.lowering, self.lowering.assembler, {}
        if lowering.unrolls:
            starts = {one: a.constant(first[k], "int32") for one, k in self.batches.items()}
        elif a.width > 1 and not any(isinstance(index, Run) for index in first):
            with lowering.vectors_of(1):  # one slice, whose numbers are a vector
                one = self.begin(first)
            return one._replace(inside=a.same(one.inside, a.width))
        for k, axis in enumerate(self.axes):
            starts[int(axis)] = self.indices.at(a, [*first, k])
        return _slice(lowering, self.array, self.sizes, starts, self.clipped)

    def within(self, first: Sequence[Index], inner: Sequence[Index]) -> list[Index]:
        """Return the place in a slice, given that of the indices and on the other axes."""
        some, batches = iter(inner), {} if self.lowering.unrolls else self.batches
        return [
            first[batches[axis]] if axis in batches
            else 0 if axis in self.gone else next(some)
            for axis in range(len(self.sizes))
        ]  # fmt: skip


def _readable(lowering: Any, indices: Any) -> LongArray:
    """Return indices as an array that can be read in a loop."""
    one = isinstance(indices, np.ndarray) and np.prod(indices.shape[:-1]) == 1
    if lowering.unrolls or one:
        return Named.of(indices)
    return lowering.kept(lowering.long(indices))


def _batches(ours: Sequence, theirs: Sequence) -> dict[int, int]:
    """Return pairs of axes, which may be NumPy's integers."""
    return {int(one): int(other) for one, other in zip(ours, theirs, strict=True)}


def _filling(kind: str, filling: Any) -> Any:
    """Return the number that JAX puts in place of one out of bounds."""
    if filling is not None:
        return filling
    if is_float(kind):
        return np.nan
    if kind == "bool":
        return True
    limits = np.iinfo(kind)
    return limits.min if kind.startswith("i") else limits.max


def _gather(lowering: Any, equation: Any, inputs: Sequence) -> list:
    parameters, a = equation.params, lowering.assembler
    numbers, aval = parameters["dimension_numbers"], equation.outvars[0].aval
    array, indices = lowering.stored(inputs[0]), _readable(lowering, inputs[1])
    batches = _batches(numbers.operand_batching_dims, numbers.start_indices_batching_dims)
    gone = (*numbers.collapsed_slice_dims, *batches)
    sizes, axes = parameters["slice_sizes"], numbers.start_index_map
    filled = "FILL" in str(parameters["mode"]).upper()
    slices = _Slices(lowering, array, indices, sizes, axes, gone, batches, not filled)
    outer = [d for d in range(len(aval.shape)) if d not in numbers.offset_dims]
    filling = _filling(array.kind, parameters["fill_value"])
    begin = functools.cache(slices.begin) if lowering.unrolls else slices.begin

    def number(place):
        first = tuple(place[d] for d in outer)
        part, inner = begin(first), [place[d] for d in numbers.offset_dims]
        value = part.at(a, slices.within(first, inner))
        return a.select(part.inside, value, a.constant(filling, array.kind))

    return [Computed(aval.shape, array.kind, number, weight=20)]


def _scatter(combine: Callable | None) -> Callable:
    def write(lowering, equation, inputs):
        parameters, a = equation.params, lowering.assembler
        numbers = parameters["dimension_numbers"]
        updates = inputs[2] if lowering.unrolls else lowering.long(inputs[2])
        updates = _readable(lowering, updates)
        target, indices = lowering.copy(inputs[0]), _readable(lowering, inputs[1])
        batches = _batches(
            numbers.operand_batching_dims, numbers.scatter_indices_batching_dims
        )
        gone, window = (*numbers.inserted_window_dims, *batches), numbers.update_window_dims
        kept = iter(window)
        sizes = [
            1 if axis in gone else updates.shape[next(kept)]
            for axis in range(len(target.shape))
        ]
        axes = numbers.scatter_dims_to_operand_dims
        clipped = "CLIP" in str(parameters["mode"]).upper()
        slices = _Slices(lowering, target, indices, sizes, axes, gone, batches, clipped)
        outer = [d for d in range(len(updates.shape)) if d not in window]
        order = np.argsort([*outer, *window])
        for first in places(lowering, indices.shape[:-1]):
            part = slices.begin(first)
            for inner in places(lowering, [updates.shape[d] for d in window]):
                both = [*first, *inner]
                new = updates.at(a, [both[k] for k in order])
                part.put(slices.within(first, inner), new, combine)
        return [target]

    return write


TABLE: dict[str, Callable] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update,
    "gather": _gather,
    "scatter": _scatter(None),
    **dict.fromkeys(("scatter-add", "scatter_add"), _scatter(added)),
    "scatter-sub": _scatter(lambda a, p, x, y: a.subtract(x, y)),
    "scatter-min": _scatter(minimum),
    "scatter-max": _scatter(maximum),
    **dict.fromkeys(("scatter-mul", "scatter_mul"), _scatter(multiplied)),
}
