"""Lowering of JAX's primitives to LLVM: a table of one function for each.

Numbers that have names are computed at once, and those of long arrays where they are used.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir import elementary, error_function
from ..ir.assembler import Assembler, LoweringError, Value, is_float
from ..ir.expression import Numbers
from .memory_arrays import (
    Argument,
    Computed,
    LongArray,
    Repeated,
    are_whole,
    index_value,
)

# Instructions of an elementary function.
_LONG_FUNCTION = 20


def each(function: Callable[..., Value], *arrays: np.ndarray) -> np.ndarray:
    """Apply a function of numbers elementwise, with broadcasting."""
    shape, *others = [array.shape for array in arrays]
    if all(other == shape for other in others):
        if shape == ():
            return boxed(function(*[array[()] for array in arrays]))
    else:
        shape = np.broadcast_shapes(shape, *others)
        arrays = tuple(np.broadcast_to(array, shape) for array in arrays)
    result = np.empty(shape, object)
    flat = result.reshape(-1)
    for place, numbers in enumerate(zip(*(array.flat for array in arrays), strict=True)):
        flat[place] = function(*numbers)
    return result


def boxed(value: Value) -> np.ndarray:
    """Wrap a number in a 0-d array."""
    result = np.empty((), object)
    result[()] = value
    return result


def elementwise(function: Callable, weight: int = 1) -> Callable:
    """Return the lowering of a function (assembler, parameters, numbers).

    `weight`: about how many instructions it takes.
    """

    def write(lowering, equation, inputs):
        of_numbers = functools.partial(function, lowering.assembler, equation.params)
        if lowering.unrolls:
            return [each(of_numbers, *inputs)]
        aval = equation.outvars[0].aval
        arrays = [_broadcast_to(lowering, array, aval.shape) for array in inputs]
        kind = np.dtype(aval.dtype).name
        return [_computed(lowering.assembler, of_numbers, arrays, aval.shape, kind, weight)]

    return write


def _computed(
    a: Assembler,
    function: Callable[..., Value],
    arrays: Sequence[LongArray],
    shape: tuple[int, ...],
    kind: str,
    weight: int,
) -> Computed:
    """Return a function of arrays, computed number by number where it is used."""

    def number(place):
        read = {id(array): array.at(a, place) for array in arrays}
        return function(*[read[id(array)] for array in arrays])

    def flattened():
        found = {id(array): array.flat() for array in arrays}
        flat = [one for array in arrays if (one := found[id(array)]) is not None]
        if len(flat) < len(arrays):
            return None
        return _computed(a, function, flat, (math.prod(shape),), kind, weight)

    weights = weight + sum(array.weight for array in arrays)
    return Computed(shape, kind, number, weights, flattened)


def _broadcast_to(lowering: Any, array: Any, shape: tuple[int, ...]) -> LongArray:
    array = lowering.long(array, shape)
    if array.shape == shape:
        return array
    array = lowering.stored(array)
    return array.view(np.broadcast_to(array.layout, shape))


def named(write: Callable) -> Callable:
    """Return a lowering that takes all arrays by name."""

    def by_name(lowering, equation, inputs):
        lower = write if lowering.unrolls else type(lowering).by_name
        return lower(lowering, equation, inputs)

    return by_name


def _view(function: Callable) -> Callable:
    """Return the lowering of a rearrangement (layout, parameters, shape).

    No number is moved where strides can say it.
    """

    def write(lowering, equation, inputs):
        parameters, shape = equation.params, equation.outvars[0].aval.shape
        if isinstance(inputs[0], Argument):
            return [inputs[0].view(function(inputs[0].places, parameters, shape))]
        if lowering.unrolls:
            return [as_array(function(inputs[0], parameters, shape))]
        array = lowering.long(inputs[0], shape)
        if isinstance(array, Repeated):
            return [array.of(shape)]
        array = lowering.stored(array)
        layout = function(array.layout, parameters, shape)
        if not array.holds(layout):
            array = lowering.copy(array)
            layout = function(array.layout, parameters, shape)
        return [array.view(layout)]

    return write


def _parts(function: Callable) -> Callable:
    """Return the lowering of a division into parts (layout, parameters)."""

    def write(lowering, equation, inputs):
        array = lowering.stored(inputs[0])
        return [array.view(layout) for layout in function(array.layout, equation.params)]

    return write


def as_array(result: Value | np.ndarray) -> np.ndarray:
    """Return an indexing result as an array."""
    return result if isinstance(result, np.ndarray) else boxed(result)


def put(array: np.ndarray, place: int, values: np.ndarray) -> None:
    """Set the values at an index of an array's first axis."""
    array[place] = values if array.ndim > 1 else as_array(values)[()]


