"""Detection and location of bifurcations on smooth branches: zeros of test functions.

Like `branches.test_functions`, for branches whose test functions need only results of
the corrector: the tangent and the eigenvalues of a matrix.
"""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy  # submodules are imported on first use: .interpolate takes 0.3 s
from scipy.optimize import elementwise

from .. import linalg
from .tracer import BranchPoint

# A branch point is interpolated from points at these distances, relative to the chord.
_BESIDE = np.array([-0.01, -0.005, 0.005, 0.01])
# Accuracy of a sign change, relative to the chord: rounding; at branch points, where a
# plane contains points of both branches, what interpolation between neighbours needs.
_ACCURACY, _OF_BRANCH_POINTS = 1e-14, 1e-3
# Values of a test function below this, relative to its largest, are rounding noise.
_NOISE = 1e-13

Tests = Mapping[str, Callable]


class SignChange(NamedTuple):
    """A sign change of `kind` `after` a point of a branch, with the eigenvalues there."""

    after: int
    kind: str
    x: np.ndarray
    values: np.ndarray
    evaluations: int
    found: bool


def detect_bifurcations(
    correct, points: Sequence[BranchPoint], tests: Tests, apart: float = 0.0
) -> list[SignChange]:
    """Return the sign changes between neighbouring points of a branch, in their order.

    `correct`: maps predictions and normals to points of the branch, whose `monodromy` has
    the eigenvalues; `tests`: functions of the tangents' last components and of
    eigenvalues (points, n), by kind. A "branch_point" at a "fold" is not reported.
    Consecutive folds with parameters within `apart` count as one if odd in number, and
    otherwise as none.
    """
    if len(points) < 2:
        return []
    starts, tangents = (np.array([point[i] for point in points]) for i in (0, 1))
    found = correct(starts, tangents)
    values = linalg.eigenvalues(np.nan_to_num(found.monodromy))
    changes = {
        kind: _signs_change(test(tangents[:, -1], values)) for kind, test in tests.items()
    }
    folds = []
    for run in _runs(np.flatnonzero(changes.pop("fold")), starts[:, -1], apart):
        beside = np.abs(starts[:-1, -1] - starts[run[0], -1]) <= apart
        beside[run] = True
        crossings = np.flatnonzero(changes["branch_point"] & beside)
        changes["branch_point"] &= ~beside
        if len(run) % 2:
            fold = _fold(correct, points, tests, run, crossings, apart)
            # It is no fold if the parameter is constant from there to an end.
            moved = np.abs(starts[:, -1] - fold.x[-1]) > apart
            if moved[: run[0] + 1].any() and moved[run[-1] + 1 :].any():
                folds.append(fold)
    located = [
        _located(correct, points[after : after + 2], int(after), kind, tests[kind])
        for kind, where in changes.items()
        for after in np.flatnonzero(where)
    ]
    return sorted([*folds, *located], key=lambda change: change.after)


def _signs_change(values):
    """Return the chords on which a test function changes sign, (points - 1,).

    Values at the level of rounding have no reliable sign: after a run of them the change
    is where their computed signs first agree with the next reliable one.
    """
    signs = np.sign(values)
    changes = np.zeros(len(values) - 1, bool)
    sure = np.flatnonzero(np.abs(values) > _NOISE * np.abs(values).max())
    for before, behind in itertools.pairwise(sure):
        if signs[before] != signs[behind]:
            agree = signs[before + 1 : behind + 1] == signs[behind]
            changes[before + np.argmax(agree)] = True
    return changes


def _runs(folds, parameter, apart: float):
    """Return runs of consecutive folds with parameters within `apart`.

    Along a canard the parameter is constant to double precision and its direction is
    rounding noise: only a run with an odd number of folds reverses it.
    """
    if not len(folds):
        return []
    steps = np.abs(np.diff(parameter[folds]))
    return np.split(folds, np.flatnonzero(steps > apart) + 1)


def _fold(correct, points, tests: Tests, run, crossings, apart: float) -> SignChange:
    """Return the fold of a run, from the eigenvalues if the tangent is rounding noise.

    `crossings`: the chords nearby on which an eigenvalue passes that of a fold.
    """
    first = int(run[0])
    ends = points[first : first + 2]
    change = _located(correct, ends, first, "fold", tests["fold"])
    if change.found and len(run) == 1:
        return change
    for after in map(int, crossings):
        passed = _located(
            correct, points[after : after + 2], after, "fold", tests["branch_point"]
        )
        if passed.found:
            return passed
    # Between points of equal parameter, the parameter of the fold is known.
    known = abs(ends[1].x[-1] - ends[0].x[-1]) <= apart
    return change._replace(found=change.found or bool(known))


def _located(correct, ends, after: int, kind: str, test) -> SignChange:
    """Locate a sign change on the chord between two points."""
    first, last = ends
    chord = last.x - first.x
    length = linalg.norm(chord)

    def corrected(fractions):
        fractions = np.atleast_1d(fractions)[:, None]
        bend, twist = length * first.tangent - chord, length * last.tangent - chord
        rest = fractions * (1 - fractions) * ((1 - fractions) * bend - fractions * twist)
        predicted = first.x + fractions * chord + rest
        return correct(predicted, np.tile(chord / length, (len(fractions), 1)))

    def tested(found):
        values = linalg.eigenvalues(np.nan_to_num(found.monodromy))
        # Where two branches cross, a plane contains points of both.
        lost = 0.0 if kind == "branch_point" else np.nan
        return np.where(found.found, test(found.tangent[:, -1], values), lost)

    crossing = kind == "branch_point"
    accuracy = _OF_BRANCH_POINTS if crossing else _ACCURACY
    root = elementwise.find_root(
        lambda fractions: tested(corrected(fractions.ravel())).reshape(fractions.shape),
        (np.zeros(1), np.ones(1)),
        tolerances={"xatol": accuracy, "xrtol": 0.0, "fatol": 0.0, "frtol": 0.0},
        maxiter=60,
    )
    fraction = np.nan_to_num(root.x, nan=0.5)
    there = corrected(fraction)
    x = there.x[0]
    if crossing:
        x = _between(corrected(fraction + _BESIDE), tested, x)
    values = linalg.eigenvalues(np.nan_to_num(there.monodromy[0]))
    if not root.success[0]:
        x = first.x  # a jump between two points: report the first one
    return SignChange(after, kind, x, values, int(root.nfev[0]), bool(root.success[0]))


def _between(found, tested, x):
    """Interpolate the zero of the test function between neighbours, or return `x`."""
    tests = tested(found)
    if np.any(np.diff(np.sort(tests)) == 0) or not found.found.all():
        return x
    at_zero = scipy.interpolate.BarycentricInterpolator(tests, _BESIDE)(0.0)
    return scipy.interpolate.BarycentricInterpolator(_BESIDE, found.x)(at_zero)


def pairs(values, combine: Callable):
    """Return `combine` of all pairs of different values along the last axis."""
    first, second = np.triu_indices(values.shape[-1], 1)
    return combine(values[..., first], values[..., second])


product = functools.partial(np.prod, axis=-1)
