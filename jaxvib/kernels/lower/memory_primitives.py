"""Lowering of JAX's primitives to loops over arrays in memory."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir import elementary, error_function
from ..ir.assembler import Value
from . import ordering, primitives
from .control import Carried, counted
from .memory_arrays import (
    Computed,
    Index,
    LongArray,
    Repeated,
    Run,
    Stored,
    index_value,
    plus,
    times,
)
from .primitives import added, boxed, maximum, minimum, multiplied

_ELEMENTARY = (*elementary.FUNCTIONS, *error_function.FUNCTIONS)
_ARITHMETIC = (
    "add", "add_any", "sub", "mul", "div", "rem", "neg", "square", "integer_pow", "sqrt",
    "rsqrt", "abs", "sign", "max", "min", "clamp", "floor", "ceil", "round", "nextafter",
    "is_finite", "convert_element_type", "bitcast_convert_type", "eq", "ne", "lt", "le",
    "gt", "ge", "and", "or", "xor", "not", "shift_left", "shift_right_logical",
    "shift_right_arithmetic", "select_n", "eq_to", "le_to", "lt_to",
)  # fmt: skip
_VIEWS = ("reshape", "squeeze", "expand_dims", "transpose", "rev", "slice")
_UNCHANGED = (
    "copy", "copy_p", "device_put", "stop_gradient", "optimization_barrier",
    "nonbatchable", "select_if_vmap",
)  # fmt: skip
# Instructions of an elementary function.
_LONG_FUNCTION = 20
# Sums of products that one loop computes, so that each number is loaded for several.
_ROWS, _COLUMNS, _ALONE = 4, 4, 8
# The same of vectors of sums, as many as hide the latency of one.
_VECTORS = 8


def _elementwise(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Return an array that is computed number by number where it is used."""
    a, name = lowering.assembler, equation.primitive.name
    aval = equation.outvars[0].aval
    write = primitives.TABLE.get(name) or ordering.TABLE[name]
    arrays = [_broadcast(lowering, array, aval.shape) for array in inputs]

    def of(arrays: Sequence[LongArray], shape: tuple[int, ...]) -> Computed:
        def number(place):
            read = {id(array): array.at(a, place) for array in arrays}
            numbers = [boxed(read[id(array)]) for array in arrays]
            return write(lowering, equation, numbers)[0][()]

        def flattened():
            found = {id(array): array.flat() for array in arrays}
            flat = [one for array in arrays if (one := found[id(array)]) is not None]
            return of(flat, (int(np.prod(shape)),)) if len(flat) == len(arrays) else None

        own = _LONG_FUNCTION if name in _ELEMENTARY else 1
        weight = own + sum(array.weight for array in arrays)
        kind = np.dtype(aval.dtype).name
        return Computed(shape, kind, number, weight, flattened)

    return [of(arrays, aval.shape)]


def _broadcast(lowering: Any, array: Any, shape: tuple[int, ...]) -> LongArray:
    array = lowering.long(array, shape)
    if array.shape == shape:
        return array
    array = lowering.stored(array)
    return array.view(np.broadcast_to(array.layout, shape))


