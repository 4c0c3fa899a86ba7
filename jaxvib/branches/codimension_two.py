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

import functools
import itertools
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Complex, Float
from scipy.optimize import elementwise

from .. import linalg
from ..ensemble import Reason
from .arclength import correct_some
from .tracer import BranchPoint

_NOISE = 1e-4  # noise of test functions: root of the matrix error (double multiplier)
_COSINES = {
    "resonance 1:1": 1.0,
    "resonance 1:2": -1.0,
    "resonance 1:3": -0.5,
    "resonance 1:4": 0.0,
}
_ENDS = ("resonance 1:1", "resonance 1:2")


class CodimensionTwoPoint(eqx.Module):
    """A codimension-two point: kind, both parameters, Floquet multipliers."""

    kind: str = eqx.field(static=True)
    parameters: Float[np.ndarray, "2"]
    floquet_multipliers: Complex[np.ndarray, " n"]

    def __repr__(self) -> str:
        first, second = self.parameters
        return f"{self.kind} at ({first:.8g}, {second:.8g})"


class Located(NamedTuple):
    """A codimension-two point, the curve point before it, and its curve coordinates."""

    point: CodimensionTwoPoint
    after: int
    at: BranchPoint


def codimension_two_points(correct, problem, curve, kind: str) -> list[Located]:
    """Return the codimension-two points of a curve in order."""
    if kind == "grazing" or len(curve) < 2:
        return []
    starts, tangents = (np.array([p[i] for p in curve]) for i in (0, 1))
    found = correct_some(correct, problem, starts, tangents)
    multipliers = linalg.eigenvalues(np.nan_to_num(found.monodromy))
    ways = found.tangent[:, -2:]
    points = []
    for name in _NAMES[kind]:
        for first, last in _changes(name, multipliers, ways):
            test = functools.partial(_TESTS[name], way=ways[first])
            point = _located(correct, problem, starts[[first, last]], name, first, test)
            if point is not None:
                points.append(point)
    return sorted(points, key=lambda located: located.after)


def torus_part(curve, ends, found, own: int):
    """Return the part of a curve with a complex pair, its end codes, and points on it.

    `own`: the index of the start of the curve.
    """
    borders = [p for p in found if p.point.kind in _ENDS]
    before = [p for p in borders if p.after < own][-1:]
    beyond = [p for p in borders if p.after >= own][:1]
    first = before[0].after + 1 if before else 0
    last = beyond[0].after + 1 if beyond else len(curve)
    part = [p.at for p in before] + curve[first:last] + [p.at for p in beyond]
    low = Reason.STRONG_RESONANCE if before else ends[0]
    high = Reason.STRONG_RESONANCE if beyond else ends[1]
    kept = [p for p in found if first - 1 <= p.after < last]
    return part, (low, high), kept


def _changes(name: str, multipliers, ways) -> list[tuple[int, int]]:
    """Return the pairs of points between which a test function changes sign."""
    if name == "cusp":
        turned = np.flatnonzero(np.sum(ways[1:] * ways[:-1], axis=1) < 0)
        return [(int(after), int(after) + 1) for after in turned]
    tests = _TESTS[name](multipliers, ways, None)
    # Without damping, two multipliers are at 1 or -1 along the whole curve.
    clear = np.flatnonzero(np.abs(tests) > _NOISE)
    pairs = itertools.pairwise(clear)
    return [(int(a), int(b)) for a, b in pairs if tests[a] * tests[b] < 0]


def _located(correct, problem, ends, name: str, after: int, test) -> Located | None:
    chord = ends[1] - ends[0]
    normal = chord / linalg.norm(chord)

    def at(share):
        share = np.atleast_1d(share)
        predicted = ends[0] + share[:, None] * chord
        found = correct_some(correct, problem, predicted, np.tile(normal, (len(share), 1)))
        multipliers = linalg.eigenvalues(np.nan_to_num(found.monodromy))
        return found, multipliers

    def tested(share):
        found, multipliers = at(share.ravel())
        values = test(multipliers, found.tangent[:, -2:])
        return np.where(found.found, values, np.nan).reshape(share.shape)

    root = elementwise.find_root(
        tested,
        (np.zeros(1), np.ones(1)),
        tolerances={"xatol": 1e-11, "xrtol": 0.0, "fatol": 0.0, "frtol": 0.0},
        maxiter=60,
    )
    if not root.success[0]:
        return None
    found, multipliers = at(root.x)
    values = np.asarray(found.x[0, -2:] * problem.setting.units[-2:])
    there = BranchPoint(found.x[0], found.tangent[0], 0.0)
    point = CodimensionTwoPoint(name, values, multipliers[0].astype(complex))
    return Located(point, after, there)


def _others(multipliers, target: float):
    """Return the multipliers without the one nearest to `target`."""
    nearest = np.argmin(np.abs(multipliers - target), axis=-1)
    keep = np.arange(multipliers.shape[-1]) != nearest[:, None]
    return multipliers[keep].reshape(len(multipliers), -1)


def _cosine(multipliers):
    """Return the cosine of the pair on the circle; its modulus exceeds 1 if real."""
    first, second = np.triu_indices(multipliers.shape[-1], 1)
    products = multipliers[:, first] * multipliers[:, second]
    pair = np.argmin(np.abs(products - 1), axis=-1)
    sums = multipliers[:, first] + multipliers[:, second]
    return np.take_along_axis(sums, pair[:, None], -1)[:, 0].real / 2


def _resonance(cosine: float):
    return lambda multipliers, ways, way: _cosine(multipliers) - cosine


def _beside(target: float, other: float):
    def test(multipliers, ways, way):
        return np.prod(other - _others(multipliers, target), axis=-1).real

    return test


_NAMES = {
    "fold": ("cusp", "fold at resonance 1:1", "fold with flip"),
    "period_doubling": ("flip at resonance 1:2", "flip with fold"),
    "neimark_sacker": tuple(_COSINES),
}
_TESTS = {
    "cusp": lambda multipliers, ways, way: ways @ way,
    "fold at resonance 1:1": _beside(1.0, 1.0),
    "fold with flip": _beside(1.0, -1.0),
    "flip at resonance 1:2": _beside(-1.0, -1.0),
    "flip with fold": _beside(-1.0, 1.0),
    **{name: _resonance(cosine) for name, cosine in _COSINES.items()},
}
