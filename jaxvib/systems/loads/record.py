"""Measured loads, interpolated linearly or by cubics."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...foundation.arrays import host_namespace, is_concrete
from ...foundation.quantity import Quantity, quantity
from ...foundation.types import Number
from .load import Load
from .pieces import RecordPieces

_CLOSED = 1e-9  # of the largest value: tolerated gap between the ends of a period


class RecordLoad(Load):
    r"""A force given by `values` at `times`, with linear or cubic interpolation.

    With $h$, $d$ the length and the slope of the chord of a piece, and $m_0$, $m_1$ the
    slopes at its ends, a cubic piece is, at $s$ after its start,

    $$F = F_0 + m_0 s + \frac{3d - 2m_0 - m_1}{h} s^2 + \frac{m_0 + m_1 - 2d}{h^2} s^3,$$

    Hermite's, with the slopes of the parabola through a point and its neighbours:
    $C^1$, and exact for parabolas. The force is 0 before the first time and from the
    last one on; a `periodic` record is repeated for all times, and its last value must
    equal the first.

    **Fields:** `times` (s), ascending, and `values` (N), both of shape (n,), n >= 2;
    `periodic`; `interpolation`: "linear" or "cubic"; `scale`: a scale factor of the values,
    such as the intensity of an earthquake or the stiffness under a road. **Raises:**
    `ValueError` for shapes that differ, times that do not ascend, a periodic record
    with unequal ends, or another interpolation. **Source:** de Boor, *A Practical Guide
    to Splines* (2001), chapter IV (cubic Bessel interpolation).

    >>> record = jv.RecordLoad(times=[0.0, 1.0, 2.0], values=[0.0, 4.0, 0.0])
    >>> float(record.force(0.5))
    2.0
    """

    times: Float[Quantity, " n"] = quantity("times", "s", "times of the record")
    values: Float[Quantity, " n"] = quantity("values", "N", "forces of the record")
    periodic: bool = eqx.field(static=True, default=False)
    interpolation: str = eqx.field(static=True, default="linear")
    scale: Float[Quantity, ""] = quantity(
        "scale", "", "scale factor of the values", default=1.0
    )

    breaks = True
    linear_fields: ClassVar[tuple[str, ...]] = ("values",)

    def __check_init__(self) -> None:
        if self.interpolation not in ("linear", "cubic"):
            raise ValueError(
                f"interpolation = {self.interpolation!r}; allowed: linear, cubic"
            )
        shapes = jnp.shape(self.times), jnp.shape(self.values)
        if shapes[0] != shapes[1] or len(shapes[0]) != 1 or shapes[0][0] < 2:
            raise ValueError(
                f"times and values have shapes {shapes[0]} and {shapes[1]}; allowed: one "
                "shape (n,) for both, two or more"
            )
        if not is_concrete(self.times, self.values):
            return
        times, values = np.asarray(self.times), np.asarray(self.values)
        if np.any(_falls(times)):
            place = int(np.argmin(np.diff(times) > 0))
            raise ValueError(
                f"times = {times[place]:g}, {times[place + 1]:g} s do not ascend; "
                "allowed: ascending times"
            )
        if self.contradicts():
            raise ValueError(
                f"values of a periodic record begin with {values[0]:g} N and end with "
                f"{values[-1]:g} N; allowed: the first value again at the end"
            )

    def contradicts(self) -> Any:
        """Return whether times do not ascend or a period does not close, of any batch."""
        xp = host_namespace(self.times, self.values)
        values = xp.asarray(self.values)
        apart = xp.abs(values[..., -1] - values[..., 0])
        opens = apart > _CLOSED * xp.max(xp.abs(values), axis=-1)
        return xp.any(_falls(self.times), axis=-1) | (self.periodic & opens)

    @property
    def repeats(self) -> bool:
        """Whether the record is periodic."""
        return self.periodic

    def period(self) -> Float[Array, ""]:
        """Return the period of a periodic record, s; infinite otherwise."""
        if not self.periodic:
            return jnp.asarray(jnp.inf)
        return self.times[-1] - self.times[0]

    def is_piecewise_linear(self) -> bool:
        """Return whether the load is linear between breaks."""
        return self.interpolation == "linear"

    def pieces(self) -> RecordPieces:
        """Return a table of polynomials, one for each piece."""
        return RecordPieces(self)

    def largest(self) -> Float[Array, ""]:
        """Return the largest absolute value, N."""
        return jnp.abs(self.scale) * jnp.max(jnp.abs(self.values))

    def angular_frequency(self) -> Float[Array, ""]:
        """Return the angular frequency of one cycle over the record, rad/s."""
        return 2 * jnp.pi / (self.times[-1] - self.times[0])

    def series(self, time: Number, inside: Number, count: int) -> tuple[Any, ...]:
        """Return the Taylor coefficients of the force, see `Load.series`."""
        shift = self._shift(inside)
        first = self._first(inside - shift)
        begin, end = self.times[first], self.times[first + 1]
        slope = (self.values[first + 1] - self.values[first]) / (end - begin)
        passed = time - shift - begin
        if self.interpolation == "linear":
            terms = self.values[first] + slope * passed, slope
        else:
            terms = self._cubic(first, end - begin, slope, passed)
        within = (inside - shift >= self.times[0]) & (inside - shift < self.times[-1])
        return tuple(jnp.where(within, self.scale * x, 0.0) for x in terms[:count])

    def _cubic(self, first, length, chord, s) -> tuple:
        """Return the Taylor coefficients of a piece at the time s after its start."""
        left, right = self._slope(first), self._slope(first + 1)
        a = (3 * chord - 2 * left - right) / length
        b = (left + right - 2 * chord) / length**2
        value = self.values[first] + s * (left + s * (a + s * b))
        return value, left + s * (2 * a + s * (3 * b)), a + 3 * b * s, b

    def _slope(self, place):
        """Return the slope of the parabola through a point and its neighbours, N/s."""
        pieces = self.times.shape[0] - 1
        if self.periodic:
            pair = (place - 1) % pieces, place % pieces
        else:
            first = jnp.clip(place - 1, 0, max(pieces - 2, 0))
            pair = first, jnp.minimum(first + 1, pieces - 1)
        lengths = [self.times[k + 1] - self.times[k] for k in pair]
        chords = [
            (self.values[k + 1] - self.values[k]) / h
            for k, h in zip(pair, lengths, strict=True)
        ]
        bend = (chords[1] - chords[0]) / (lengths[0] + lengths[1])
        if self.periodic:
            return chords[0] + bend * lengths[0]
        return chords[0] + bend * (
            2 * self.times[place] - self.times[pair[0]] - self.times[pair[0] + 1]
        )

    def next_breakpoint(self, time: Number) -> Float[Array, ""]:
        """Return the time of the next sample, s."""
        shift = self._shift(time)
        late = time + 4 * jnp.finfo(self.times.dtype).eps * jnp.abs(time) - shift
        place = self._times_before(late)
        last = self.times.shape[0] - 1
        later = shift + self.times[jnp.minimum(place, last)]
        if self.periodic:
            return jnp.where(place > last, later + self.times[1] - self.times[0], later)
        return jnp.where(place > last, jnp.inf, later)

    def _shift(self, time):
        """Return the elapsed whole periods, s."""
        if not self.periodic:
            return jnp.zeros_like(self.times[0])
        turns = jnp.floor((time - self.times[0]) / self.period())
        return jax.lax.stop_gradient(turns) * self.period()

    def _first(self, time):
        return jnp.clip(self._times_before(time) - 1, 0, self.times.shape[0] - 2)

    def _times_before(self, time):
        """Return the number of times up to a time."""
        # Unrolled: in a kernel a loop of ten comparisons costs more than these.
        return jnp.searchsorted(self.times, time, "right", method="scan_unrolled")


def _falls(times: Any) -> Any:
    """Return which times are not after the one before them."""
    return ~(host_namespace(times).diff(times, axis=-1) > 0)
