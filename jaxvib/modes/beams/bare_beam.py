r"""Modes of a bare beam, the basis of starting values.

In units of the beam's length, mass and stiffness: $\phi'''' = \kappa^4 \phi$,
$\int_0^1 \phi^2 = 1$, frequency $\kappa^2$. Ends are clamped, hinged, sliding or free.
"""

import functools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from ...foundation.types import AnyArray
from ...systems.structures.beam import ENDS


class BareModes(eqx.Module):
    """The first modes of a bare beam, rigid ones first.

    V is a combination of cos(kappa x), sin(kappa x), e^(-kappa x) and
    e^(-kappa (1 - x)); rigid modes are combinations of 1 and x with kappa = 0.
    """

    wave_numbers: Float[np.ndarray, " modes"]
    coefficients: Float[np.ndarray, "modes 4"]
    rigid: int = eqx.field(static=True)

    def at(
        self, x: ArrayLike, slopes: ArrayLike | Sequence[bool], xp: Any = jnp
    ) -> AnyArray:
        """Return the modes at points x, or their slopes where `slopes` is true.

        `xp` is the array namespace.
        """
        x = xp.asarray(x)[..., None]
        kappa = self.wave_numbers
        cosine, sine = xp.cos(kappa * x), xp.sin(kappa * x)
        left, right = xp.exp(-kappa * x), xp.exp(-kappa * (1 - x))
        c = self.coefficients.T
        value = c[0] * cosine + c[1] * sine + c[2] * left + c[3] * right
        slope = kappa * (c[1] * cosine - c[0] * sine - c[2] * left + c[3] * right)
        if self.rigid:
            still = np.arange(len(kappa)) < self.rigid
            value = xp.where(still, c[0] + c[1] * x, value)
            slope = xp.where(still, c[1], slope)
        if not np.any(slopes):
            return value
        return xp.where(np.asarray(slopes)[..., None], slope, value)


def bare_end(end: eqx.Module) -> str:
    """Return the boundary condition of the bare beam for an end.

    An elastic support is a free end whose springs are treated as links.
    """
    return next((name for name, kind in ENDS.items() if isinstance(end, kind)), "free")


@functools.lru_cache(maxsize=64)
def bare_modes(ends: tuple[str, str], number: int) -> BareModes:
    """Return the first `number` modes of a bare beam."""
    rigid = _rigid_modes(ends)[:number]
    elastic = wave_numbers(ends, max(0, number - len(rigid)))
    still = np.array(rigid).reshape(len(rigid), 4)
    return BareModes(
        np.concatenate([np.zeros(len(rigid)), elastic]),
        np.concatenate([still, _shapes(ends, elastic)]),
        len(rigid),
    )


def wave_numbers(ends: tuple[str, str], number: int) -> Float[np.ndarray, " number"]:
    """Return the first positive roots kappa of the bare beam's characteristic equation.

    cos kappa = +- 1 / cosh kappa, tan kappa = +- tanh kappa, or sin, cos kappa = 0.
    """
    k = np.arange(1, number + 1)
    conditions = sorted(ends, key=list(ENDS).index)
    stiff = [end in ("clamped", "free") for end in conditions]
    if not any(stiff):
        return np.pi * (k if conditions[0] == conditions[1] else k - 0.5)
    if all(stiff):
        alike = conditions[0] == conditions[1]
        middle = np.pi * (k + 0.5 if alike else k - 0.5)
        sign = np.where(k % 2 == 1, 1.0, -1.0)
        # kappa = middle + s with sin s = +- sech(middle + s)
        return _fixed_point(middle, lambda kappa: sign * np.arcsin(_sech(kappa)))
    sliding = "sliding" in conditions
    middle = np.pi * (k - 0.25 if sliding else k + 0.25)
    sign = 1.0 if sliding else -1.0
    # tan(middle + s) = -+ tanh(middle + s), and tan(pi/4 - s) = tanh <=> s = atan e^-2k
    return _fixed_point(middle, lambda kappa: sign * np.arctan(np.exp(-2 * kappa)))


def _fixed_point(middle, correction):
    kappa = middle
    for _ in range(60):
        kappa = middle + correction(kappa)
    return kappa


def _sech(x):
    return 2 * np.exp(-x) / (1 + np.exp(-2 * x))


def _rigid_modes(ends) -> list:
    """Return the orthonormal rigid modes, as coefficients of 1 and x."""
    fixed = [ENDS[end].zeros for end in ends]
    if all(0 not in orders and 1 not in orders for orders in fixed):
        return [[1.0, 0, 0, 0], [-np.sqrt(3), 2 * np.sqrt(3), 0, 0]]
    if all(0 not in orders for orders in fixed):
        return [[1.0, 0, 0, 0]]
    if all(1 not in orders for orders in fixed) and 0 in fixed[0] and 0 not in fixed[1]:
        return [[0, np.sqrt(3), 0, 0]]
    if all(1 not in orders for orders in fixed) and 0 in fixed[1] and 0 not in fixed[0]:
        return [[np.sqrt(3), -np.sqrt(3), 0, 0]]
    return []


def _shapes(ends, kappa) -> Float[np.ndarray, "modes 4"]:
    """Return the coefficients of modes, normalised so that the integral of V^2 is 1.

    The integral is a quarter of the change, from 0 to 1, of (3 V V3 - V1 V2) / kappa
    + x (V^2 - 2 V1 V3 + V2^2), where Vn is the n-th derivative divided by kappa^n.
    """
    at_ends = [_derivatives(kappa, x) for x in (0.0, 1.0)]
    rows = [
        derivatives[:, order]
        for derivatives, end in zip(at_ends, ends, strict=True)
        for order in ENDS[end].zeros
    ]
    shapes = np.linalg.svd(np.stack(rows, axis=1))[2][:, -1]
    totals = []
    for x, derivatives in enumerate(at_ends):
        v, v1, v2, v3 = np.einsum("kdc,kc->dk", derivatives, shapes)
        totals.append((3 * v * v3 - v1 * v2) / kappa + x * (v**2 - 2 * v1 * v3 + v2**2))
    return shapes / np.sqrt((totals[1] - totals[0])[:, None] / 4)


def _derivatives(kappa, x) -> Float[np.ndarray, "modes 4 4"]:
    """Return the four functions and their derivatives over powers of kappa at x."""
    left, right = np.exp(-kappa * x), np.exp(-kappa * (1 - x))
    rows = []
    for order in range(4):
        angle = kappa * x + order * np.pi / 2
        rows.append([np.cos(angle), np.sin(angle), (-1) ** order * left, right])
    return np.moveaxis(np.array(rows), 2, 0)
