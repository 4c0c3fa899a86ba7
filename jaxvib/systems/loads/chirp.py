"""The load whose frequency sweeps."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from ..._quantity import quantity
from .load import Load, first_after


class ChirpLoad(Load):
    r"""A force whose frequency goes from one to another in a duration $d$, linearly.

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

    amplitude: Float[Array, ""] = quantity("amplitude", "N", "amplitude of the sweep")
    first_frequency: Float[Array, ""] = quantity(
        "first_frequency", "rad/s", "angular frequency at the start", above=0.0
    )
    last_frequency: Float[Array, ""] = quantity(
        "last_frequency", "rad/s", "angular frequency at the end", above=0.0
    )
    duration: Float[Array, ""] = quantity(
        "duration", "s", "duration of the sweep", above=0.0
    )
    start: Float[Array, ""] = quantity(
        "start", "s", "time at which the sweep starts", default=0.0
    )
    phase: Float[Array, ""] = quantity("phase", "rad", "phase at the start", default=0.0)

    repeats = False
    breaks = True
    pulses = True

    def force(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the force, N, at a time, s."""
        return self.series(time, time, 1)[0]

    def largest(self) -> Float[Array, ""]:
        """Return the amplitude without its sign, N."""
        return jnp.abs(self.amplitude)

    def pace(self) -> Float[Array, ""]:
        """Return the lower one of the two frequencies, rad/s."""
        return jnp.minimum(self.first_frequency, self.last_frequency)

    def fastest(self) -> Float[Array, ""]:
        """Return the higher one of the two frequencies, rad/s."""
        return jnp.maximum(self.first_frequency, self.last_frequency)

    def series(self, time, inside, count: int) -> tuple:
        r"""Return the coefficients of the force about a time, see `Load.series`.

        With the angle $a_0 + a_1 h + a_2 h^2$, those of its cosine and sine follow from
        $\dot c = -(a_1 + 2 a_2 h) s$, $\dot s = (a_1 + 2 a_2 h) c$.
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

    def next_break(self, time) -> Float[Array, ""]:
        """Return when the sweep starts or ends, s, while that lies ahead."""
        return first_after(time, self.start + self.duration * jnp.array([0.0, 1.0]))