# Elementwise operations.


def maximum(
    a: Assembler, parameters: Mapping, x: Value, y: Value, how: str = "gt"
) -> Value:
    """Return the maximum of two numbers, NaN if any is NaN."""
    if not is_float(x.kind):
        return a.select(a.compare(how, x, y), x, y)
    # NaN propagates; of two zeros the maximum is +0 and the minimum -0.
    chosen = a.select(a.compare(how, x, y), x, y)
    bits = "int64" if x.kind == "float64" else "int32"
    combine = a.bitwise_and if how == "gt" else a.bitwise_or
    zero = a.bitcast(combine(a.bitcast(x, bits), a.bitcast(y, bits)), x.kind)
    chosen = a.select(a.compare("eq", x, y), zero, chosen)
    return a.select(a.compare("ne", x, x), x, chosen)


def minimum(a: Assembler, parameters: Mapping, x: Value, y: Value) -> Value:
    """Return the minimum of two numbers, NaN if any is NaN."""
    return maximum(a, parameters, x, y, "lt")


def _absolute(a, parameters, x):
    if is_float(x.kind):
        return a.intrinsic("fabs", x)
    if x.kind.startswith("u"):
        return x
    return a.select(a.compare("lt", x, a.constant(0, x.kind)), a.negative(x), x)


def _sign(a, parameters, x):
    zero, one = a.constant(0, x.kind), a.constant(1, x.kind)
    below = zero if x.kind.startswith("u") else a.constant(-1, x.kind)
    result = a.select(a.compare("lt", x, zero), below, x)  # zeros and NaN stay
    return a.select(a.compare("gt", x, zero), one, result)


def _rounded(a, parameters, x):
    to_even = int(parameters["rounding_method"]) == 1
    return _whole_part("roundeven" if to_even else "round")(a, parameters, x)


def _whole_part(name: str) -> Callable:
    def write(a, parameters, x):
        # x - floor(x) must lie within [0, 1), so both need the same rounded x.
        x.factors = None
        return a.intrinsic(name, x)

    return write


def _whole_power(a, parameters, x):
    exponent = parameters["y"]
    if exponent == 0:
        return a.constant(1, x.kind)
    result, base, left = None, x, abs(exponent)
    while left:
        if left & 1:
            result = base if result is None else a.multiply(result, base).plain()
        left >>= 1
        if left:
            base = a.multiply(base, base).plain()
    return result if exponent > 0 else a.divide(a.constant(1, x.kind), result)


def _converted(a, parameters, x):
    kind = np.dtype(parameters["new_dtype"]).name
    if not is_float(kind):
        x.factors = None  # as in `_whole_part`
    return a.convert(x, kind)


def _same_bits(a, parameters, x):
    new = np.dtype(parameters["new_dtype"])
    if np.dtype(x.kind).itemsize != new.itemsize:
        raise LoweringError(f"a bitcast of {x.kind} to several {new.name} is not supported")
    return a.bitcast(x, new.name)


def _finite(a, parameters, x):
    return a.compare("lt", a.intrinsic("fabs", x), a.constant(math.inf, x.kind))


