"""Lowering of JAX's primitives to loops over arrays in memory."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir import elementary, error_function
from . import ordering, primitives
from .memory_arrays import (
    Computed,
    LongArray,
    Repeated,
    index_value,
)
from .primitives import boxed

_ELEMENTWISE = {**primitives.ELEMENTWISE, **ordering.ELEMENTWISE}
_ELEMENTARY = (*elementary.FUNCTIONS, *error_function.FUNCTIONS)
# Rearrangements, which emit nothing.
VIEWS = ("reshape", "squeeze", "expand_dims", "transpose", "rev", "slice")
# Instructions of an elementary function.
_LONG_FUNCTION = 20


def _elementwise(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Return an array that is computed number by number where it is used."""
    a, name = lowering.assembler, equation.primitive.name
    aval = equation.outvars[0].aval
    write = _ELEMENTWISE[name]
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


def _counted(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower `iota`: each number is its index along an axis."""
    a, axis = lowering.assembler, equation.params["dimension"]
    aval = equation.outvars[0].aval
    kind = np.dtype(aval.dtype).name

    def number(place):
        return a.convert(index_value(a, place[axis]), kind)

    return [Computed(aval.shape, kind, number, weight=2)]


TABLE: dict[str, Callable] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **primitives.UNCHANGED,
    **dict.fromkeys(VIEWS, _rearranged),
    "broadcast_in_dim": _rearranged,
    "split": _parts,
    "unstack": _parts,
    "concatenate": _joined,
    "stack": _joined,
    "iota": _counted,
    "empty": primitives.TABLE["empty"],
    "empty2": primitives.TABLE["empty2"],
}
