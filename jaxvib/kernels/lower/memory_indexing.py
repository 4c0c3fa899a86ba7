"""Lowering of slices, gathers and scatters of arrays in memory."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir.assembler import Assembler, Value
from .indexing import bounded, filling_of, wide
from .memory_arrays import Computed, Index, LongArray, Named, Run, Stored
from .primitives import added, maximum, minimum, multiplied


class _Slice(NamedTuple):
    """A slice of an array in memory, whose begin is known at run time.

    `array`: begins there; for a vector of slices `offsets` (int64) are added to it.
    `inside`: whether the indices were in bounds.
    """

    array: Stored
    offsets: Value | None
    inside: Value

    def at(self, a: Assembler, place: Sequence[Index]) -> Value:
        """Return the number at a place of the slice."""
        if self.offsets is None:
            return self.array.at(a, place)
        return self.array.at_each(a, place, self.offsets)


def _slice(
    lowering: Any, array: Stored, sizes: Sequence[int], starts: dict[int, Value]
) -> _Slice:
    """Return a slice of `sizes` that begins at indices on some axes, within bounds."""
    a, offsets = lowering.assembler, None
    inside = a.constant(True, "bool")
    for axis, start in starts.items():
        start = wide(lowering, start)
        kept = bounded(lowering, start, array.shape[axis] - sizes[axis])
        inside = a.bitwise_and(inside, a.compare("eq", kept, start))
        stride = a.constant(array.layout.strides[axis], "int64")
        offset = a.multiply(a.convert(kept, "int64"), stride)
        if a.width > 1:
            offsets = offset if offsets is None else a.add(offsets, offset)
        else:
            number = offset.name if offset.number is None else int(offset.number)
            array = array.moved(a, number)
    return _Slice(array, offsets, inside)


def _dynamic_slice(lowering: Any, equation: Any, inputs: Sequence) -> list:
    array, sizes = lowering.stored(inputs[0]), equation.params["slice_sizes"]
    starts = {axis: start[()] for axis, start in enumerate(inputs[1:])}
    part = _slice(lowering, array, sizes, starts).array
    return [part.view(part.layout[tuple(map(slice, sizes))])]


def _dynamic_update(lowering: Any, equation: Any, inputs: Sequence) -> list:
    target, update = lowering.copy(inputs[0]), inputs[1]
    starts = {axis: start[()] for axis, start in enumerate(inputs[2:])}
    part = _slice(lowering, target, update.shape, starts).array
    lowering.fill(part.view(part.layout[tuple(map(slice, update.shape))]), update)
    return [target]


def _indices(lowering, indices) -> LongArray:
    """Return indices as an array that can be read in a loop."""
    if isinstance(indices, np.ndarray) and np.prod(indices.shape[:-1]) == 1:
        return Named(indices, indices.flat[0].kind if indices.size else "int32")
    return lowering.kept(lowering.long(indices))


def _starts(lowering, array, sizes, indices, place, axes) -> _Slice:
    """Return the slice that begins at the indices of a place, one for each of `axes`."""
    a = lowering.assembler

    def found():
        starts = {int(axis): indices.at(a, [*place, k]) for k, axis in enumerate(axes)}
        return _slice(lowering, array, sizes, starts)

    if a.width == 1 or any(isinstance(index, Run) for index in place):
        return found()
    with lowering.vectors_of(1):  # one slice, whose numbers are a vector
        one = found()
    return one._replace(inside=a.same(one.inside, a.width))


def _gather(lowering: Any, equation: Any, inputs: Sequence) -> list:
    parameters, a = equation.params, lowering.assembler
    numbers, sizes = parameters["dimension_numbers"], parameters["slice_sizes"]
    array, indices = lowering.stored(inputs[0]), _indices(lowering, inputs[1])
    aval = equation.outvars[0].aval
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    outer = [d for d in range(len(aval.shape)) if d not in numbers.offset_dims]
    batches = dict(
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    )
    filled = "FILL" in str(parameters["mode"]).upper()

    def number(place):
        first = [place[d] for d in outer]
        inner = iter([place[d] for d in numbers.offset_dims])
        places = [
            first[batches[axis]] if axis in batches else 0 if axis in gone else next(inner)
            for axis in range(len(array.shape))
        ]
        part = _starts(lowering, array, sizes, indices, first, numbers.start_index_map)
        value = part.at(a, places)
        if not filled:
            return value
        filling = filling_of(array.kind, parameters["fill_value"])
        return a.select(part.inside, value, a.constant(filling, array.kind))

    return [Computed(aval.shape, array.kind, number, weight=20)]


def _scatter(combine: Callable | None) -> Callable:
    def write(lowering, equation, inputs):
        parameters, a = equation.params, lowering.assembler
        numbers = parameters["dimension_numbers"]
        updates = lowering.kept(lowering.long(inputs[2]))
        target, indices = lowering.copy(inputs[0]), _indices(lowering, inputs[1])
        batches = dict(
            zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims,
                strict=True)
        )  # fmt: skip
        gone, window = (*numbers.inserted_window_dims, *batches), numbers.update_window_dims
        kept, rank = iter(window), len(updates.shape)
        sizes = [
            1 if axis in gone else updates.shape[next(kept)]
            for axis in range(len(target.shape))
        ]
        clipped = "CLIP" in str(parameters["mode"]).upper()
        outer = [d for d in range(rank) if d not in window]
        with lowering.loops(indices.shape[:-1]) as first:
            axes = numbers.scatter_dims_to_operand_dims
            part = _starts(lowering, target, sizes, indices, first, axes)
            with lowering.loops([updates.shape[d] for d in window]) as inner:
                place = [0] * rank
                for d, index in zip((*outer, *window), (*first, *inner), strict=True):
                    place[d] = index
                some = iter(inner)
                places = [
                    first[batches[axis]] if axis in batches
                    else 0 if axis in gone else next(some)
                    for axis in range(len(sizes))
                ]  # fmt: skip
                old, new = part.at(a, places), updates.at(a, place)
                new = new if combine is None else combine(a, {}, old, new)
                new = new if clipped else a.select(part.inside, new, old)
                part.array.write(a, places, new)
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
