"""Chirp loads: linear frequency sweeps."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.quantity import Quantity, quantity
from ...foundation.types import Number
from .load import ScaledLoad, first_after


class ChirpLoad(ScaledLoad):
    r"""A linear frequency sweep of duration $d$.

    $$F(t) = A \cos\left(\omega_1 s + \frac{\omega_2 - \omega_1}{2d} s^2 + \varphi\right),
      \qquad s = t - t_s \in [0, d),$$

    and 0 outside. **Fields:** `amplitude` $A$ (N), `first_frequency` $\omega_1$,
    `last_frequency` $\omega_2$ (rad/s, both above 0), `duration` $d > 0$ (s), `start`
    $t_s$ (s), `phase` $\varphi$ (rad). **Raises:** `ValueError` naming a field out of its
    range.

    >>> chirp = jv.ChirpLoad(1.0, first_frequency=2.0, last_frequency=20.0, duration=10.0)
    >>> float(chirp.force(0.0))
    1.0
    """

    amplitude: Float[Quantity, ""] = quantity("amplitude", "N", "amplitude of the sweep")
    first_frequency: Float[Quantity, ""] = quantity(
        "first_frequency", "rad/s", "angular frequency at the start", above=0.0
    )
    last_frequency: Float[Quantity, ""] = quantity(
        "last_frequency", "rad/s", "angular frequency at the end", above=0.0
    )
    duration: Float[Quantity, ""] = quantity(
        "duration", "s", "duration of the sweep", above=0.0
    )
    start: Float[Quantity, ""] = quantity(
        "start", "s", "time at which the sweep starts", default=0.0
    )
    phase: Float[Quantity, ""] = quantity("phase", "rad", "phase at the start", default=0.0)

    repeats = False
    breaks = True
    pulses = True

    def angular_frequency(self) -> Float[Array, ""]:
        """Return the lower of the two frequencies, rad/s."""
        return jnp.minimum(self.first_frequency, self.last_frequency)

    def highest_angular_frequency(self) -> Float[Array, ""]:
        """Return the higher of the two frequencies, rad/s."""
        return jnp.maximum(self.first_frequency, self.last_frequency)

    def series(self, time: Number, inside: Number, count: int) -> tuple:
        r"""Return the Taylor coefficients of the force, see `Load.series`.

        The coefficients of the cosine and sine of the phase $a_0 + a_1 h + a_2 h^2$
        follow from $\dot c = -(a_1 + 2 a_2 h) s$, $\dot s = (a_1 + 2 a_2 h) c$.
        """
        passed = time - self.start
        growth = (self.last_frequency - self.first_frequency) / self.duration
        angle = self.phase + self.first_frequency * passed + growth * passed**2 / 2
        rate = self.first_frequency + growth * passed
        within = (inside >= self.start) & (inside < self.start + self.duration)
        height = jnp.where(within, self.amplitude, 0.0)
        cosines, sines = [height * jnp.cos(angle)], [height * jnp.sin(angle)]
        for k in range(count - 1):
            share = 1 / (k + 1)
            before = (cosines[k - 1], sines[k - 1]) if k else (0.0, 0.0)
            cosine = -share * (rate * sines[k] + growth * before[1])
            sine = share * (rate * cosines[k] + growth * before[0])
            cosines.append(cosine)
            sines.append(sine)
        return tuple(cosines)

    def next_breakpoint(self, time: Number) -> Float[Array, ""]:
        """Return the next start or end of the sweep, s; inf if there is none."""
        return first_after(time, self.start + self.duration * jnp.array([0.0, 1.0]))
