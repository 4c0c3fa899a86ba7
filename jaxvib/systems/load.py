"""Loads: forces that depend on time alone."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from .._quantity import quantity
from .printed import Printed


class HarmonicLoad(Printed):
    r"""The force $F(t) = F_0 \cos(\omega t + \varphi_0)$, with period $2\pi/\omega$.

    **Fields:** `amplitude` $F_0$ (N), `frequency` $\omega > 0$ (rad/s), `phase`
    $\varphi_0$ (rad), all scalars. **Raises:** `ValueError` naming a field out of its
    range.
    """

    amplitude: Float[Array, ""] = quantity("amplitude", "N", "load amplitude F_0")
    frequency: Float[Array, ""] = quantity(
        "frequency", "rad/s", "angular frequency of the load", above=0.0
    )
    phase: Float[Array, ""] = quantity(
        "phase", "rad", "phase of the load at t = 0", default=0.0
    )

    def force(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the force, N, at a time, s."""
        return self.amplitude * jnp.cos(self.frequency * time + self.phase)

    def period(self) -> Float[Array, ""]:
        """Return the period, s."""
        return 2 * jnp.pi / self.frequency
