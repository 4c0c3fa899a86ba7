r"""Codimension-two points on bifurcation curves.

With $\mu$ the multipliers except the one at 1 or -1, or $e^{\pm i\theta}$ the pair on
the unit circle, the test functions along a curve of

- folds: the direction of both parameters for a cusp; $\prod (1 - \mu)$ for the
  resonance 1:1; $\prod (1 + \mu)$ for a fold-flip;
- period doublings: $\prod (1 + \mu)$ for the resonance 1:2; $\prod (1 - \mu)$ for a
  fold-flip;
- Neimark-Sacker points: $2 \cos\theta - 2$, + 2, + 1 and $2 \cos\theta$ for the
  resonances 1:1, 1:2, 1:3 and 1:4. Beyond the first two the pair is real and there is
  no torus.

**Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, chapter 9.
"""

import equinox as eqx
import numpy as np
from jaxtyping import Complex, Float

from .test_functions import EvaluatedPoints, Test, pairs, product

# Noise of test functions: the root of the matrix error (double multiplier). Without
# damping, two multipliers are at 1 or -1 along the whole curve.
_NOISE = 1e-4
_COSINES = {
    "resonance 1:1": 1.0,
    "resonance 1:2": -1.0,
    "resonance 1:3": -0.5,
    "resonance 1:4": 0.0,
}
ENDS_OF_TORI = ("resonance 1:1", "resonance 1:2")


class CodimensionTwoPoint(eqx.Module):
    """A codimension-two point: kind, both parameters, Floquet multipliers."""

    kind: str = eqx.field(static=True)
    parameters: Float[np.ndarray, "2"]
    floquet_multipliers: Complex[np.ndarray, " n"]

    def __repr__(self) -> str:
        first, second = self.parameters
        return f"{self.kind} at ({first:.8g}, {second:.8g})"


def codimension_two_tests(kind: str) -> tuple[Test, ...]:
    """Return the table of test functions along curves of a kind of bifurcation."""
    return _TABLE.get(kind, ())


def _without_nearest(multipliers, target: float):
    """Return the multipliers without the one nearest to `target`."""
    nearest = np.argmin(np.abs(multipliers - target), axis=-1)
    keep = np.arange(multipliers.shape[-1]) != nearest[:, None]
    return multipliers[keep].reshape(len(multipliers), -1)


def _cosine(multipliers):
    """Return the cosine of the pair on the circle; its modulus exceeds 1 if real."""
    sums, products = (pairs(multipliers, each) for each in (np.add, np.multiply))
    pair = np.argmin(np.abs(products - 1), axis=-1)
    return np.take_along_axis(sums, pair[:, None], -1)[:, 0].real / 2


def _resonance(cosine: float):
    return lambda seen, _: _cosine(seen.eigenvalues) - cosine


def _beside(target: float, other: float):
    return lambda seen, _: product(other - _without_nearest(seen.eigenvalues, target)).real


def _direction(seen: EvaluatedPoints, first: EvaluatedPoints) -> np.ndarray:
    return (seen.tangents * first.tangents).sum(-1)


def _tangent_reverses(seen: EvaluatedPoints) -> np.ndarray:
    return (seen.tangents[1:] * seen.tangents[:-1]).sum(-1) < 0


def _row(kind: str, value, changes=None) -> Test:
    row = Test(kind, value, tolerance=np.inf, noise=_NOISE, accuracy=1e-11)
    return row._replace(changes=changes)


_TABLE = {
    "fold": (
        _row("cusp", _direction, _tangent_reverses),
        _row("fold at resonance 1:1", _beside(1.0, 1.0)),
        _row("fold with flip", _beside(1.0, -1.0)),
    ),
    "period_doubling": (
        _row("flip at resonance 1:2", _beside(-1.0, -1.0)),
        _row("flip with fold", _beside(-1.0, 1.0)),
    ),
    "neimark_sacker": tuple(
        _row(kind, _resonance(cosine)) for kind, cosine in _COSINES.items()
    ),
}
