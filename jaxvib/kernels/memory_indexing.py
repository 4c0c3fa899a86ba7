"""Lowering of slices, gathers and scatters of arrays in memory."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .assembler import Assembler, Value
from .indexing import bounded, filling_of, wide
from .memory_arrays import Computed, Index, Named, Stored, plus, times
from .primitives import added, maximum, minimum, multiplied


class _Start:
    """Where a slice begins in memory.

    An index that all lanes share is the name of an i64, `index`; with indices of the
    lanes' own, `lanes` is an int64 of each. `inside`: whether they were in bounds.
    """

    def __init__(self, array: Stored, index: Index, lanes: Value | None, inside: Value):
        self.array, self.index, self.lanes, self.inside = array, index, lanes, inside

    def read(self, a: Assembler, places: Sequence[Index]) -> Value:
        """Return the number at a place of the slice."""
        array = self._moved(a)
        if self.lanes is None:
            return array.at(a, places)
        return array.at_each(a, self._each(a, array, places))

    def write(self, a: Assembler, places: Sequence[Index], value: Value) -> None:
        """Store a number at a place of the slice, in the lanes that are inside."""
        array = self._moved(a)
        if self.inside.number is not True:
            value = a.select(self.inside, value, self.read(a, places))
        if self.lanes is None:
            array.write(a, places, value)
        else:
            array.write_each(a, self._each(a, array, places), value)

    def _moved(self, a: Assembler) -> Stored:
        array = self.array
        origin = plus(a, array.origin, self.index)
        return Stored(array.memory, array.layout, array.kind, origin)

    def _each(self, a: Assembler, array: Stored, places: Sequence[Index]) -> Value:
        index, known = array.offset(a, places)
        offset = plus(a, index, known)
        if isinstance(offset, int):
            same = a.constant(offset, "int64")
        else:
            same = a.same(Value(offset, "int64"), a.width)
        assert self.lanes is not None
        return a.add(self.lanes, same)


def _start(
    lowering: Any,
    array: Stored,
    indices: Sequence[tuple[int, int, Callable[[], Value], bool]],
    first: Index = 0,
) -> _Start:
    """Return where a slice begins, from entries (axis, greatest index, index, shared).

    `first`: an index in memory that is added.
    """
    a = lowering.assembler
    inside, lanes = a.constant(True, "bool"), None
    index = first
    for axis, most, read, shared in indices:
        stride = array.layout.strides[axis]
        if shared:
            width = a.width
            with lowering.once():
                start = wide(lowering, read())
                kept = bounded(lowering, start, most)
                within = a.compare("eq", kept, start)
                whole = a.convert(kept, "int64")
            if within.number is None:
                within = a.same(within, width)
            else:
                within = a.constant(within.number, "bool")
            number = whole.name if whole.number is None else int(whole.number)
            index = plus(a, index, times(a, number, stride))
        else:
            start = wide(lowering, read())
            kept = bounded(lowering, start, most)
            within = a.compare("eq", kept, start)
            moved = a.multiply(a.convert(kept, "int64"), a.constant(stride, "int64"))
            lanes = moved if lanes is None else a.add(lanes, moved)
        inside = a.both(inside, within)
    return _Start(array, index, lanes, inside)


def _scalars(lowering, starts: Sequence, shape, sizes) -> list:
    """Return the entries of `_start` for scalars."""
    entries = []
    for axis, (start, size, length) in enumerate(zip(starts, shape, sizes, strict=True)):
        value = start[()]
        shared = value.number is not None

        def read(value=value):
            known = value.number
            if known is None:
                return value
            return lowering.assembler.constant(known, value.kind)

        entries.append((axis, size - length, read, shared))
    return entries


def _dynamic_slice(lowering: Any, equation: Any, inputs: Sequence) -> list:
    array, a = lowering.stored(inputs[0]), lowering.assembler
    sizes, aval = equation.params["slice_sizes"], equation.outvars[0].aval
    start = _start(lowering, array, _scalars(lowering, inputs[1:], array.shape, sizes))
    if start.lanes is None:
        part = start.array.layout[tuple(map(slice, sizes))]
        origin = plus(a, array.origin, start.index)
        return [Stored(array.memory, part, array.kind, origin)]
    return [Computed(aval.shape, array.kind, lambda place: start.read(a, place))]


def _dynamic_update(lowering: Any, equation: Any, inputs: Sequence) -> list:
    array, update, *starts = inputs
    target, a = _copy(lowering, array), lowering.assembler
    update = lowering.long(update, update.shape)
    entries = _scalars(lowering, starts, target.shape, update.shape)
    start = _start(lowering, target, entries)
    start.inside = a.constant(True, "bool")
    with lowering.loops(update.shape) as place:
        start.write(a, place, update.at(a, place))
    return [target]


def _copy(lowering, array) -> Stored:
    array = lowering.long(array, array.shape)
    target = lowering.new(array.shape, array.kind)
    lowering.fill(target, array)
    return target


def _indices(lowering, indices) -> Any:
    """Return indices as an array that can be read in a loop."""
    if isinstance(indices, np.ndarray) and np.prod(indices.shape[:-1]) == 1:
        return Named(indices, indices.flat[0].kind if indices.size else "int32")
    return lowering.kept(lowering.long(indices, indices.shape))


def _entries(lowering, array, sizes, indices, place, mapped) -> list:
    """Return the entries of `_start` for a place of an array of indices."""
    a, entries = lowering.assembler, []
    for k, axis in enumerate(mapped):
        shared = indices.shared
        if isinstance(indices, Named):
            shared = indices.at(a, [*place, k]).number is not None

        def read(k=k):
            value = indices.at(a, [*place, k])
            known = value.number
            return value if known is None else a.constant(known, value.kind)

        entries.append((axis, array.shape[axis] - sizes[axis], read, shared))
    return entries


def _gather(lowering: Any, equation: Any, inputs: Sequence) -> list:
    parameters, a = equation.params, lowering.assembler
    numbers, sizes = parameters["dimension_numbers"], parameters["slice_sizes"]
    array, indices = lowering.stored(inputs[0]), _indices(lowering, inputs[1])
    aval = equation.outvars[0].aval
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    outer = [d for d in range(len(aval.shape)) if d not in numbers.offset_dims]
    filled = "FILL" in str(parameters["mode"]).upper()

    def number(place):
        first = [place[d] for d in outer]
        inner = iter([place[d] for d in numbers.offset_dims])
        places = [0 if axis in gone else next(inner) for axis in range(len(array.shape))]
        for axis, theirs in zip(
            numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True
        ):
            places[axis] = first[theirs]
        entries = _entries(lowering, array, sizes, indices, first, numbers.start_index_map)
        start = _start(lowering, array, entries)
        value = start.read(a, places)
        if not filled:
            return value
        filling = filling_of(array.kind, parameters["fill_value"])
        return a.select(start.inside, value, a.constant(filling, array.kind))

    shared = array.shared and indices.shared
    return [Computed(aval.shape, array.kind, number, shared, weight=20)]


def _scatter(combine: Callable | None) -> Callable:
    def write(lowering, equation, inputs):
        parameters, a = equation.params, lowering.assembler
        numbers = parameters["dimension_numbers"]
        updates = lowering.kept(lowering.long(inputs[2], inputs[2].shape))
        target, indices = _copy(lowering, inputs[0]), _indices(lowering, inputs[1])
        gone = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
        rank = len(updates.shape)
        outer = [d for d in range(rank) if d not in numbers.update_window_dims]
        kept = iter(numbers.update_window_dims)
        sizes = [
            1 if axis in gone else updates.shape[next(kept)]
            for axis in range(len(target.shape))
        ]
        clipped = "CLIP" in str(parameters["mode"]).upper()
        mapped = numbers.scatter_dims_to_operand_dims
        window = [n for axis, n in enumerate(sizes) if axis not in gone]
        with lowering.loops(indices.shape[:-1]) as first:
            entries = _entries(lowering, target, sizes, indices, first, mapped)
            start = _start(lowering, target, entries)
            if clipped:
                start.inside = a.constant(True, "bool")
            with lowering.loops(window) as inner:
                some = iter(inner)
                places = [
                    0 if axis in gone else next(some) for axis in range(len(sizes))
                ]
                for axis, theirs in zip(
                    numbers.operand_batching_dims,
                    numbers.scatter_indices_batching_dims,
                    strict=True,
                ):
                    places[axis] = first[theirs]
                place: list[Index] = [0] * rank
                for d, k in zip(outer, first, strict=True):
                    place[d] = k
                for d, k in zip(numbers.update_window_dims, inner, strict=True):
                    place[d] = k
                value = updates.at(a, place)
                if combine is not None:
                    value = combine(a, {}, start.read(a, places), value)
                start.write(a, places, value)
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
