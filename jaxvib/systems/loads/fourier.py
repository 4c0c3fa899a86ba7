"""Fourier loads: any periodic force."""

from collections.abc import Sequence
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from ...foundation.arrays import is_concrete
from ...foundation.quantity import Quantity, quantity
from ...foundation.types import AnyArray, Number
from .load import Load, Wave
from .pieces import FEW_TERMS, FourierPieces


class FourierLoad(Load):
    r"""A force given by a Fourier series, with period $2\pi/\omega$.

    $$F(t) = F_m + \sum_{k=1}^{n} [a_k \cos(k \omega t) + b_k \sin(k \omega t)].$$

    **Fields:** `frequency` $\omega > 0$ (rad/s); `cosine` $a$, `sine` $b$ (N), both of
    shape (n,), of 1, 2, 3 ... times the frequency; `mean` $F_m$ (N). **Raises:**
    `ValueError` naming a field out of its range, or shapes that differ.

    >>> load = jv.FourierLoad(frequency=2.0, cosine=[1.0, 0.5], sine=[0.0, 0.0], mean=3.0)
    >>> float(load.force(0.0))
    4.5
    """

    frequency: Float[Quantity, ""] = quantity(
        "frequency", "rad/s", "angular frequency of the series", above=0.0
    )
    cosine: Float[Quantity, " n"] = quantity(
        "cosine", "N", "amplitudes of cos(k w t), k = 1, 2, 3 ..."
    )
    sine: Float[Quantity, " n"] = quantity(
        "sine", "N", "amplitudes of sin(k w t), k = 1, 2, 3 ..."
    )
    mean: Float[Quantity, ""] = quantity("mean", "N", "mean of the load", default=0.0)

    linear_fields: ClassVar[tuple[str, ...]] = ("cosine", "sine", "mean")

    def __check_init__(self) -> None:
        shapes = jnp.shape(self.cosine), jnp.shape(self.sine)
        if shapes[0] != shapes[1] or len(shapes[0]) != 1 or not shapes[0][0]:
            raise ValueError(
                f"cosine and sine have shapes {shapes[0]} and {shapes[1]}; allowed: one "
                "shape (n,) for both, of 1, 2, ..., n times the frequency"
            )

    @classmethod
    def through(
        cls, values: Float[AnyArray, " samples"] | Sequence[Any], frequency: Any, terms: int
    ) -> "FourierLoad":
        r"""Return the series of a record of one period, such as a table of a cam's lift.

        `values` at evenly spaced times from 0 on, without that of the end; `terms`, below
        half their number: with most of them the series passes through the values, fewer
        smooth their second derivative. **Raises:** `ValueError` for other numbers.

        >>> jv.FourierLoad.through([1.0, 3.0, 1.0, -1.0], 2.0, 1).sine.tolist()
        [2]
        """
        size = len(np.asarray(values))
        if not 0 < terms < size / 2:
            raise ValueError(f"terms = {terms} of {size} values; allowed: 1 to "
                             f"{(size - 1) // 2}")  # fmt: skip
        found = jnp.fft.rfft(jnp.asarray(values, float))[: terms + 1] / size
        return cls(frequency, 2 * found.real[1:], -2 * found.imag[1:], found.real[0])

    @property
    def pulses(self) -> bool:
        """Whether it may have short pulses that a step could miss."""
        return self.cosine.shape[0] > 1

    def force(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the force, N, at a time, s."""
        angles = self._orders() * (self.frequency * time)
        return self.mean + jnp.sum(
            self.cosine * jnp.cos(angles) + self.sine * jnp.sin(angles)
        )

    def period(self) -> Float[Array, ""]:
        """Return the period, s."""
        return 2 * jnp.pi / self.frequency

    def largest(self) -> Float[Array, ""]:
        """Return the sum of all amplitudes, N, a bound of the force."""
        return jnp.abs(self.mean) + jnp.sum(jnp.hypot(self.cosine, self.sine))

    def highest_angular_frequency(self) -> Float[Array, ""]:
        """Return the highest angular frequency, rad/s."""
        return self.cosine.shape[0] * self.frequency

    def waves(self) -> tuple[Wave, ...]:
        """Return the mean and each cosine and sine."""
        still = jnp.zeros_like(self.frequency)
        found = [Wave(self.mean, still, still)]
        for k in range(self.cosine.shape[0]):
            frequency = (k + 1.0) * self.frequency
            found.append(Wave(self.cosine[k], frequency, still))
            found.append(Wave(self.sine[k], frequency, still - np.pi / 2))
        return tuple(found)

    def pieces(self) -> FourierPieces | None:
        """Return a table of polynomials for a series of many terms, otherwise None."""
        return FourierPieces(self) if self.cosine.shape[0] > FEW_TERMS else None

    def series(self, time: Number, inside: Number, count: int) -> tuple[Any, ...]:
        """Return the Taylor coefficients of the force, see `Load.series`."""
        frequency = self._orders() * self.frequency
        cosine, sine = jnp.cos(frequency * time), jnp.sin(frequency * time)
        even = self.cosine * cosine + self.sine * sine
        odd = self.sine * cosine - self.cosine * sine
        found, scale = [], jnp.ones_like(frequency)
        for k in range(count):
            sign = -1.0 if k % 4 > 1 else 1.0
            found.append(sign * jnp.sum(scale * (odd if k % 2 else even)))
            scale = scale * frequency * (1 / (k + 1))
        return (self.mean + found[0], *found[1:])

    def rate(self) -> "FourierLoad":
        """Return the law of the time derivative."""
        frequencies = self._orders() * self.frequency
        parts = frequencies * self.sine, -frequencies * self.cosine
        return FourierLoad(self.frequency, *parts)

    def integral(self) -> "FourierLoad":
        """Return the law of the time integral, without a mean.

        A mean has no periodic integral. **Raises:** `ValueError` for a concrete
        non-zero mean; a traced one gives NaN.
        """
        if is_concrete(self.mean) and np.any(np.asarray(self.mean) != 0):
            raise ValueError(
                f"mean = {float(self.mean):g} of a FourierLoad has no periodic "
                "integral; allowed: 0"
            )
        frequencies = self._orders() * self.frequency
        parts = -self.sine / frequencies, self.cosine / frequencies
        return FourierLoad(
            self.frequency, *parts, jnp.where(self.mean == 0, self.mean, jnp.nan)
        )

    def _orders(self):
        return jnp.arange(1.0, self.cosine.shape[0] + 1, dtype=self.cosine.dtype)
