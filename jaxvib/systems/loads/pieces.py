"""Piecewise polynomial tables of long loads."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...foundation.quantity import Quantity, quantity
from ...foundation.types import Number
from .load import Load


class PolynomialLoad(Load):
    r"""The force $F(t) = \sum_k c_k (t - t_c)^k$ of one piece of a load.

    **Fields:** `centre` $t_c$ (s), `coefficients` $c_k$ (N/s^k), shape (m,), `size`: the
    order of magnitude of the whole load (N), `highest`: the highest angular frequency
    in it (rad/s).
    """

    centre: Float[Quantity, ""] = quantity("centre", "s", "centre of the expansion")
    coefficients: Float[Quantity, " m"] = quantity("coefficients", "N", "of each power")
    size: Float[Quantity, ""] = quantity("size", "N", "order of the largest force")
    highest: Float[Quantity, ""] = quantity("highest", "rad/s", "highest frequency")

    repeats = False

    def largest(self) -> Float[Array, ""]:
        """Return the order of magnitude of the whole load, N."""
        return self.size

    def angular_frequency(self) -> Float[Array, ""]:
        """Return the highest angular frequency of the whole load, rad/s."""
        return self.highest

    def series(self, time: Number, inside: Number, count: int) -> tuple:
        """Return the Taylor coefficients of the force, see `Load.series`."""
        passed, rows = time - self.centre, list(self.coefficients)
        size = len(rows)
        # Repeated Horner scheme: each pass gives one more coefficient.
        for first in range(min(count, size)):
            for k in reversed(range(first, size - 1)):
                rows[k] = rows[k] + passed * rows[k + 1]
        return tuple(rows[:count])


# Series with more terms are tabulated: evaluating all terms in each step is too
# expensive.
FEW_TERMS = 8
# Orders of a piece, and half its length times the highest frequency: the first omitted
# order, relative to the sum of all amplitudes, is at most 2^17/17! = 4e-10.
_ORDERS, _HALF_TURN = 17, 2.0


class FourierPieces(eqx.Module):
    r"""A Fourier series as Taylor polynomials about the midpoints of equal pieces.

    The coefficients of all pieces follow from one Fourier transform for each order k of
    the derivative:
    $c_k(t_b) = \mathrm{Re} \sum_j (i j \omega)^k (a_j - i b_j) e^{i j \omega t_b} / k!$.
    """

    coefficients: Float[Array, "pieces order"]
    length: Float[Array, ""]
    size: Float[Array, ""]
    highest: Float[Array, ""]

    def __init__(self, law: Any):
        terms = law.cosine.shape[0]
        count = math.ceil(math.pi * terms / _HALF_TURN)
        orders = jnp.arange(1.0, terms + 1)
        # Shift to the midpoint of the first piece.
        turned = np.exp(1j * math.pi * np.arange(1, terms + 1) / count)
        amplitudes = jax.lax.complex(law.cosine, -law.sine) * turned
        nothing = jnp.zeros(count, amplitudes.dtype)
        rows = []
        for k in range(_ORDERS):
            padded = nothing.at[1 : terms + 1].set(amplitudes)
            rows.append(count * jnp.fft.ifft(padded).real)
            rate = law.frequency * orders / (k + 1)
            amplitudes = amplitudes * jax.lax.complex(jnp.zeros_like(rate), rate)
        rows[0] = rows[0] + law.mean
        self.coefficients = jnp.stack(rows, axis=1)
        self.length = law.period() / count
        self.size, self.highest = law.largest(), law.highest_angular_frequency()

    def at(self, time: Number) -> tuple[PolynomialLoad, Array]:
        """Return the piece that starts at or contains a time, and its end, s."""
        # Rounding of a piece's end must not select that piece again.
        place = jnp.floor(time / self.length + 1e-9)
        row = self.coefficients[place.astype(int) % self.coefficients.shape[0]]
        centre = (place + 0.5) * self.length
        return PolynomialLoad(
            centre, row, self.size, self.highest
        ), centre + self.length / 2


class RecordPieces(eqx.Module):
    """A record with linear or cubic pieces."""

    law: Load

    def at(self, time: Number) -> tuple[PolynomialLoad, Array]:
        """Return the piece that starts at or contains a time, and its end, s."""
        end = self.law.next_breakpoint(time)
        middle = (time + jnp.minimum(end, time + 1.0)) / 2
        row = jnp.stack(self.law.series(middle, middle, 4))
        size, angular_frequency = self.law.largest(), self.law.angular_frequency()
        return PolynomialLoad(middle, row, size, angular_frequency), end
