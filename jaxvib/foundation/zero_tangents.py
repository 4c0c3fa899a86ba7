"""Tangents that are zero, in custom derivative rules."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero


def is_zero(tangent: object) -> bool:
    """Return whether a tangent is symbolically zero."""
    return isinstance(tangent, SymbolicZero)


def symbolic_zero(value: Any) -> SymbolicZero:
    """Return the symbolic zero tangent of a value."""
    return SymbolicZero(jax.typeof(value).to_tangent_aval())


def zero_tangent(value: Any) -> Any:
    """Return a zero tangent of a value, an array; float0 for integers."""
    if jnp.issubdtype(value.dtype, jnp.inexact):
        return jnp.zeros_like(value)
    return np.zeros(value.shape, jax.dtypes.float0)