def _neighbour(a, parameters, x, y):
    """Return the next float after x towards y."""
    bits = "int64" if x.kind == "float64" else "int32"
    zero, one = a.constant(0, bits), a.constant(1, bits)
    number = a.bitcast(x, bits)
    # The bits of floats are ordered as integers, of negative floats in reverse.
    outward = a.compare("eq", a.compare("gt", y, x), a.compare("ge", number, zero))
    moved = a.bitcast(
        a.select(outward, a.add(number, one), a.subtract(number, one)), x.kind
    )
    least = a.intrinsic("copysign", a.bitcast(one, x.kind), y)
    moved = a.select(a.compare("eq", x, a.constant(0, x.kind)), least, moved)
    moved = a.select(a.compare("eq", x, y), y, moved)
    ordered = a.bitwise_and(a.compare("eq", x, x), a.compare("eq", y, y))
    return a.select(ordered, moved, a.constant(math.nan, x.kind))


def multiplied(a: Assembler, parameters: Mapping, x: Value, y: Value) -> Value:
    """Return x y, of booleans whether both are true."""
    return a.bitwise_and(x, y) if x.kind == "bool" else a.multiply(x, y)


def added(a: Assembler, parameters: Mapping, x: Value, y: Value) -> Value:
    """Return x + y, of booleans whether one is true."""
    return a.bitwise_or(x, y) if x.kind == "bool" else a.add(x, y)


def _subtracted(a, parameters, x, y):
    if x.factors and y.factors and _names(x) == _names(y):
        return a.subtract(x.plain(), y.plain())  # 0, not the product's rounding error
    return a.subtract(x, y)


def _names(product: Value) -> set[str]:
    return {factor.name for factor in product.factors or ()}


def compared(how: str) -> Callable:
    """Return the function of a comparison: `lt`, `eq`, ..."""

    def write(a, parameters, x, y):
        if x.kind == "bool":  # compared as 0 and 1
            x, y = a.convert(x, "uint8"), a.convert(y, "uint8")
        return a.compare(how, x, y)

    return write


def _shifted(how: str) -> Callable:
    return lambda a, parameters, x, y: a.shift(how, x, y)


def _chosen(a, parameters, which, *cases):
    result = cases[0]
    for number, case in enumerate(cases[1:], 1):
        bound = a.constant(number, which.kind)
        here = which if which.kind == "bool" else a.compare("ge", which, bound)
        result = a.select(here, case, result)
    return result


def _elementary(function: Callable[..., Numbers]) -> Callable:
    def write(a, parameters, *x):
        kind = x[0].kind
        numbers = [Numbers(a, a.convert(one.plain(), "float64")) for one in x]
        return a.convert(function(*numbers).value.plain(), kind)

    return elementwise(write, _LONG_FUNCTION)


# Shapes.


def _broadcast(layout, parameters, shape):
    spread = [1] * len(shape)
    for axis, dimension in enumerate(parameters["broadcast_dimensions"]):
        spread[dimension] = layout.shape[axis]
    return np.broadcast_to(layout.reshape(spread), shape)


def _sliced(layout, parameters, shape):
    strides = parameters["strides"] or (1,) * layout.ndim
    bounds = zip(
        parameters["start_indices"], parameters["limit_indices"], strides, strict=True
    )
    return layout[tuple(slice(*bound) for bound in bounds)]


def _unstacked(layout, parameters):
    parts = np.moveaxis(layout, parameters.get("axis", 0), 0)
    return [parts[k, ...] for k in range(parts.shape[0])]


def _split(layout, parameters):
    ends = np.cumsum(parameters["sizes"])[:-1]
    return np.split(layout, ends, parameters["axis"])


def _joined(lowering, equation, inputs):
    """Lower `concatenate` and `stack`."""
    parameters, aval = equation.params, equation.outvars[0].aval
    target = lowering.new(aval.shape, np.dtype(aval.dtype).name)
    stacked = equation.primitive.name == "stack"
    axis = parameters.get("axis", 0) if stacked else parameters["dimension"]
    if axis == 0 and not stacked and are_whole(inputs):
        return [inputs[0].joined(inputs[1:])]
    front, first = np.moveaxis(target.layout, axis, 0), 0
    for array in inputs:
        length = 1 if stacked else array.shape[axis]
        part = np.moveaxis(front[first : first + length], 0, axis)
        layout = part.reshape(array.shape) if stacked else part
        lowering.fill(target.view(layout), array)
        first += length
    return [target]


