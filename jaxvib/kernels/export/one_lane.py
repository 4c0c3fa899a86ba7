"""Tracing of a function of one lane for example arguments, for other machines."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from ...foundation.arrays import is_concrete
from ..ir.assembler import LoweringError
from ..lower.cost_estimate import needs_memory
from ..lower.lowering import Program, lower_lanes, trace
from ..lower.memory_lowering import lower_lanes_in_memory


def traced_for(function: Callable, arguments: tuple) -> tuple[Any, ClosedJaxpr, Any]:
    """Return the arrays among the arguments, the jaxpr, and the results' shapes."""
    numbers, others = eqx.partition(arguments, eqx.is_array_like)
    shapes = jax.tree.map(_shape, numbers)
    leaves, tree = jax.tree.flatten(shapes)

    def flat(*leaves):
        return function(*eqx.combine(jax.tree.unflatten(tree, leaves), others))

    if not leaves:
        raise LoweringError("it takes no arrays")
    closed, results = trace(flat, leaves)
    if not closed.jaxpr.outvars:
        raise LoweringError("it returns no arrays")
    if not is_concrete(closed.consts):
        raise LoweringError("it captures traced values")
    return shapes, closed, results


def lowered(closed: ClosedJaxpr, width: int) -> Program:
    """Lower to vectors of lanes, or with long arrays in memory to vectors along these."""
    lower = lower_lanes_in_memory if needs_memory(closed) else lower_lanes
    return lower(closed, width)


def _shape(number: Any) -> jax.ShapeDtypeStruct:
    dtype = jax.dtypes.canonicalize_dtype(jnp.result_type(number))
    return jax.ShapeDtypeStruct(np.shape(number), dtype)
