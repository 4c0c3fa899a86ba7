"""Tracing of branches, with evaluation of their points and location of bifurcations."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ... import linalg
from ...ensemble import Reason
from ...foundation.arrays import one_lane
from .arclength import run_tracers
from .chords import bracketed, searched, unlisted
from .location import Located, in_order, locate, not_located
from .problem import BranchProblem, lane_of
from .test_functions import EvaluatedPoints
from .tracer import RUNNING, BranchPoint, Limits, Tracer, TracerContext

# Rounds of refinement of chords that skip a corner.
_ROUNDS = 3
# Steps per chord, and the largest number of steps along the skipped part.
_PARTS = 16
_MOST = 8 * _PARTS
# A bifurcation at an end that differs by less, relative, is one located before.
_SAME = 1e-7


class Traced(NamedTuple):
    """A branch: parameter values, solutions, prediction errors, end codes.

    `results`: the bifurcations and events along it, in their order.
    """

    values: np.ndarray
    solutions: Any
    misses: np.ndarray
    ends: tuple[Reason, Reason]
    results: list[Any]


class _Evaluated(NamedTuple):
    """The points of a branch with parameter values and solutions, and its finds.

    `used`: what the test functions use of the points.
    """

    points: list[BranchPoint]
    values: np.ndarray
    solutions: Any
    used: EvaluatedPoints
    located: list[Located]


def trace(
    problem: BranchProblem,
    pairs: Sequence[Sequence[Tracer]],
    limits: Limits,
    report: Callable[[int], None],
) -> list[Traced]:
    """Return the branches traced by pairs of tracers, with all points evaluated."""
    traces = run_tracers(problem, pairs, limits.most_points, report)
    every = _evaluated(problem, [points for points, _ in traces], limits)
    complete = []
    for b, ((_, ends), seen) in enumerate(zip(traces, every, strict=True)):
        seen = _refined(problem, b, seen, limits)
        start = pairs[b][0].start
        own = next(i for i, point in enumerate(seen.points) if point.x is start.x)
        traced = _up_to_stops(problem, own, seen, ends)
        low, high = (
            problem.at_end(b, one, code)
            for one, code in zip(reversed(pairs[b]), traced.ends, strict=True)
        )
        below, above = (
            [] if one is None or _is_listed(one, traced.results) else [one]
            for one in (low, high)
        )
        ends = _ended(traced.ends[0], low), _ended(traced.ends[1], high)
        complete.append(
            traced._replace(results=[*below, *traced.results, *above], ends=ends)
        )
    return complete


def _is_listed(found: Any, results: Sequence[Any]) -> bool:
    """Return whether the bifurcation at an end is among those located before it."""
    return any(
        one.kind == found.kind
        and np.isclose(one.parameter, found.parameter, _SAME, 0.0)
        and np.allclose(one.state, found.state, _SAME, _SAME * np.abs(found.state).max())
        for one in results
        if isinstance(one, type(found))
    )


def _ended(code: Reason, found: Any) -> Reason:
    """Return the reason of an end, given the bifurcation found there or None."""
    return code if found is None or found.kind != "grazing" else Reason.GRAZING


def _evaluated(problem: BranchProblem, branches, limits: Limits) -> list[_Evaluated]:
    """Evaluate all points of branches, and what happens between them."""
    lanes = list(range(len(branches)))
    every = _solved(problem, lanes, branches, limits)
    longer = searched(problem, branches, [each.used for each in every])
    more = [b for b in lanes if len(longer[b]) > len(branches[b])]
    _replace(every, more, _solved(problem, more, [longer[b] for b in more], limits))
    _locate(problem, every, lanes)
    missed = {b: _unlisted(problem, every[b]) for b in lanes}
    more = [b for b in lanes if missed[b]]
    longer = [bracketed(problem, b, every[b].points, missed[b]) for b in more]
    _replace(every, more, _solved(problem, more, longer, limits))
    _locate(problem, every, more)
    for seen in (every[b] for b in more):
        columns = seen.points, seen.values, seen.solutions
        for chord in _unlisted(problem, seen):
            found = not_located(problem, *columns, chord)
            if found is not None:
                seen.located.append(found)
        in_order(seen.points, seen.located)
    return every


def _solved(problem: BranchProblem, lanes, branches, limits: Limits) -> list[_Evaluated]:
    """Return branches, of the given lanes, with the solutions at their points."""
    if not lanes:
        return []
    sizes = [len(points) for points in branches]
    owners, ends = np.repeat(lanes, sizes), np.cumsum(sizes)
    x = np.array([point.x for points in branches for point in points])
    values, every = problem.evaluated(owners, x)
    values = limits.restored(x, values)
    solved = []
    for lane, points, size, end in zip(lanes, branches, sizes, ends, strict=True):
        own = lane_of(every, slice(end - size, end))
        used = problem.seen(lane, points, own)
        solved.append(_Evaluated(points, values[end - size : end], own, used, []))
    return solved


def _replace(every: list, lanes: Sequence[int], others: Sequence) -> None:
    for lane, other in zip(lanes, others, strict=True):
        every[lane] = other


def _locate(problem: BranchProblem, every: list[_Evaluated], lanes: Sequence[int]) -> None:
    """Locate the bifurcations and events of branches of the given lanes."""
    if not lanes:
        return
    points, _, solutions, used, _ = zip(*every, strict=True)
    some = [points[b] if b in lanes else [] for b in range(len(every))]
    located = locate(problem, some, solutions, used)
    for b in lanes:
        every[b] = every[b]._replace(located=located[b])


def _unlisted(problem: BranchProblem, seen: _Evaluated) -> list[int]:
    finds = [find for find, _ in seen.located]
    return unlisted(problem, seen.points, seen.used, finds)


def _refined(problem: BranchProblem, b: int, seen: _Evaluated, limits) -> _Evaluated:
    """Refine the chords of a branch that skip corners."""
    for _ in range(_ROUNDS):
        parts = {
            find.after: in_small_steps(
                problem.context(b, limits), *seen.points[find.after :][:2]
            )
            for find, _ in seen.located
            if find.kind == "grazing" and not find.located
        }
        if not any(parts.values()):
            break
        points = []
        for i, point in enumerate(seen.points):
            points += [point, *parts.get(i, [])]
        seen = _evaluated(problem.alone(b), [points], limits)[0]
    return seen


def _up_to_stops(
    problem: BranchProblem, own: int, seen: _Evaluated, ends: Sequence[Reason]
) -> Traced:
    """Return a branch, truncated at the nearest finds at which it stops.

    `own`: the index of the start of the branch.
    """
    finds = [find for find, _ in seen.located if find.kind in problem.stops]
    before = [find for find in finds if find.after < own][-1:]
    beyond = [find for find in finds if find.after >= own][:1]
    first = before[0].after + 1 if before else 0
    last = beyond[0].after + 1 if beyond else len(seen.points)

    def tip(find):
        return one_lane((find.value, find.solution, np.nan))

    columns = seen.values, seen.solutions, np.array([point.miss for point in seen.points])
    parts = [
        *(tip(find) for find in before if find.located),
        lane_of(columns, slice(first, last)),
        *(tip(find) for find in beyond if find.located),
    ]
    joined = jax.tree.map(lambda *all_: np.concatenate(all_), *parts)
    low = problem.stops[before[0].kind] if before else ends[0]
    high = problem.stops[beyond[0].kind] if beyond else ends[1]
    located = [result for find, result in seen.located if first - 1 <= find.after < last]
    return Traced(*joined, (low, high), located)


def in_small_steps(
    around: TracerContext, first: BranchPoint, last: BranchPoint
) -> list[BranchPoint]:
    """Return points between two neighbours; none if the last is not reached.

    Near grazing a branch can turn sharply, with folds in a part far shorter than the
    neighbouring steps. The predictor then skips that part and lands on the branch beyond
    it.
    """
    length = float(linalg.norm(last.x - first.x)) / _PARTS
    limits = around.limits._replace(first_step=length, largest_step=length)
    tracer = Tracer(around._replace(limits=limits), first)
    while tracer.code == RUNNING and len(tracer.points) < _MOST:
        before = len(tracer.points)
        tracer.accept(around.correct(*tracer.plan(_MOST - before)))
        for number, point in enumerate(tracer.points[before:], before):
            chord = point.x - last.x
            if linalg.dot(chord, last.tangent) >= 0 and linalg.norm(chord) < 1.5 * length:
                return tracer.points[:number]
    return []
