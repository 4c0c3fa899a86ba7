"""Lowering of sorting, argmin, argmax and the total order of floats."""

from collections.abc import Callable

import numpy as np

from ..ir.assembler import is_float
from .primitives import as_array, compared, each, elementwise, named, put


def _extreme_place(how: str) -> Callable:
    def write(lowering, equation, inputs):
        a, (array,), parameters = lowering.assembler, inputs, equation.params
        (axis,) = parameters["axes"]
        front = np.moveaxis(array, axis, 0)
        kind = np.dtype(parameters["index_dtype"]).name
        best = as_array(front[0])
        place = each(lambda x: a.constant(0, kind), best)
        for k in range(1, front.shape[0]):
            new = as_array(front[k])

            def better(x, y):
                ahead = a.compare(how, x, y)
                if not is_float(x.kind):
                    return ahead
                nan = a.bitwise_and(a.compare("ne", x, x), a.compare("eq", y, y))
                return a.bitwise_or(a.bitwise_and(ahead, a.compare("eq", y, y)), nan)

            ahead = each(better, new, best)
            best = each(a.select, ahead, new, best)
            here = each(lambda x, k=k: a.constant(k, kind), best)
            place = each(a.select, ahead, here, place)
        return [place]

    return write


def _sorted(lowering, equation, inputs):
    a, parameters = lowering.assembler, equation.params
    axis, keys = parameters["dimension"], parameters["num_keys"]
    fronts = [np.moveaxis(array, axis, 0).copy() for array in inputs]
    length = fronts[0].shape[0]
    # Insertion sort: stable, and the arrays are small.
    for end in range(1, length):
        for k in range(end, 0, -1):
            before = [as_array(front[k - 1]).copy() for front in fronts]
            heads = [as_array(front[k]) for front in fronts]
            swap = _precedes(a, heads[:keys], before[:keys])
            for front, old, new in zip(fronts, before, heads, strict=True):
                put(front, k - 1, each(a.select, swap, new, old))
                put(front, k, each(a.select, swap, old, new))
    return [np.moveaxis(front, 0, axis) for front in fronts]


def _precedes(a, left, right) -> np.ndarray:
    """Return whether the keys on the left precede, in lexicographic order."""
    result = each(lambda x: a.constant(False, "bool"), left[0])
    same = each(lambda x: a.constant(True, "bool"), left[0])
    for x, y in zip(left, right, strict=True):
        less = each(lambda u, v: _less_in_order(a, u, v), x, y)
        more = each(lambda u, v: _less_in_order(a, v, u), x, y)
        result = each(a.bitwise_or, result, each(a.bitwise_and, same, less))
        same = each(
            a.bitwise_and, same, each(a.bitwise_not, each(a.bitwise_or, less, more))
        )
    return result


def _less_in_order(a, x, y):
    less = a.compare("lt", x, y)
    if is_float(x.kind):  # NaN comes last
        less = a.bitwise_or(
            less, a.bitwise_and(a.compare("eq", x, x), a.compare("ne", y, y))
        )
    return less


def _in_total_order(how: str) -> Callable:
    """Return the lowering of a comparison that distinguishes -0 from 0 and NaNs."""
    plain = compared(how)

    def write(a, parameters, x, y):
        if not is_float(x.kind):
            return plain(a, parameters, x, y)
        return a.compare(how, *(_place_in_order(a, number) for number in (x, y)))

    return elementwise(write)


def _place_in_order(a, x):
    """Map a float's bits to an integer in the total order."""
    kind = "int64" if x.kind == "float64" else "int32"
    bits = a.bitcast(x, kind)
    size = np.dtype(kind).itemsize * 8
    negative = a.shift("ashr", bits, a.constant(size - 1, kind))
    return a.bitwise_xor(bits, a.shift("lshr", negative, a.constant(1, kind)))


TABLE: dict[str, Callable] = {
    **{f"{how}_to": _in_total_order(how) for how in ("eq", "le", "lt")},
    "argmax": named(_extreme_place("gt")),
    "argmin": named(_extreme_place("lt")),
    "sort": named(_sorted),
}
