"""Location of bifurcations and events: zeros of test functions along branches.

A sign change of a test function between two points brackets a zero, which is located on
the branch by Chandrupatla's method: points in planes across the chord are corrected
like any other. Jumps without a zero are dropped.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import linalg
from ...ensemble import Reason
from ...foundation.arrays import stack_lanes
from ..equations.defining_equations import NEAR
from .chords import Chords
from .problem import BranchProblem, lane_of
from .test_functions import (
    EvaluatedPoints,
    LocatedZero,
    SignChange,
    eigenvalues_of,
    sign_changes,
)
from .tracer import BranchPoint

_MOST_STEPS = 60  # of a search: bisection reaches rounding in 53


class Located(NamedTuple):
    """A sign change of a branch, and its public result."""

    find: LocatedZero
    result: Any


def locate(
    problem: BranchProblem,
    branches: Sequence[list[BranchPoint]],
    solutions: Sequence[Any],
    seen: Sequence[EvaluatedPoints],
) -> list[list[Located]]:
    """Return the bifurcations and events along each branch, in their order.

    `branches`: the points of each; `solutions`: those at its points; `seen`: what the test
    functions use of them.
    """
    changes: list[SignChange] = []
    every: list[list[Located]] = [[] for _ in branches]
    if not problem.tests:
        return every
    for b, (points, own) in enumerate(zip(branches, seen, strict=True)):
        changes += sign_changes(b, points, own, problem.tests, problem.resolution)
    if not changes:
        return every
    x, success, evaluations, _ = _zeros(problem, branches, solutions, changes)
    lanes = np.array([change.branch for change in changes])
    values, there = problem.evaluated(lanes, x, fine=True)
    eigenvalues = problem.eigenvalues(there)
    for i, change in enumerate(changes):
        b, test = change.branch, change.test
        one = EvaluatedPoints(
            None, eigenvalues[i : i + 1], functools.partial(lane_of, there, [i])
        )
        distance = np.nan if test.distance is None else float(test.distance(one)[0])
        size = _eigenvalue_scale(problem, solutions[b], change, eigenvalues[i])
        near = distance < test.tolerance * size
        if test.kind == "fold":  # a change of the tangent, whatever the multipliers
            known, turns = True, _parameter_varies(problem, branches[b], change, x[i])
        else:
            both = lane_of(solutions[b], slice(change.after, change.after + 2))
            known, turns = problem.reliable(both), True
        genuine = near or np.isinf(test.tolerance) if success[i] else known
        code = Reason.SUCCESS if success[i] else Reason.ITERATION_LIMIT
        find = LocatedZero(
            after=change.after,
            kind=test.kind,
            x=x[i],
            value=values[i],
            solution=lane_of(there, i),
            eigenvalues=eigenvalues[i],
            distance=distance,
            evaluations=int(evaluations[i]),
            code=code,
            along=branches[b][change.after + 1].x - branches[b][change.after].x,
        )
        result = problem.result(find) if genuine and turns else None
        result = result if change.grazing is None else change.grazing
        if result is not None:
            every[b].append(Located(find, result))
    for points, found in zip(branches, every, strict=True):
        in_order(points, found)
    return every


def in_order(points: list[BranchPoint], found: list[Located]) -> None:
    """Sort finds by their places along a branch."""
    found.sort(key=lambda one: _place(points, one.find))


def not_located(
    problem: BranchProblem,
    points: list[BranchPoint],
    values: np.ndarray,
    solutions: Any,
    chord: int,
) -> Located | None:
    """Return the bifurcation that is known to lie on a chord, with a reason.

    Its kind is that of the nearest eigenvalue; None if eigenvalues are only noise.
    """
    both = lane_of(solutions, slice(chord, chord + 2))
    if not problem.reliable(both):
        return None
    eigenvalues = problem.eigenvalues(both)
    there = EvaluatedPoints(None, eigenvalues, tuple)
    distances = {
        test.kind: float(test.distance(there).min())
        for test in problem.tests
        if test.factors and test.distance
    }
    nearest = min(distances, key=distances.__getitem__)
    find = LocatedZero(
        after=chord,
        kind=nearest,
        x=points[chord].x,
        value=values[chord],
        solution=lane_of(both, 0),
        eigenvalues=eigenvalues[0],
        distance=distances[nearest],
        evaluations=0,
        code=Reason.ITERATION_LIMIT,
    )
    result = problem.result(find)
    return None if result is None else Located(find, result)


def _eigenvalue_scale(
    problem: BranchProblem, solutions, change: SignChange, eigenvalues
) -> float:
    """Return the size of the eigenvalues at a zero and at both ends of its chord.

    At the zero itself all of them may be 0, as at a fold of a single state.
    """
    ends = lane_of(solutions, slice(change.after, change.after + 2))
    return problem.size(np.append(np.ravel(problem.eigenvalues(ends)), eigenvalues))


def _place(points: list[BranchPoint], find: LocatedZero) -> tuple[int, float]:
    """Return the place of a find along a branch: its chord, and how far along it."""
    start, *end = (point.x for point in points[find.after : find.after + 2])
    return find.after, float(linalg.dot(find.x - start, end[0] - start)) if end else 0.0


def _parameter_varies(problem: BranchProblem, points, fold: SignChange, x) -> bool:
    """Return whether the parameter is not constant from a fold to an end."""
    parameter = np.array([point.x[-1] for point in points])
    moved = np.abs(parameter - x[-1]) > problem.resolution
    first = fold.after + 1
    return bool(moved[:first].any() and moved[first + fold.run - 1 :].any())


class _Zeros(NamedTuple):
    """Points of sign changes, whether they are located, evaluations, eigenvalues."""

    x: np.ndarray
    success: np.ndarray
    evaluations: np.ndarray
    eigenvalues: np.ndarray

    def is_noise(
        self, i: int, change: SignChange, problem: BranchProblem, solutions: Sequence
    ) -> bool:
        """Return whether a fold's tangent is noise: no eigenvalue passes there."""
        size = _eigenvalue_scale(
            problem, solutions[change.branch], change, self.eigenvalues[i]
        )
        eigenvalues = self.eigenvalues[i : i + 1]
        assert change.test.distance is not None
        distance = change.test.distance(EvaluatedPoints(None, eigenvalues, tuple))[0]
        return not distance < NEAR * size


