"""Lowering of slices, gathers and scatters with run-time indices."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.assembler import Value, is_float
from .primitives import as_array, each, maximum, minimum


def slice_at(
    lowering: Any, array: np.ndarray, starts: Sequence[Value], sizes: Sequence[int]
) -> np.ndarray:
    """Return the slice of an array that begins at in-bounds indices, per lane."""
    a = lowering.assembler
    for axis, (start, length) in enumerate(zip(starts, sizes, strict=True)):
        front = np.moveaxis(array, axis, 0)
        if start.number is not None:
            chosen = front[start.number : start.number + length]
        else:
            chosen = front[:length]
            for k in range(1, front.shape[0] - length + 1):
                selected = a.compare("eq", start, a.constant(k, start.kind))
                moved = front[k : k + length]
                chosen = each(lambda x, y, c=selected: a.select(c, x, y), moved, chosen)
        array = np.moveaxis(chosen, 0, axis)
    return array


def update_at(
    lowering: Any,
    array: np.ndarray,
    update: np.ndarray,
    starts: Sequence[Value],
    if_: Value,
) -> np.ndarray:
    """Return an array with a slice at in-bounds indices replaced, where `if_` holds."""
    a, result = lowering.assembler, array.copy()
    ranges = [
        [start.number] if start.number is not None else range(size - length + 1)
        for start, size, length in zip(starts, array.shape, update.shape, strict=True)
    ]
    for offset in np.ndindex(*map(len, ranges)):
        first = [places[k] for places, k in zip(ranges, offset, strict=True)]
        selected = if_
        for start, place in zip(starts, first, strict=True):
            selected = a.bitwise_and(
                selected, a.compare("eq", start, a.constant(place, start.kind))
            )
        part = tuple(slice(k, k + n) for k, n in zip(first, update.shape, strict=True))
        result[part] = each(
            lambda x, y, c=selected: a.select(c, x, y), update, result[part]
        )
    return result


def bounded(lowering: Any, start: Value, most: int) -> Value:
    """Clamp an index to 0 to `most`."""
    a = lowering.assembler
    zero, last = a.constant(0, start.kind), a.constant(most, start.kind)
    start = a.select(a.compare("lt", start, zero), zero, start)
    return a.select(a.compare("gt", start, last), last, start)


def wide(lowering, start: Value) -> Value:
    """Widen an index of 8 or 16 bits to 32."""
    narrow = np.dtype(start.kind).itemsize < 4
    return lowering.assembler.convert(start, "int32") if narrow else start


def _dynamic_slice(lowering, equation, inputs):
    array, *starts = inputs
    sizes = equation.params["slice_sizes"]
    return [
        slice_at(
            lowering, array, _clamped_starts(lowering, starts, array.shape, sizes), sizes
        )
    ]


def _dynamic_update(lowering, equation, inputs):
    array, update, *starts = inputs
    starts = _clamped_starts(lowering, starts, array.shape, update.shape)
    always = lowering.assembler.constant(True, "bool")
    return [update_at(lowering, array, update, starts, always)]


def _clamped_starts(lowering, starts, shape, sizes):
    return [
        bounded(lowering, wide(lowering, start[()]), size - length)
        for start, size, length in zip(starts, shape, sizes, strict=True)
    ]


def _gather(lowering, equation, inputs):
    (array, indices), parameters = inputs, equation.params
    numbers = parameters["dimension_numbers"]
    shape, sizes = equation.outvars[0].aval.shape, parameters["slice_sizes"]
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    outer = [d for d in range(len(shape)) if d not in numbers.offset_dims]
    result = np.empty(shape, object)
    for place in np.ndindex(*indices.shape[:-1]):
        starts, inside = _starts(
            lowering, array, indices[place], sizes, numbers.start_index_map,
            zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims,
                strict=True),
            place,
        )  # fmt: skip
        part = slice_at(lowering, array, starts, sizes).reshape(
            [n for d, n in enumerate(sizes) if d not in gone]
        )
        if "FILL" in str(parameters["mode"]).upper():
            part = _filled(lowering, part, inside, parameters["fill_value"])
        where: list = [slice(None)] * len(shape)
        for dimension, k in zip(outer, place, strict=True):
            where[dimension] = k
        result[tuple(where)] = part if part.ndim else part[()]
    return [result]


def _filled(lowering, part, inside: Value, filling) -> np.ndarray:
    a = lowering.assembler

    def choose(x):
        return a.select(inside, x, a.constant(filling_of(x.kind, filling), x.kind))

    return each(choose, part)


def filling_of(kind: str, filling):
    """Return the number that JAX puts in place of one out of bounds."""
    if filling is not None:
        return filling
    if is_float(kind):
        return np.nan
    if kind == "bool":
        return True
    limits = np.iinfo(kind)
    return limits.min if kind.startswith("i") else limits.max


def _starts(lowering, array, index, sizes, mapped, batching, place):
    """Return the clamped start indices of a slice, and whether they were in bounds."""
    a = lowering.assembler
    inside = a.constant(True, "bool")
    starts = [a.constant(0, "int32")] * array.ndim
    for own, theirs in batching:
        starts[own] = a.constant(place[theirs], "int32")
    for dimension, start in zip(mapped, np.atleast_1d(index), strict=True):
        start = wide(lowering, start)
        most = array.shape[dimension] - sizes[dimension]
        starts[dimension] = bounded(lowering, start, most)
        inside = a.bitwise_and(inside, a.compare("eq", starts[dimension], start))
    return starts, inside


def _scatter(combine: Callable | None) -> Callable:
    def write(lowering, equation, inputs):
        (array, indices, updates), parameters = inputs, equation.params
        a, numbers = lowering.assembler, parameters["dimension_numbers"]
        gone = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
        outer = [d for d in range(updates.ndim) if d not in numbers.update_window_dims]
        kept = iter(numbers.update_window_dims)
        sizes = [1 if d in gone else updates.shape[next(kept)] for d in range(array.ndim)]
        clipped = "CLIP" in str(parameters["mode"]).upper()
        for place in np.ndindex(*indices.shape[:-1]):
            starts, inside = _starts(
                lowering, array, indices[place], sizes,
                numbers.scatter_dims_to_operand_dims,
                zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims,
                    strict=True),
                place,
            )  # fmt: skip
            where: list = [slice(None)] * updates.ndim
            for dimension, k in zip(outer, place, strict=True):
                where[dimension] = k
            update = as_array(updates[tuple(where)]).reshape(sizes)
            if combine is not None:
                old = slice_at(lowering, array, starts, sizes)
                update = each(lambda x, y: combine(a, x, y), old, update)
            always = a.constant(True, "bool")
            array = update_at(
                lowering, array, update, starts, always if clipped else inside
            )
        return [array]

    return write


TABLE: dict[str, Callable] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update,
    "gather": _gather,
    "scatter": _scatter(None),
    "scatter-add": _scatter(lambda a, x, y: a.add(x, y)),
    "scatter_add": _scatter(lambda a, x, y: a.add(x, y)),
    "scatter-sub": _scatter(lambda a, x, y: a.subtract(x, y)),
    "scatter-min": _scatter(lambda a, x, y: minimum(a, {}, x, y)),
    "scatter-max": _scatter(lambda a, x, y: maximum(a, {}, x, y)),
    "scatter-mul": _scatter(lambda a, x, y: a.multiply(x, y)),
    "scatter_mul": _scatter(lambda a, x, y: a.multiply(x, y)),
}
