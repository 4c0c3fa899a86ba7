"""Constant loads."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ...foundation.quantity import Quantity, quantity
from ...foundation.types import Number
from .load import Load, Wave


class ConstantLoad(Load):
    r"""The constant force $F(t) = F$ of a weight or a preload.

    It has no period, and does not affect the common period of other loads; a system
    with constant loads only has no period.

    **Parameter:** `force` $F$ (N), a scalar. **Raises:** `ValueError` if it is not a
    finite number.

    >>> float(jv.ConstantLoad(9.81).force(2.0))
    9.81
    """

    # `force` is the law's method; on parameter paths the name is `force`.
    magnitude: Float[Quantity, ""] = quantity("force", "N", "constant force")

    constant = True

    def __init__(self, force: Real[ArrayLike, ""]):
        self.magnitude = force

    def largest(self) -> Float[Array, ""]:
        """Return the absolute force, N."""
        return jnp.abs(self.magnitude)

    def waves(self) -> tuple[Wave, ...]:
        """Return the force as a wave of zero frequency."""
        still = jnp.zeros_like(self.magnitude)
        return (Wave(self.magnitude, still, still),)

    def series(self, time: Number, inside: Number, count: int) -> tuple[Any, ...]:
        """Return the force, N."""
        return (self.magnitude,)

    def rate(self) -> "ConstantLoad":
        """Return the law of the derivative: 0."""
        return ConstantLoad(jnp.zeros_like(self.magnitude))