def _counted(lowering, equation, inputs):
    """Lower `iota`: each number is its index along an axis."""
    a, axis = lowering.assembler, equation.params["dimension"]
    aval = equation.outvars[0].aval
    kind = np.dtype(aval.dtype).name
    if lowering.unrolls:
        return [lowering.array(np.indices(aval.shape)[axis].astype(kind))]

    def number(place):
        return a.convert(index_value(a, place[axis]), kind)

    return [Computed(aval.shape, kind, number, weight=2)]


def _empty(lowering, equation, inputs):
    """Lower `empty`, the unset values of a branch not taken: zeros here."""
    kept = equation.outvars[0].aval
    return [lowering.array(np.zeros(kept.shape, kept.dtype))]


def _unchanged(lowering, equation, inputs):
    return inputs[: len(equation.outvars)]


VIEWS = {
    "broadcast_in_dim": _view(_broadcast),
    "reshape": _view(lambda x, p, shape: x.reshape(shape)),
    "squeeze": _view(lambda x, p, shape: x.reshape(shape)),
    "expand_dims": _view(lambda x, p, shape: x.reshape(shape)),
    "transpose": _view(lambda x, p, shape: np.transpose(x, p["permutation"])),
    "rev": _view(lambda x, p, shape: np.flip(x, p["dimensions"])),
    "slice": _view(_sliced),
}


TABLE: dict[str, Callable] = {
    # arithmetic
    "add": elementwise(added),
    "add_any": elementwise(added),
    "sub": elementwise(_subtracted),
    "mul": elementwise(multiplied),
    "div": elementwise(lambda a, p, x, y: a.divide(x, y)),
    "rem": elementwise(lambda a, p, x, y: a.remainder(x, y)),
    "neg": elementwise(lambda a, p, x: a.negative(x)),
    "square": elementwise(lambda a, p, x: a.multiply(x, x)),
    "integer_pow": elementwise(_whole_power),
    "sqrt": elementwise(lambda a, p, x: a.intrinsic("sqrt", x)),
    "rsqrt": elementwise(
        lambda a, p, x: a.divide(a.constant(1, x.kind), a.intrinsic("sqrt", x))
    ),
    "abs": elementwise(_absolute),
    "sign": elementwise(_sign),
    "max": elementwise(maximum),
    "min": elementwise(minimum),
    "clamp": elementwise(
        lambda a, p, low, x, high: minimum(a, p, maximum(a, p, x, low), high)
    ),
    "floor": elementwise(_whole_part("floor")),
    "ceil": elementwise(_whole_part("ceil")),
    "round": elementwise(_rounded),
    "nextafter": elementwise(_neighbour),
    "is_finite": elementwise(_finite),
    "convert_element_type": elementwise(_converted),
    "bitcast_convert_type": elementwise(_same_bits),
    **{name: _elementary(function) for name, function in elementary.FUNCTIONS.items()},
    **{name: _elementary(function) for name, function in error_function.FUNCTIONS.items()},
    # logic
    **{how: elementwise(compared(how)) for how in ("eq", "ne", "lt", "le", "gt", "ge")},
    "and": elementwise(lambda a, p, x, y: a.bitwise_and(x, y)),
    "or": elementwise(lambda a, p, x, y: a.bitwise_or(x, y)),
    "xor": elementwise(lambda a, p, x, y: a.bitwise_xor(x, y)),
    "not": elementwise(lambda a, p, x: a.bitwise_not(x)),
    "shift_left": elementwise(_shifted("shl")),
    "shift_right_logical": elementwise(_shifted("lshr")),
    "shift_right_arithmetic": elementwise(_shifted("ashr")),
    "select_n": elementwise(_chosen),
    # nothing
    "copy": _unchanged,
    "copy_p": _unchanged,
    "device_put": _unchanged,
    "stop_gradient": _unchanged,
    "optimization_barrier": _unchanged,
    "nonbatchable": _unchanged,  # equinox's
    "select_if_vmap": lambda lowering, equation, inputs: [inputs[1]],
    # shapes
    **VIEWS,
    "concatenate": _joined,
    "stack": _joined,
    "unstack": _parts(_unstacked),
    "split": _parts(_split),
    "iota": _counted,
    "empty": _empty,
    "empty2": _empty,
}
