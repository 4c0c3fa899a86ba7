r"""Where a branch changes its kind: the zeros of test functions between its points.

Between two points a test function of another sign has a zero, which is sought on the
branch itself: points in planes across the chord from one to the other, corrected like
any other, by Chandrupatla's bracketing method. What is no zero but a jump is dropped.

- fold: the parameter's part of the tangent changes its sign;
- period doubling: $\det(M + I)$;  Neimark-Sacker: $\det(M^{(2)} - I)$;
- branch point: $\det(M - I)$ where there is no fold;
- grazing: the depth of the contact that is there on one side only.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import elementwise

from ..ensemble import Reason, map_samples
from .bifurcation import BifurcationPoint

# A multiplier this near to where it should be is there.
_NEAR = 1e-4


class Crossing(NamedTuple):
    """A change of `kind` after the place `after` of a branch."""

    branch: int
    after: int
    kind: str


def crossings_of(branch: int, tangents, multipliers, contacts) -> list[Crossing]:
    """Return the changes between neighbours among a branch's points."""
    plus, minus, torus = (
        _signs(np.prod(factors, axis=-1).real)
        for factors in (1 + multipliers, 1 - multipliers, _pairs(multipliers) - 1)
    )
    fold = _changes(_signs(tangents))
    changes = {
        "fold": fold,
        "period_doubling": _changes(plus),
        "neimark_sacker": _changes(torus),
        "branch_point": _changes(minus) & ~fold,
        "grazing": contacts[1:] != contacts[:-1],
    }
    return [
        Crossing(branch, int(after), kind)
        for kind, where in changes.items()
        for after in np.flatnonzero(where)
    ]


def locate(correct, look, courses, places, crossings, path: str):
    """Return the bifurcation at each crossing, or None where there is none."""
    if not crossings:
        return []
    search = _Search(correct, look, courses, places, crossings)
    kinds = np.array([crossing.kind for crossing in crossings])
    # By signs alone a zero is known to the last bit of the chord at most.
    found = elementwise.find_root(
        search.test,
        (np.zeros(len(kinds)), np.ones(len(kinds))),
        args=(np.arange(len(kinds)),),
        tolerances={"xatol": 1e-13, "xrtol": 0.0, "fatol": 0.0, "frtol": 0.0},
        maxiter=60,
    )
    every = np.arange(len(kinds))
    values, states, orbits = search.orbits(np.nan_to_num(found.x, nan=0.5), every)
    points = []
    for i in every:
        wrong, genuine = _distance(kinds[i], orbits.floquet_multipliers[i])
        if kinds[i] == "grazing":
            wrong = orbits.grazing_margin[i]
        elif found.success[i] and not genuine:
            points.append(None)
            continue
        code = orbits.result[i] if found.success[i] else Reason.ITERATION_LIMIT
        numbers = {
            "parameter": values[i],
            "state": states[i],
            "periods": orbits.periods[i],
            "time": np.nan,
            "residual": orbits.residual[i],
            "test": wrong,
            "iterations": found.nfev[i],
            "result": code,
        }
        whole = jax.tree.map(jnp.asarray, numbers)
        points.append(BifurcationPoint(kind=str(kinds[i]), path=path, **whole))
    return points


class _Search:
    """Test functions along the chords of all crossings."""

    def __init__(self, correct, look, courses, places, crossings):
        self.correct, self.look = correct, look
        pairs = [places[c.branch][c.after : c.after + 2] for c in crossings]
        self.starts = np.array([first.x for first, _ in pairs])
        self.chords = np.array([last.x - first.x for first, last in pairs])
        lanes = np.array([c.branch for c in crossings])
        mine = jax.tree.map(lambda leaf: leaf[lanes], courses)
        # A place is only as good as the monodromy matrix there.
        self.courses = mine._replace(tight=mine.tight * 1e-2, close=mine.tight * 1e-2)
        self.kinds = np.array([c.kind for c in crossings])
        ends = self.orbits(np.zeros(len(lanes)), np.arange(len(lanes)))[2]
        self.contacts = ends.contacts

    def corrected(self, share, which):
        """Return the points of the branch at shares of the chords of `which` crossings."""
        courses = jax.tree.map(lambda leaf: leaf[which], self.courses)
        chords = self.chords[which]
        normals = chords / np.linalg.norm(chords, axis=-1, keepdims=True)
        predicted = self.starts[which] + share[:, None] * chords
        found = map_samples(self.correct, (courses, predicted, normals))
        return courses, found

    def test(self, share, which):
        """Return the test functions; NaN where there is no point."""
        which = which.astype(int)
        shape, share, which = share.shape, share.ravel(), which.ravel()
        _, found = self.corrected(share, which)
        multipliers = np.linalg.eigvals(np.nan_to_num(found.monodromy))
        values = {
            "fold": found.tangent[:, -1],
            "period_doubling": np.prod(1 + multipliers, -1).real,
            "neimark_sacker": np.prod(_pairs(multipliers) - 1, -1).real,
            "branch_point": np.prod(1 - multipliers, -1).real,
        }
        kinds = self.kinds[which]
        test = np.select([kinds == kind for kind in values], list(values.values()), np.nan)
        grazing = kinds == "grazing"
        if grazing.any():
            orbits = self.orbits(share[grazing], which[grazing])[2]
            same = orbits.contacts == self.contacts[which[grazing]]
            test[grazing] = np.where(same, -1, 1) * orbits.grazing_margin
        return np.where(found.found, test, np.nan).reshape(shape)

    def orbits(self, share, which):
        """Return parameters, states and orbits at shares of the chords."""
        courses, found = self.corrected(share, which)
        return map_samples(self.look, (courses, found.x))


def _signs(values):
    # An exact zero belongs to the side that it comes from.
    signs = np.sign(values)
    for i in range(1, len(signs)):
        signs[i] = signs[i] or signs[i - 1]
    return signs


def _changes(signs):
    return signs[1:] * signs[:-1] < 0


def _pairs(multipliers):
    """Return the products of two different multipliers, along the last axis."""
    size = multipliers.shape[-1]
    first, second = np.triu_indices(size, 1)
    return multipliers[..., first] * multipliers[..., second]


def _distance(kind: str, multipliers):
    """Return how far multipliers are from what makes the kind, and whether that is near."""
    if kind in ("fold", "branch_point"):
        wrong = np.abs(multipliers - 1).min()
    elif kind == "period_doubling":
        wrong = np.abs(multipliers + 1).min()
    else:
        torus = np.where(multipliers.imag != 0, np.abs(np.abs(multipliers) - 1), np.inf)
        wrong = torus.min()
    return wrong, wrong < _NEAR