def _zeros(
    problem: BranchProblem, branches, solutions, changes: list[SignChange]
) -> _Zeros:
    """Return the points of sign changes.

    Where the tangent at a fold is rounding noise, it is located by the eigenvalue that
    passes nearby.
    """
    zeros = _Search(problem, branches, solutions, changes).zeros()
    rows = {test.kind: test for test in problem.tests}
    for i, change in enumerate(changes):
        if change.test.kind != "fold":
            continue
        sure = zeros.success[i] and change.run == 1
        if sure and not (change.others and zeros.is_noise(i, change, problem, solutions)):
            continue
        if change.others:
            passed = rows["branch_point"]._replace(kind="fold", lost=np.nan, refine=None)
            row = passed._replace(accuracy=change.test.accuracy)
            again = [change._replace(after=after, test=row) for after in change.others]
            others = _Search(problem, branches, solutions, again).zeros()
            located = np.flatnonzero(others.success)
            if located.size:
                for leaf, other in zip(zeros, others, strict=True):
                    leaf[i] = other[located[0]]
                continue
        # Between points of equal parameter, the parameter of the fold is known.
        first, last = branches[change.branch][change.after : change.after + 2]
        zeros.success[i] |= abs(last.x[-1] - first.x[-1]) <= problem.resolution
    return zeros


