"""The load that is the same at all times: a weight, a preload."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from ..._quantity import quantity
from .load import Load, Wave


class ConstantLoad(Load):
    r"""The force $F(t) = F$ of a weight or a preload.

    It has no period of its own: beside loads that have one it leaves theirs as it is, and
    a system with none but constant loads has none.

    **Parameter:** `force` $F$ (N), a scalar. **Raises:** `ValueError` where it is not a
    finite number.

    >>> float(jv.ConstantLoad(9.81).force(2.0))
    9.81
    """

    # Not `force` itself, which is the law's method; on parameter paths it is.
    magnitude: Float[Array, ""] = quantity("force", "N", "constant force")

    constant = True

    def __init__(self, force):
        self.magnitude = force

    def force(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the force, N, at a time, s."""
        return self.magnitude

    def largest(self) -> Float[Array, ""]:
        """Return the force without its sign, N."""
        return jnp.abs(self.magnitude)

    def waves(self) -> tuple[Wave, ...]:
        """Return the force as a wave that does not move."""
        still = jnp.zeros_like(self.magnitude)
        return (Wave(self.magnitude, still, still),)

    def series(self, time, inside, count: int) -> tuple:
        """Return the force, N."""
        return (self.magnitude,)

    def rate(self) -> "ConstantLoad":
        """Return the law of its derivative: 0."""
        return ConstantLoad(jnp.zeros_like(self.magnitude))
