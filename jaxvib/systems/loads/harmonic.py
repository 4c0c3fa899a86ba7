"""Harmonic loads."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from ...foundation.quantity import Quantity, quantity
from .load import ScaledLoad, Wave


class HarmonicLoad(ScaledLoad):
    r"""The force $F(t) = F_0 \cos(\omega t + \varphi_0)$, with period $2\pi/\omega$.

    **Fields:** `amplitude` $F_0$ (N), `frequency` $\omega > 0$ (rad/s), `phase`
    $\varphi_0$ (rad), all scalars. **Raises:** `ValueError` naming a field out of its
    range.

    >>> load = jv.HarmonicLoad(amplitude=500.0, frequency=5.8)
    >>> round(float(load.period()), 5)
    1.08331
    """

    amplitude: Float[Quantity, ""] = quantity("amplitude", "N", "load amplitude F_0")
    frequency: Float[Quantity, ""] = quantity(
        "frequency", "rad/s", "angular frequency of the load", above=0.0
    )
    phase: Float[Quantity, ""] = quantity(
        "phase", "rad", "phase of the load at t = 0", default=0.0
    )

    def force(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the force, N, at a time, s."""
        return self.amplitude * jnp.cos(self.frequency * time + self.phase)

    def period(self) -> Float[Array, ""]:
        """Return the period, s."""
        return 2 * jnp.pi / self.frequency

    def harmonic(self) -> Wave:
        """Return the load as a single harmonic."""
        return Wave(self.amplitude, self.frequency, self.phase)

    def rate(self) -> "HarmonicLoad":
        """Return the law of the time derivative."""
        quarter = self.phase + np.pi / 2
        return HarmonicLoad(self.amplitude * self.frequency, self.frequency, quarter)

    def integral(self) -> "HarmonicLoad":
        """Return the law of the time integral, without a mean."""
        quarter = self.phase - np.pi / 2
        return HarmonicLoad(self.amplitude / self.frequency, self.frequency, quarter)
