"""Lowering of operations along axes: sums, running sums, matrix products and padding.

Each is written once, for arrays of names and for arrays in memory: loops are unrolled for
the first, and emitted for the others.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..ir.assembler import Value
from .control import Carried, counted
from .memory_arrays import (
    Computed,
    Index,
    LongArray,
    Named,
    Run,
    Stored,
    difference,
    plus,
    times,
)
from .primitives import added, boxed, each, maximum, minimum, multiplied

# Sums of products that one loop computes, so that each number is loaded for several.
_ROWS, _COLUMNS, _ALONE = 4, 4, 8
# The same of vectors of sums, as many as hide the latency of one.
_VECTORS = 8


def repeated(
    lowering: Any, first: Sequence[Value], times: int | str, following: Callable
) -> list[Value]:
    """Repeat totals = following(number, totals) for `times` numbers from 0 on."""
    if lowering.unrolls:
        for number in range(int(times)):
            first = following(number, first)
        return list(first)
    first = [value.plain() for value in first]
    if times == 0:
        return first
    carry: Any = Carried(lowering, [boxed(value) for value in first])
    with counted(lowering, times, carry) as turn:
        totals = [value[()] for value in carry.values]
        carry.following = [boxed(v) for v in following(turn, totals)]
    return [value[()] for value in carry.values]


def steps(lowering: Any, first: Any, end: Any) -> Iterator[Any]:
    """Yield the indices from `first` to before `end`, or in an emitted loop its index."""
    if lowering.unrolls:
        yield from range(first, end)
        return
    a = lowering.assembler
    with counted(lowering, difference(a, end, first)) as turn:
        yield plus(a, turn, first)


def along(lowering: Any, first: Any, end: Any) -> Iterator[Any]:
    """Yield the indices from `first` to before `end`, in emitted loops as vectors."""
    if lowering.unrolls:
        yield from range(first, end)
        return
    for part in lowering.along(difference(lowering.assembler, end, first), first):
        with part as index:
            yield index


def columns_of(lowering: Any, number: int) -> Iterator[Sequence[Index]]:
    """Yield columns, those of one emitted loop together."""
    if lowering.unrolls:
        yield from ([k] for k in range(number))
        return
    for part in groups_of_vectors(lowering, number, _VECTORS):
        with part as columns:
            yield columns


def _reduced(combine: Callable, of_nothing: Callable) -> Callable:
    """Return the lowering of a reduction; `of_nothing(dtype)`: its neutral element.

    Without the parameter `axes` it is one of all numbers.
    """

    def write(lowering, equation, inputs):
        a, (array,) = lowering.assembler, inputs
        aval = equation.outvars[0].aval
        axes = equation.params.get("axes", range(len(array.shape)))
        if 0 in array.shape:
            return [lowering.array(np.full(aval.shape, of_nothing(aval.dtype), aval.dtype))]
        front = _summed_first(lowering, array, axes)

        def number(place):
            def following(k, totals):
                more = front.at(a, [plus(a, k, 1), *place])
                return [combine(a, {}, totals[0], more)]

            first = front.at(a, [0, *place])
            return repeated(lowering, [first], front.shape[0] - 1, following)[0]

        return [Computed(aval.shape, np.dtype(aval.dtype).name, number, weight=99)]

    return write


def _summed_first(lowering: Any, array: Any, axes: Sequence) -> LongArray:
    """Return an array with the axes of a reduction as one, in front of the others."""
    if len(axes) == len(array.shape) and isinstance(array, Computed):
        flat = array.flat()
        if flat is not None:
            return flat
    array = lowering.stored(array)
    rest = [n for axis, n in enumerate(array.shape) if axis not in axes]
    front = np.moveaxis(array.layout, axes, range(len(axes)))
    return _reshaped(lowering, array, front, (-1, *rest))


def _reshaped(lowering: Any, array: Any, layout: np.ndarray, shape: Sequence) -> Any:
    """Return a rearrangement with another shape, copied if that is no view."""
    found = layout.reshape(shape)
    if array.holds(found):
        return array.view(found)
    array = lowering.copy(array.view(layout))
    return array.view(array.layout.reshape(shape))


def _extreme(dtype, sign: int):
    """Return the greatest (1) or least (-1) value of a dtype."""
    if np.issubdtype(dtype, np.floating):
        return sign * np.inf
    return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min


def _running(combine: Callable) -> Callable:
    def write(lowering, equation, inputs):
        a, parameters = lowering.assembler, equation.params
        array = lowering.stored(inputs[0])
        target = lowering.new(array.shape, array.kind)
        source, result = (
            one.view(np.moveaxis(one.layout, parameters["axis"], 0))
            for one in (array, target)
        )
        if parameters["reverse"]:
            source, result = (one.view(one.layout[::-1]) for one in (source, result))
        if not source.shape[0]:
            return [target]
        for place in places(lowering, source.shape[1:]):
            first = source.at(a, [0, *place])
            result.write(a, [0, *place], first)

            def following(k, totals, place=place):
                k = plus(a, k, 1)
                total = combine(a, {}, totals[0], source.at(a, [k, *place]))
                result.write(a, [k, *place], total)
                return [total]

            repeated(lowering, [first], source.shape[0] - 1, following)
        return [target]

    return write


def places(lowering: Any, shape: Sequence[int]) -> Iterator[Sequence[Index]]:
    """Yield all places of a shape, or in an emitted loop its place."""
    if lowering.unrolls:
        yield from np.ndindex(*shape)
        return
    with lowering.loops(shape) as place:
        yield place


def _padded(lowering: Any, equation: Any, inputs: Sequence) -> list:
    array, filling = inputs
    aval = equation.outvars[0].aval
    kind = np.dtype(aval.dtype).name
    if lowering.unrolls:
        target: Any = Named(np.full(aval.shape, filling[()], object), kind)
    else:
        target = lowering.new(aval.shape, kind)
        lowering.fill(target, lowering.long(filling, aval.shape))
    array = lowering.stored(array)
    source, layout = array.layout, target.layout
    for axis, (low, _, between) in enumerate(equation.params["padding_config"]):
        places = low + np.arange(source.shape[axis]) * (between + 1)
        kept = np.flatnonzero((places >= 0) & (places < aval.shape[axis]))
        if not kept.size:
            return [target]
        part = slice(places[kept[0]], places[kept[-1]] + 1, between + 1)
        front = np.moveaxis(source, axis, 0)[kept[0] : kept[-1] + 1]
        source = np.moveaxis(front, 0, axis)
        layout = np.moveaxis(np.moveaxis(layout, axis, 0)[part], 0, axis)
    lowering.fill(target.view(layout), array.view(source))
    return [target]


def _multiplied_matrices(lowering: Any, equation: Any, inputs: Sequence) -> list:
    (left_sum, right_sum), (left_batch, right_batch) = equation.params["dimension_numbers"]
    left = _matrices(lowering, inputs[0], left_batch, left_sum)
    right = _matrices(lowering, inputs[1], right_batch, right_sum)
    aval = equation.outvars[0].aval
    kind = np.dtype(aval.dtype).name
    batch, rows, terms = left.shape
    columns = right.shape[1]
    if terms == 0:
        return [lowering.array(np.zeros(aval.shape, aval.dtype))]
    target = lowering.new((batch, rows, columns), kind)
    result = target.view(target.layout.reshape(aval.shape))
    if lowering.unrolls:
        left, right = (
            one.view(each(lambda x: lowering.assembler.convert(x, kind), one.layout))
            for one in (left, right)
        )
        for b, i, j in np.ndindex(*target.shape):
            _block(lowering, left, right, target, b, ([i], [j]))
        return [result]
    right = _in_rows(lowering, right, rows)
    vectors = right.layout.strides[1] == 1 and columns >= lowering.vector
    a = lowering.assembler
    with lowering.loops((batch,)) as (b,):
        for first, number, height in _blocks(rows, _ROWS if columns > 1 else _ALONE):
            with lowering.loops((number,)) as (i,):
                start = plus(a, times(a, i, height), first)
                places = [plus(a, start, k) for k in range(height)]
                if vectors:
                    for part in groups_of_vectors(lowering, columns, _VECTORS // height):
                        with part as some:
                            _block(lowering, left, right, target, b, (places, some))
                    continue
                most = _COLUMNS if rows > 1 else _ALONE
                for begin, count, breadth in _blocks(columns, most):
                    with lowering.loops((count,)) as (j,):
                        start = plus(a, times(a, j, breadth), begin)
                        others = [plus(a, start, k) for k in range(breadth)]
                        _block(lowering, left, right, target, b, (places, others))
    return [result]


def groups_of_vectors(
    lowering: Any, columns: int, group: int
) -> list[contextlib.AbstractContextManager[list[Index]]]:
    """Return loops over groups of vectors of columns, the vectors left, and the rest."""
    a, width = lowering.assembler, lowering.vector

    @contextlib.contextmanager
    def groups(first: int, number: int, size: int):
        with lowering.loops((number,)) as (turn,), lowering.vectors_of(width):
            start = plus(a, times(a, turn, size * width), first)
            yield [Run(plus(a, start, k * width)) for k in range(size)]

    @contextlib.contextmanager
    def single(first: int, number: int):
        with lowering.loops((number,)) as (turn,):
            yield [plus(a, turn, first)]

    whole, rest = divmod(columns, width)
    parts: list[contextlib.AbstractContextManager[list[Index]]] = [
        groups(first * width, number, size)
        for first, number, size in _blocks(whole, group)
        if number
    ]
    if rest:
        parts.append(single(whole * width, rest))
    return parts


def _in_rows(lowering: Any, right: Stored, uses: int) -> Stored:
    """Return a matrix whose columns are next to each other in memory, if that pays."""
    if right.layout.strides[1] == 1 or uses < _ROWS or right.shape[1] < lowering.vector:
        return right
    copy = lowering.copy(right.view(right.layout.swapaxes(1, 2)))
    return copy.view(copy.layout.swapaxes(1, 2))


def _blocks(length: int, most: int) -> list[tuple[int, int, int]]:
    """Return blocks of a length and of the rest: the first place, number and size."""
    size = min(length, most)
    if not size:
        return []
    whole = length // size
    rest = length - whole * size
    return [(0, whole, size)] + ([(whole * size, 1, rest)] if rest else [])


def _block(
    lowering: Any,
    left: Any,
    right: Any,
    target: Any,
    batch: int | str,
    places: tuple[Sequence[Index], Sequence[Index]],
) -> None:
    """Emit a block of a matrix product: one loop over the terms of its sums."""
    a, kind = lowering.assembler, target.kind

    def products(k):
        rows, columns = (
            [a.convert(matrix.at(a, [batch, place, k]), kind) for place in some]
            for matrix, some in zip((left, right), places, strict=True)
        )
        return [multiplied(a, {}, x, y) for x in rows for y in columns]

    def following(k, totals):
        pairs = zip(totals, products(plus(a, k, 1)), strict=True)
        return [added(a, {}, sum_, product) for sum_, product in pairs]

    totals = repeated(lowering, products(0), left.shape[2] - 1, following)
    results = iter(totals)
    for i in places[0]:
        for j in places[1]:
            target.write(a, [batch, i, j], next(results))


def _matrices(lowering: Any, array: Any, batch, summed) -> Any:
    """Return an array with three axes: batch, others, summed."""
    array = lowering.stored(array)
    others = [axis for axis in range(len(array.shape)) if axis not in (*batch, *summed)]
    shape = [
        int(np.prod([array.shape[axis] for axis in axes]))
        for axes in (batch, others, summed)
    ]
    front = np.transpose(array.layout, (*batch, *others, *summed))
    return _reshaped(lowering, array, front, shape)


_any = _reduced(lambda a, p, x, y: a.bitwise_or(x, y), lambda dtype: False)
_all = _reduced(lambda a, p, x, y: a.bitwise_and(x, y), lambda dtype: True)
_greatest = _reduced(maximum, lambda dtype: _extreme(dtype, -1))
TABLE: dict[str, Callable] = {
    "reduce_sum": _reduced(added, lambda dtype: 0),
    "reduce_prod": _reduced(multiplied, lambda dtype: 1),
    "reduce_max": _greatest,
    "reduce_min": _reduced(minimum, lambda dtype: _extreme(dtype, 1)),
    "reduce_and": _all,
    "reduce_or": _any,
    # equinox's reductions over all lanes of a batch: here each lane is alone
    "unvmap_all": _all,
    "unvmap_any": _any,
    "unvmap_max": _greatest,
    "cumsum": _running(added),
    "cumprod": _running(multiplied),
    "cummax": _running(maximum),
    "cummin": _running(minimum),
    "dot_general": _multiplied_matrices,
    "pad": _padded,
}
