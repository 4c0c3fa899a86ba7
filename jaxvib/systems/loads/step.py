"""Step and ramp loads."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.quantity import Quantity, quantity
from ...foundation.types import Number
from .load import ScaledLoad, first_after


class StepLoad(ScaledLoad):
    r"""A step force: $F$ from time $t_s$ on, 0 before.

    **Fields:** `amplitude` $F$ (N), `start` $t_s$ (s). **Raises:** `ValueError` naming a
    field that is not a finite number.

    >>> load = jv.StepLoad(amplitude=10.0, start=1.0)
    >>> float(load.force(0.5)), float(load.force(1.5))
    (0.0, 10.0)
    """

    amplitude: Float[Quantity, ""] = quantity("amplitude", "N", "force after the step")
    start: Float[Quantity, ""] = quantity("start", "s", "time of the step", default=0.0)

    repeats = False
    breaks = True

    def series(self, time: Number, inside: Number, count: int) -> tuple[Any, ...]:
        """Return the force, N, see `Load.series`."""
        return (jnp.where(inside >= self.start, self.amplitude, 0.0),)

    def next_breakpoint(self, time: Number) -> Float[Array, ""]:
        """Return the time of the step, s; inf if it is past."""
        return first_after(time, self.start[None])


class RampLoad(ScaledLoad):
    r"""A ramp force: $F (t - t_s)/d$ for a duration $d$, 0 before and $F$ after it.

    **Fields:** `amplitude` $F$ (N), `start` $t_s$ (s), `duration` $d > 0$ (s).
    **Raises:** `ValueError` naming a field out of its range.

    >>> float(jv.RampLoad(amplitude=10.0, start=1.0, duration=2.0).force(2.0))
    5.0
    """

    amplitude: Float[Quantity, ""] = quantity("amplitude", "N", "force after the ramp")
    start: Float[Quantity, ""] = quantity("start", "s", "time at which the ramp starts")
    duration: Float[Quantity, ""] = quantity(
        "duration", "s", "duration of the ramp", above=0.0
    )

    repeats = False
    breaks = True

    def angular_frequency(self) -> Float[Array, ""]:
        """Return the angular frequency of the half sine of this duration, rad/s."""
        return jnp.pi / self.duration

    def series(self, time: Number, inside: Number, count: int) -> tuple[Any, ...]:
        """Return the force, N, and its rate, see `Load.series`."""
        slope = self.amplitude / self.duration
        after = inside >= self.start + self.duration
        rises = (inside >= self.start) & ~after
        level = jnp.where(after, self.amplitude, 0.0)
        value = jnp.where(rises, slope * (time - self.start), level)
        return (value, jnp.where(rises, slope, 0.0))[:count]

    def next_breakpoint(self, time: Number) -> Float[Array, ""]:
        """Return the next start or end of the ramp, s; inf if there is none."""
        return first_after(time, self.start + self.duration * jnp.array([0.0, 1.0]))
