"""Results that take the place of an array which is not used any more.

A program in memory stores each new array beside the old one, and copies what a loop
carries before it and after each iteration. Of large arrays of which few rows change that
takes longer than the changes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend import core
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array

from .memory_arrays import Stored


def in_place_of(old: Array, new: Array) -> Array:
    """Return `new`, in the memory of `old` if the program's arrays are in memory.

    `old` and whatever is a part of it must not be used afterwards. A row of a `scan`
    that is replaced so, as a result of the scan, replaces the whole array row by row.
    """
    return _IN_PLACE.bind(old, new)


def given_up(tree: Any) -> Any:
    """Return arrays that are not used by other names any more.

    A loop that begins with them carries them in their own memory.
    """
    return jax.tree.map(_GIVEN_UP.bind, tree)


def _last(name: str) -> core.Primitive:
    """Return a primitive that returns its last argument."""
    primitive = core.Primitive(name)

    def last(*arrays):
        return arrays[-1]

    def slope(primals, tangents):
        return primitive.bind(*primals), tangents[-1]

    def mapped(arrays, axes):
        return arrays[-1], axes[-1]

    primitive.def_abstract_eval(last)
    primitive.def_impl(last)
    mlir.register_lowering(primitive, mlir.lower_fun(last, multiple_results=False))
    ad.primitive_jvps[primitive] = slope
    batching.primitive_batchers[primitive] = mapped
    return primitive


_IN_PLACE, _GIVEN_UP = _last("in_place_of"), _last("given_up")


def _in_place(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower `in_place_of`: store an array in the memory of another."""
    old, new = inputs
    if not isinstance(old, Stored) or not old.memory.is_own:
        return [new]
    # It may be computed from others of the old one's numbers.
    new = lowering.kept(new)
    lowering.replace(old, new)
    return [old]


def _given_up(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower `given_up`: the array may be replaced where it is."""
    (array,) = inputs
    if isinstance(array, Stored) and array.memory.is_own:
        array = array.view(array.layout)
        array.given_up = True
    return [array]


TABLE: dict[str, Callable] = {"in_place_of": _in_place, "given_up": _given_up}
