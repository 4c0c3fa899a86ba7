"""The reason code of a motion in modes."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from ...ensemble import Reason


def reason_code(final: Array, finite: Array, stops: Array) -> Int[Array, ""]:
    """Return the reason code of a motion that `stops` before its end, or not."""
    good = jnp.all(jnp.isfinite(final))
    code = jnp.where(stops, Reason.STEP_LIMIT, Reason.SUCCESS)
    code = jnp.where(good, code, Reason.STEP_UNDERFLOW)
    return jnp.where(finite, code, Reason.BAD_PARAMETER).astype(jnp.int32)


def is_finite(array: Array) -> Array:
    """Return whether all numbers are finite, along columns first: in vectors."""
    finite = jnp.isfinite(array)
    return jnp.all(jnp.all(finite, axis=0) if array.ndim > 1 else finite)