def _rearranged(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Rearrange an array without moving its numbers, where strides can say it."""
    shape = equation.outvars[0].aval.shape
    array = lowering.long(inputs[0], shape)
    if isinstance(array, Repeated):
        return [array.of(shape)]
    array, write = lowering.stored(array), primitives.TABLE[equation.primitive.name]
    (layout,) = write(lowering, equation, [array.layout])
    if array.holds(layout):
        return [array.view(layout)]
    array = lowering.copy(array)
    (layout,) = write(lowering, equation, [array.layout])
    return [array.view(layout)]


def _parts(lowering: Any, equation: Any, inputs: Sequence) -> list:
    array = lowering.stored(inputs[0])
    layouts = primitives.TABLE[equation.primitive.name](lowering, equation, [array.layout])
    return [array.view(layout) for layout in layouts]


def _joined(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower `concatenate` and `stack`."""
    parameters, aval = equation.params, equation.outvars[0].aval
    target = lowering.new(aval.shape, np.dtype(aval.dtype).name)
    stacked = equation.primitive.name == "stack"
    axis = parameters.get("axis", 0) if stacked else parameters["dimension"]
    front, first = np.moveaxis(target.layout, axis, 0), 0
    for array in inputs:
        length = 1 if stacked else array.shape[axis]
        part = np.moveaxis(front[first : first + length], 0, axis)
        layout = part.reshape(array.shape) if stacked else part
        lowering.fill(target.view(layout), array)
        first += length
    return [target]


def _padded(lowering: Any, equation: Any, inputs: Sequence) -> list:
    array, filling = inputs
    aval = equation.outvars[0].aval
    target = lowering.new(aval.shape, np.dtype(aval.dtype).name)
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


# Sums and other totals.


def _total(
    lowering: Any, first: Sequence[Value], length: int, following: Callable
) -> list[Value]:
    """Emit a loop over numbers 1 to `length`: totals = following(number, totals)."""
    if length == 1:
        return list(first)
    a = lowering.assembler
    carry: Any = Carried(lowering, [boxed(value) for value in first])
    with counted(lowering, length - 1, carry) as turn:
        totals = [value[()] for value in carry.values]
        carry.following = [boxed(v) for v in following(plus(a, turn, 1), totals)]
    return [value[()] for value in carry.values]


def _reduced(combine: Callable) -> Callable:
    def write(lowering, equation, inputs):
        a, (array,) = lowering.assembler, inputs
        if 0 in array.shape:
            return primitives.TABLE[equation.primitive.name](lowering, equation, inputs)
        axes, aval = equation.params["axes"], equation.outvars[0].aval
        front = _summed_first(lowering, array, axes)
        length = front.shape[0]

        def number(place):
            first = front.at(a, [0, *place]).plain()

            def following(k, totals):
                return [combine(a, {}, totals[0], front.at(a, [k, *place]))]

            return _total(lowering, [first], length, following)[0]

        return [Computed(aval.shape, np.dtype(aval.dtype).name, number, weight=99)]

    return write


def _summed_first(lowering, array, axes) -> LongArray:
    """Return an array with the axes of a reduction as one, in front of the others."""
    if len(axes) == len(array.shape) and isinstance(array, Computed):
        flat = array.flat()
        if flat is not None:
            return flat
    array = lowering.stored(array)
    rest = [n for axis, n in enumerate(array.shape) if axis not in axes]
    front = np.moveaxis(array.layout, axes, range(len(axes)))
    layout = front.reshape(-1, *rest)
    if array.holds(layout):
        return array.view(layout)
    array = lowering.copy(array.view(front))
    return array.view(array.layout.reshape(-1, *rest))


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
        with lowering.loops(source.shape[1:]) as place:
            first = source.at(a, [0, *place])
            result.write(a, [0, *place], first)

            def following(k, totals):
                total = combine(a, {}, totals[0], source.at(a, [k, *place]))
                result.write(a, [k, *place], total)
                return [total]

            _total(lowering, [first], source.shape[0], following)
        return [target]

    return write


def _multiplied_matrices(lowering: Any, equation: Any, inputs: Sequence) -> list:
    (left_sum, right_sum), (left_batch, right_batch) = equation.params["dimension_numbers"]
    left = _matrices(lowering, inputs[0], left_batch, left_sum)
    right = _matrices(lowering, inputs[1], right_batch, right_sum)
    aval = equation.outvars[0].aval
    kind = np.dtype(aval.dtype).name
    batch, rows, terms = left.shape
    columns = right.shape[1]
    target = lowering.new((batch, rows, columns), kind)
    result = target.view(target.layout.reshape(aval.shape))
    if terms == 0:
        lowering.fill(target, Repeated(target.shape, kind, 0))
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
    left: Stored,
    right: Stored,
    target: Stored,
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
        pairs = zip(totals, products(k), strict=True)
        return [added(a, {}, total, product) for total, product in pairs]

    totals = _total(lowering, products(0), left.shape[2], following)
    results = iter(totals)
    for i in places[0]:
        for j in places[1]:
            target.write(a, [batch, i, j], next(results))


def _matrices(lowering, array, batch, summed) -> Stored:
    """Return an array with three axes: batch, others, summed."""
    array = lowering.stored(array)
    others = [axis for axis in range(len(array.shape)) if axis not in (*batch, *summed)]
    shape = [
        int(np.prod([array.shape[axis] for axis in axes]))
        for axes in (batch, others, summed)
    ]
    front = np.transpose(array.layout, (*batch, *others, *summed))
    layout = front.reshape(shape)
    if array.holds(layout):
        return array.view(layout)
    array = lowering.copy(array.view(front))
    return array.view(array.layout.reshape(shape))


def _counted(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower `iota`: each number is its index along an axis."""
    a, axis = lowering.assembler, equation.params["dimension"]
    aval = equation.outvars[0].aval
    kind = np.dtype(aval.dtype).name

    def number(place):
        return a.convert(index_value(a, place[axis]), kind)

    return [Computed(aval.shape, kind, number, weight=2)]


def _unchanged(lowering: Any, equation: Any, inputs: Sequence) -> list:
    if equation.primitive.name == "select_if_vmap":
        return [inputs[1]]
    return list(inputs[: len(equation.outvars)])


TABLE: dict[str, Callable] = {
    **dict.fromkeys((*_ARITHMETIC, *_ELEMENTARY), _elementwise),
    **dict.fromkeys(_VIEWS, _rearranged),
    **dict.fromkeys(_UNCHANGED, _unchanged),
    "broadcast_in_dim": _rearranged,
    "split": _parts,
    "unstack": _parts,
    "concatenate": _joined,
    "stack": _joined,
    "pad": _padded,
    "iota": _counted,
    "empty": primitives.TABLE["empty"],
    "empty2": primitives.TABLE["empty2"],
    "reduce_sum": _reduced(added),
    "reduce_prod": _reduced(multiplied),
    "reduce_max": _reduced(maximum),
    "reduce_min": _reduced(minimum),
    "reduce_and": _reduced(lambda a, p, x, y: a.bitwise_and(x, y)),
    "reduce_or": _reduced(lambda a, p, x, y: a.bitwise_or(x, y)),
    "cumsum": _running(added),
    "cumprod": _running(multiplied),
    "cummax": _running(maximum),
    "cummin": _running(minimum),
    "dot_general": _multiplied_matrices,
}
