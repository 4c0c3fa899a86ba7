"""Polynomial pieces of loads."""

from jaxtyping import Array, Float

from ...foundation.quantity import quantity
from ...foundation.types import Number
from .load import Load


class PolynomialLoad(Load):
    r"""The force $F(t) = \sum_k c_k (t - t_c)^k$ of one piece of a load.

    **Fields:** `centre` $t_c$ (s), `coefficients` $c_k$ (N/s^k), shape (m,), `size`: the
    order of magnitude of the whole load (N), `highest`: the highest angular frequency
    in it (rad/s).
    """

    centre: Float[Array, ""] = quantity("centre", "s", "centre of the expansion")
    coefficients: Float[Array, " m"] = quantity("coefficients", "N", "of each power")
    size: Float[Array, ""] = quantity("size", "N", "order of the largest force")
    highest: Float[Array, ""] = quantity("highest", "rad/s", "highest frequency")

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