class _Search(Chords):
    """Test functions along the chords of all sign changes."""

    def __init__(self, problem: BranchProblem, branches, solutions, changes):
        ends = [branches[one.branch][one.after : one.after + 2] for one in changes]
        super().__init__(problem, [change.branch for change in changes], ends)
        self.tests = [change.test for change in changes]
        self.corners = np.array([change.corner for change in changes])
        lanes = [
            lane_of(solutions[one.branch], slice(one.after, one.after + 2))
            for one in changes
        ]
        # The solutions at both ends of the chords: (chords, 2, ...).
        self.ends = stack_lanes(lanes)
        self.eigenvalues = problem.eigenvalues(lane_of(self.ends, (slice(None), 0)))

    def zeros(self) -> _Zeros:
        """Return the zeros of the test functions on all chords."""
        every = np.arange(len(self.tests))
        fractions, success = np.zeros(len(every)), self.corners.copy()
        evaluations = np.zeros(len(every), int)
        accuracies = np.array([test.accuracy for test in self.tests])
        for accuracy in np.unique(accuracies):
            which = every[~self.corners & (accuracies == accuracy)]
            if which.size:
                found = find_roots(self._test, which, accuracy, _MOST_STEPS)
                fractions[which] = np.nan_to_num(found.x, nan=0.5)
                success[which], evaluations[which] = found.success, found.evaluations
        found = self.corrected(fractions, every)
        x, eigenvalues = np.array(found.x), eigenvalues_of(found)
        for i, test in enumerate(self.tests):
            if test.refine is None or self.corners[i]:
                continue
            better, success[i] = test.refine(self, i, fractions[i], bool(success[i]))
            x[i] = x[i] if better is None else better
        # A jump between two points: take the first one.
        x = np.where(success[:, None], x, self.starts)
        return _Zeros(x, success, evaluations, eigenvalues)

    def _test(self, fraction, which):
        """Return the test functions; NaN if the correction fails."""
        return self.values(self.corrected(fraction, which), which)

    def values(self, found, which) -> np.ndarray:
        """Return the test functions at corrected points of the chords `which`."""
        values = np.empty(len(which))
        for test in dict.fromkeys(self.tests[i] for i in which):
            mine = np.array([self.tests[i] == test for i in which])
            some, own = type(found)(*(leaf[mine] for leaf in found)), which[mine]
            count = self.problem.parameters

            def solutions(some=some, own=own):
                return self.evaluated(some.x, own)

            def at_starts(own=own):
                return lane_of(self.ends, (own, 0))

            tangents, before = self.tangents[0][own][:, -count:], self.eigenvalues[own]
            first = EvaluatedPoints(tangents, before, at_starts)
            seen = EvaluatedPoints.of_corrected(some, count, solutions)
            values[mine] = np.where(some.found, test.value(seen, first), test.lost)
        return values

    def evaluated(self, x, which):
        """Return the solutions at scaled points of the chords `which`."""
        return self.problem.evaluated(self.branches[which], x, fine=True)[1]


class Roots(NamedTuple):
    """Roots, NaN where there is none; whether each was found; evaluations of each."""

    x: np.ndarray
    success: np.ndarray
    evaluations: np.ndarray


def find_roots(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    which: np.ndarray,
    tolerance: float,
    iterations: int,
) -> Roots:
    """Return a root in [0, 1] of each function `which`, to an absolute tolerance.

    `function(x, which)`: the values of functions at points. The steps, to the bit, are
    those of `scipy.optimize.elementwise.find_root`, whose import takes 0.3 s: inverse
    quadratic interpolation where it is safe, else bisection.

    **Source:** Chandrupatla, *Adv. Eng. Software* 28 (1997), 145.
    """
    count = len(which)
    roots = Roots(np.zeros(count), np.zeros(count, bool), np.zeros(count, int))
    active, x1, x2 = np.arange(count), np.zeros(count), np.ones(count)
    f1, f2 = function(x1, which), function(x2, which)
    x3, f3, t = x2, f2, 0.5
    # SciPy stops at an exact zero only with such values at the ends.
    finite = np.isfinite(np.minimum(np.abs(f1), np.abs(f2)))
    for iteration in range(iterations + 1):
        nearest = np.where(np.abs(f1) < np.abs(f2), x1, x2)
        zero = finite[active] & (np.where(np.abs(f1) < np.abs(f2), f1, f2) == 0)
        lost = ~zero & ((np.sign(f1) == np.sign(f2)) | (np.isnan(f1) & np.isnan(f2)))
        width = np.abs(x2 - x1)
        found = zero | ~lost & (width < tolerance)
        roots.x[active] = np.where(lost, np.nan, nearest)
        roots.success[active] = found
        roots.evaluations[active] = iteration + 2
        goes_on = ~(found | lost)
        active = active[goes_on]
        if not active.size or iteration == iterations:
            break
        x1, x2, x3, f1, f2, f3, width = (
            each[goes_on] for each in (x1, x2, x3, f1, f2, f3, width)
        )
        if iteration:
            t = _fractions(x1, x2, x3, f1, f2, f3, 0.5 * tolerance / width)
        x = x1 + t * (x2 - x1)
        f = function(x, which[active])
        same = np.sign(f) == np.sign(f1)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, f
    return roots


def _fractions(x1, x2, x3, f1, f2, f3, margin):
    """Return the next points' positions between x1 and x2."""
    with np.errstate(divide="ignore", invalid="ignore"):
        position = (x1 - x2) / (x3 - x2)
        height = (f1 - f2) / (f3 - f2)
        ratio = (x3 - x1) / (x2 - x1)
        safe = (1 - np.sqrt(1 - position) < height) & (height < np.sqrt(position))
        inverse = f1 / (f1 - f2) * f3 / (f3 - f2) - ratio * f1 / (f3 - f1) * f2 / (f2 - f3)
    return np.clip(np.where(safe, inverse, 0.5), margin, 1 - margin)
