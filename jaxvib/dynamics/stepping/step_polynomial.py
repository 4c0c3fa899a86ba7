"""Interpolating polynomials on a step, and their roots and extrema."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...foundation.types import Number

# After the secant, and a bisection or two where the slope changes much over the step,
# the error falls as e^2, e^4, ...
_NEWTON_STEPS = 6


def value(coefficients: Sequence, at: Number) -> Array:
    r"""Return $\sum_k c_k s^k$ at s; a number 0.0 or 1.0 takes no products."""
    if isinstance(at, float) and at == 0.0:
        return coefficients[0]
    *lower, total = coefficients
    if isinstance(at, float) and at == 1.0:
        return sum(reversed(lower), total)
    for coefficient in reversed(lower):
        total = total * at + coefficient
    return total


class Polynomial(NamedTuple):
    r"""A signal $p(\tau) = \sum_k c_k \tau^k$ on a step, $0 \le \tau \le 1$.

    All coefficients have the shape of the signal.
    """

    coefficients: tuple[Float[Array, "*s"], ...]

    def value(self, tau: Number) -> Array:
        """Return p at a fraction of the step."""
        return value(self.coefficients, tau)

    def slope(self, tau: Number) -> Array:
        """Return dp/dtau at a fraction of the step."""
        return value([k * c for k, c in enumerate(self.coefficients)][1:], tau)

    def shifted(self, by: Number) -> "Polynomial":
        """Return p + `by`."""
        first, *others = self.coefficients
        return Polynomial((first + by, *others))

    def shut(self, hold: Array) -> "Polynomial":
        """Return the same with its start value clipped to at most 0 where `hold`."""
        first, *others = self.coefficients
        return Polynomial((jnp.where(hold, jnp.minimum(first, 0), first), *others))

    def rate(self) -> "Polynomial":
        """Return the polynomial dp/dtau."""
        return Polynomial(tuple(k * c for k, c in enumerate(self.coefficients))[1:])

    def extremum(self) -> Array:
        """Return the tau where a slope that changes sign over the step is 0."""
        return self.rate().crossing()

    def extreme_bound(self) -> Array:
        r"""Return a bound of the extreme of a signal whose slope changes sign once.

        The slope differs from the line between its values $s_0$, $s_1$ at the ends by
        at most $d \tau (1 - \tau) / 2$, where $d = \sum_k k (k - 1) (k - 2) |c_k|$
        bounds the third derivative. Integrated from either end to the extreme, it gives

        $$p \le p_i + \frac{s_i^2}{2 (s_0 - s_1)} + \frac{d}{12}.$$
        """
        start, end = self.coefficients[0], self.value(jnp.asarray(1.0))
        s0, s1 = self.coefficients[1], self.slope(jnp.asarray(1.0))
        third = sum(
            k * (k - 1) * (k - 2) * jnp.abs(c) for k, c in enumerate(self.coefficients)
        )
        rise, fall = (s**2 / _safe(2 * jnp.abs(s0 - s1)) for s in (s0, s1))
        top = jnp.minimum(start + rise, end + fall) + third / 12
        bottom = jnp.maximum(start - rise, end - fall) - third / 12
        return jnp.where(s0 > s1, top, bottom)

    def crossing(self) -> Array:
        """Return the tau where a value that changes sign over the step is 0."""
        left, right = self.coefficients[0], sum(self.coefficients)
        tau = jnp.clip(left / _safe(left - right), 0.0, 1.0)

        def step(_, bracket):
            low, tau, high = bracket
            value, slope = value_and_slope(self.coefficients, tau)
            ahead = (value > 0) == (left > 0)
            low, high = jnp.where(ahead, tau, low), jnp.where(ahead, high, tau)
            new = tau - value / _safe(slope)
            return low, jnp.where((low <= new) & (new <= high), new, (low + high) / 2), high

        bracket = jnp.zeros_like(tau), tau, jnp.ones_like(tau)
        # In a kernel, unrolling gives six times the code and no speed.
        return jax.lax.fori_loop(0, _NEWTON_STEPS, step, bracket)[1]


class RootPath(NamedTuple):
    """A signal that is the square of `root` where `squared`, and `root` elsewhere."""

    root: Polynomial
    squared: Bool[Array, "*s"]

    def value(self, tau: Number) -> Array:
        """Return the signal at a fraction of the step."""
        root = self.root.value(tau)
        return jnp.where(self.squared, jnp.maximum(root, 0) ** 2, root)

    def slope(self, tau: Number) -> Array:
        """Return a number with the sign of the slope at a fraction of the step."""
        return self.root.slope(tau)

    def extreme_bound(self) -> Array:
        """Return a bound of the extreme of a signal whose slope changes sign once."""
        root = self.root.extreme_bound()
        return jnp.where(self.squared, jnp.maximum(root, 0) ** 2, root)

    def rate(self) -> Polynomial:
        """Return a polynomial with the sign of the slope."""
        return self.root.rate()

    @property
    def coefficients(self) -> tuple[Array, ...]:
        """Coefficients of a polynomial with the sign of the signal."""
        return self.root.coefficients


def sign_crossings(paths: Sequence[Polynomial | RootPath], needed: Sequence[Array]) -> list:
    """Return `crossing` of several paths, 1 where not `needed`.

    Each signal is searched that one of the lanes needs.
    """
    return [
        _each_crossing(path.coefficients, ask)
        for path, ask in zip(paths, needed, strict=True)
    ]


def _each_crossing(coefficients: Sequence[Array], needed: Array) -> Array:
    """Return the crossing of each needed signal, 1 for the others."""
    found = [
        jax.lax.cond(
            needed[i],
            lambda *row: Polynomial(row).crossing(),
            lambda *row: jnp.ones_like(row[0]),
            *(c[i] for c in coefficients),
        )
        for i in range(needed.shape[0])
    ]
    return jnp.stack(found) if found else jnp.zeros(0)


def _safe(denominator):
    return jnp.where(denominator == 0, 1.0, denominator)


def step_polynomial(
    length: Number, start: Sequence[Array] | Array, end: Sequence[Array] | Array
) -> Polynomial:
    """Return Hermite's quintic of a step from (value, rate, acceleration) at both ends.

    It differs from the signal by $O(h^6)$ on a step of length h.
    """
    p0, v0, a0 = start[0], start[1] * length, start[2] * length**2
    p1, v1, a1 = end[0], end[1] * length, end[2] * length**2
    # The higher terms make up the difference at the end left by the first three.
    p = p1 - p0 - v0 - a0 / 2
    v = v1 - v0 - a0
    a = a1 - a0
    return Polynomial(
        (p0, v0, a0 / 2, 10 * p - 4 * v + a / 2, -15 * p + 7 * v - a, 6 * p - 3 * v + a / 2)
    )


def cubic_defect(
    length: Number,
    start: Sequence[Array] | Array,
    end: Sequence[Array] | Array,
    tau: Number,
) -> Array:
    """Return the difference between the quintic and the cubic of a step at tau.

    A bound, of order h^4, on the error of the quintic.
    """
    v0, a0 = start[1] * length, start[2] * length**2
    v1, a1 = end[1] * length, end[2] * length**2
    rise = end[0] - start[0]
    second = 6 * rise - 4 * v0 - 2 * v1  # second derivatives of the cubic
    third = -6 * rise + 2 * v0 + 4 * v1
    left = (a0 - second) * tau**2 * (1 - tau) ** 3 / 2
    right = (a1 - third) * tau**3 * (1 - tau) ** 2 / 2
    return jnp.abs(left) + jnp.abs(right)


def value_and_slope(coefficients: Sequence[Array], tau: Number) -> tuple[Array, Array]:
    """Return the value and the derivative of a polynomial."""
    *lower, total = coefficients
    rate = jnp.zeros_like(total)
    for k, coefficient in enumerate(reversed(lower)):
        rate = rate * tau + total if k else total
        total = total * tau + coefficient
    return total, rate
