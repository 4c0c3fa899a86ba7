"""Codimension-two points: their test functions along curves in two parameters."""

from collections.abc import Callable

import equinox as eqx
import numpy as np
from jaxtyping import Complex, Float

from .test_functions import (
    EvaluatedPoints,
    TestFunction,
    complex_pair,
    off_axis,
    pairs,
    past_axis,
    product,
    relative,
)

# Noise of test functions: the root of the matrix error (double multiplier). Without
# damping, two multipliers are at 1 or -1 along the whole curve.
_NOISE = 1e-4
# Of a Lyapunov coefficient: rounding relative to its terms, and its size at a zero, where
# it is located to 1e-11 of a step.
_NOISE_OF_TERMS, _VANISHES = 1e-9, 1e-2
_COSINES = {
    "resonance 1:1": 1.0,
    "resonance 1:2": -1.0,
    "resonance 1:3": -0.5,
    "resonance 1:4": 0.0,
}
ENDS_OF_TORI = ("resonance 1:1", "resonance 1:2")
END_OF_HOPF_POINTS = "Bogdanov-Takens"


class CodimensionTwoPoint(eqx.Module):
    """A codimension-two point: kind, both parameters, and the motion's eigenvalues.

    `eigenvalues`: the Floquet multipliers, of an equilibrium those of the Jacobian, 1/s.
    """

    kind: str = eqx.field(static=True)
    parameters: Float[np.ndarray, "2"]
    eigenvalues: Complex[np.ndarray, " n"]

    @property
    def floquet_multipliers(self) -> Complex[np.ndarray, " n"]:
        """The Floquet multipliers: `eigenvalues`."""
        return self.eigenvalues

    def __repr__(self) -> str:
        first, second = self.parameters
        return f"{self.kind} at ({first:.8g}, {second:.8g})"


def codimension_two_tests(kind: str, of: str = "cycle") -> tuple[TestFunction, ...]:
    r"""Return the table of test functions along curves of a kind of bifurcation.

    `of`: "cycle", also for orbits of forced systems, or "equilibrium".

    With $\mu$ the multipliers except the one at 1 or -1, or $e^{\pm i\theta}$ the pair on
    the unit circle, the test functions along a curve of

    - folds: the direction of both parameters for a cusp; $\prod (1 - \mu)$ for the
      resonance 1:1; $\prod (1 + \mu)$ for a fold-flip;
    - period doublings: $\prod (1 + \mu)$ for the resonance 1:2; $\prod (1 - \mu)$ for a
      fold-flip;
    - Neimark-Sacker points: $2 \cos\theta - 2$, + 2, + 1 and $2 \cos\theta$ for the
      resonances 1:1, 1:2, 1:3 and 1:4. Beyond the first two the pair is real and there is
      no torus.

    With $\lambda$ the eigenvalues of an equilibrium except the one at 0, or except the pair
    $\pm i \omega$ on the axis, they are along a curve of

    - folds: the direction of both parameters for a cusp; $\prod \lambda$ for a
      Bogdanov-Takens point; a pair among $\lambda$ that passes the axis for a zero-Hopf
      point;
    - Hopf points: $\omega^2$ for a Bogdanov-Takens point, beyond which the pair is real;
      $\prod \lambda$ for a zero-Hopf point; another pair for a double Hopf point; the
      first Lyapunov coefficient for a Bautin point, where the cycles that branch off turn
      from stable to unstable.

    **Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, chapters 8, 9.
    """
    return (_TABLE if of == "cycle" else _OF_EQUILIBRIA).get(kind, ())


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


def _row(kind: str, value, changes=None) -> TestFunction:
    row = TestFunction(kind, value, tolerance=np.inf, noise=_NOISE, accuracy=1e-11)
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


def _without_pair(eigenvalues: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the product of the pair whose sum is nearest to 0, and the others."""
    sums = np.abs(pairs(eigenvalues, np.add))
    first, second = np.triu_indices(eigenvalues.shape[-1], 1)
    nearest = np.argmin(sums, axis=-1)
    places = np.arange(eigenvalues.shape[-1])
    keep = (places != first[nearest][:, None]) & (places != second[nearest][:, None])
    products = pairs(eigenvalues, np.multiply)[np.arange(len(sums)), nearest].real
    return products, eigenvalues[keep].reshape(len(eigenvalues), -1)


def _beside_zero(seen: EvaluatedPoints) -> np.ndarray:
    return _without_nearest(relative(seen.eigenvalues), 0.0)


def _beside_pair(seen: EvaluatedPoints) -> np.ndarray:
    return _without_pair(relative(seen.eigenvalues))[1]


def _squared_frequency(seen: EvaluatedPoints, _) -> np.ndarray:
    return _without_pair(relative(seen.eigenvalues))[0]


# At a zero-Hopf point the coefficient has a pole, and changes its sign there, too.
_BAUTIN = _row("Bautin", lambda seen, _: np.asarray(seen.solutions.hopf.share))._replace(
    distance=lambda seen: np.abs(seen.solutions.hopf.value),
    tolerance=_VANISHES,
    noise=_NOISE_OF_TERMS,
)


def _vanishes(kind: str, others: Callable) -> TestFunction:
    return _row(kind, lambda seen, _: product(others(seen)).real)


def _another_pair(kind: str, others: Callable) -> TestFunction:
    """Return the row of a complex pair among the other eigenvalues that passes the axis."""

    def of_others(seen: EvaluatedPoints) -> EvaluatedPoints:
        found = others(seen)
        stable = np.full((len(found), 1), -1.0)  # there may be no others
        return EvaluatedPoints(seen.tangents, np.hstack([found, stable]), tuple)

    pair = complex_pair(kind, past_axis, off_axis, relative)
    changes = pair.changes
    assert changes is not None
    row = _row(kind, lambda seen, first: pair.value(of_others(seen), of_others(first)))
    return row._replace(noise=0.0, changes=lambda seen: changes(of_others(seen)))


_OF_EQUILIBRIA = {
    "fold": (
        _TABLE["fold"][0],
        _vanishes(END_OF_HOPF_POINTS, _beside_zero),
        _another_pair("zero-Hopf", _beside_zero),
    ),
    "hopf": (
        _row(END_OF_HOPF_POINTS, _squared_frequency),
        _vanishes("zero-Hopf", _beside_pair),
        _another_pair("double Hopf", _beside_pair),
        _BAUTIN,
    ),
}
