"""Single and periodic pulses."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...foundation.arrays import host_namespace, is_concrete
from ...foundation.quantity import OptionalQuantity, Quantity, quantity
from ...foundation.suggestions import did_you_mean
from ...foundation.types import Number
from .load import ScaledLoad, first_after


class _Shape(NamedTuple):
    """A pulse of height 1 for x from 0 to 1, and its breaks.

    `series(x, inside, rate, count)`: the Taylor coefficients in time, where x grows at
    `rate`, of the piece that contains `inside`.
    """

    series: Callable
    breaks: tuple[float, ...]


def _half_sine(x, inside, rate, count: int):
    frequency = jnp.pi * rate
    sine, cosine = jnp.sin(jnp.pi * x), jnp.cos(jnp.pi * x)
    turned, found, scale = (sine, cosine, -sine, -cosine), [], jnp.ones_like(frequency)
    for k in range(count):
        found.append(scale * turned[k % 4])
        scale = scale * frequency * (1 / (k + 1))
    return tuple(found)


def _rectangle(x, inside, rate, count: int):
    return (jnp.ones_like(x),)


def _triangle(x, inside, rate, count: int):
    rising = inside < 0.5
    return jnp.where(rising, 2 * x, 2 - 2 * x), jnp.where(rising, 2 * rate, -2 * rate)


SHAPES = {
    "half_sine": _Shape(_half_sine, (0.0, 1.0)),
    "rectangle": _Shape(_rectangle, (0.0, 1.0)),
    "triangle": _Shape(_triangle, (0.0, 0.5, 1.0)),
}


class PulseLoad(ScaledLoad):
    r"""A pulse of height $A$ from time $t_s$, of duration $d$.

    With $x = (t - t_s)/d$ in $[0, 1)$, and 0 outside, it is $A \sin \pi x$
    ("half_sine"), $A$ ("rectangle") or $A (1 - |2x - 1|)$ ("triangle"). With `every` it
    is periodic with that period, for all times.

    **Fields:** `shape`; `amplitude` $A$ (N), `start` $t_s$ (s), `duration` $d > 0$ (s),
    `every` $\ge d$ (s) or None for one pulse. **Raises:** `ValueError` naming a field out
    of its range. Traced pulses that overlap are NaN.

    >>> pulse = jv.PulseLoad("half_sine", amplitude=10.0, start=0.0, duration=0.2)
    >>> float(pulse.force(0.1))
    10.0
    """

    shape: str = eqx.field(static=True)
    amplitude: Float[Quantity, ""] = quantity("amplitude", "N", "height of the pulse")
    start: Float[Quantity, ""] = quantity("start", "s", "time at which the pulse starts")
    duration: Float[Quantity, ""] = quantity(
        "duration", "s", "duration of the pulse", above=0.0
    )
    every: OptionalQuantity[Float[Array, ""]] = quantity(
        "every", "s", "period of the pulses", optional=True, above=0.0
    )

    breaks = True

    def __check_init__(self) -> None:
        if self.shape not in SHAPES:
            hint = did_you_mean(self.shape, SHAPES)
            raise ValueError(f"shape = {self.shape!r}; allowed: {', '.join(SHAPES)}{hint}")
        times = self.every, self.duration
        if self.every is None or not is_concrete(times):
            return
        if self.contradicts():
            raise ValueError(
                f"every = {float(self.every):g} s is less than duration = "
                f"{float(self.duration):g} s; allowed: pulses that do not overlap"
            )

    def contradicts(self) -> Any:
        """Return whether pulses overlap, of one or of a batch."""
        every = np.inf if self.every is None else self.every
        return host_namespace(every, self.duration).less(every, self.duration)

    @property
    def repeats(self) -> bool:
        """Whether the pulse is periodic."""
        return self.every is not None

    def period(self) -> Float[Array, ""]:
        """Return the period, s; infinite for a single pulse."""
        return jnp.asarray(jnp.inf) if self.every is None else self.every

    def angular_frequency(self) -> Float[Array, ""]:
        """Return the angular frequency of the half sine of this duration, rad/s."""
        return jnp.pi / self.duration

    def series(self, time: Number, inside: Number, count: int) -> tuple[Any, ...]:
        """Return the Taylor coefficients of the force, see `Load.series`."""
        start = self._start_before(inside)
        x, within = (time - start) / self.duration, (inside - start) / self.duration
        height = jnp.where((within >= 0) & (within < 1), self._height(), 0.0)
        terms = SHAPES[self.shape].series(x, within, 1 / self.duration, count)
        return tuple(height * term for term in terms[:count])

    def next_breakpoint(self, time: Number) -> Float[Array, ""]:
        """Return the next start or end of a pulse or of a part of it, s."""
        parts = jnp.asarray(SHAPES[self.shape].breaks, self.duration.dtype)
        start = self._start_before(time)
        starts = start[None] if self.every is None else start + self.every * _NEAR
        places = starts[:, None] + self.duration * parts[None]
        return first_after(time, places.reshape(-1))

    def _start_before(self, time) -> Any:
        """Return the start of the latest pulse, s."""
        if self.every is None:
            return self.start
        number = jnp.floor((time - self.start) / self.every)
        return self.start + jax.lax.stop_gradient(number) * self.every

    def _height(self):
        if self.every is None:
            return self.amplitude
        return jnp.where(self.every >= self.duration, self.amplitude, jnp.nan)


_NEAR = np.array([-1.0, 0.0, 1.0])  # the previous, present and next pulse
