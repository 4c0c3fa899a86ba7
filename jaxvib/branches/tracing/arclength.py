"""Pseudo-arclength continuation, batched over branches.

Each branch is traced from one orbit in both directions, by two tracers with separate
step size control and termination (`tracing.tracer`); predictions of all running
tracers are corrected as one batch (`equations.corrector`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from ... import linalg
from ...ensemble import Reason
from .problem import BranchProblem
from .tracer import RUNNING, BranchPoint, Limits, Tracer, axis_of

# Solutions this many times as large as at the start need other units; each time a branch
# may go on to larger ones.
_OUTGROWN, _RESCALINGS = 4.0, 4


def both_ways(
    problem: BranchProblem, starts: np.ndarray, limits: Limits
) -> list[list[Tracer]]:
    """Return two tracers per branch, up and down the last parameter from its start.

    `starts`: scaled unknowns, (branches, unknowns).
    """
    normals = np.tile(axis_of(starts.shape[1], -1), (len(starts), 1))
    found = problem.correct(np.arange(len(starts)), starts, normals)
    up = np.asarray(found.tangent * np.sign(found.tangent[:, -1:]))
    pairs = []
    for i, start in enumerate(starts):
        context = problem.context(i, limits)
        code = RUNNING if found.found[i] else Reason.DIVERGED
        x = np.append(found.x[i, :-1], start[-1])
        points = [BranchPoint(x, sign * up[i], 0.0) for sign in (1, -1)]
        pairs.append([Tracer(context, one, code) for one in points])
    return pairs


def run_tracers(
    problem: BranchProblem,
    pairs: Sequence[Sequence[Tracer]],
    most_points: int,
    report: Callable[[int], None],
) -> list[tuple[list[BranchPoint], tuple[Reason, Reason]]]:
    """Run every pair of tracers until both have ended.

    **Returns:** for each branch its points in order and the reason codes of both ends.
    """
    while True:
        going = [
            (lane, one, room)
            for lane, pair in enumerate(pairs)
            for one, room in _shared(pair, most_points)
        ]
        if not going:
            break
        plans = [one.plan(room) for _, one, room in going]
        sizes = [len(predicted) for predicted, _ in plans]
        predicted, normals = (np.concatenate(part) for part in zip(*plans, strict=True))
        lanes = np.repeat([lane for lane, _, _ in going], sizes)
        found = problem.correct(lanes, predicted, normals)
        ends = np.cumsum(sizes)
        for (_, one, _), size, end in zip(going, sizes, ends, strict=True):
            report(one.accept(found._make(leaf[end - size : end] for leaf in found)))
        for pair in pairs:
            _end_together(*pair, most_points)
    return [_joined(*pair) for pair in pairs]


def run_in_scale(
    problem: BranchProblem,
    pair: Sequence[Tracer],
    limits: Limits,
    report: Callable[[int], None],
) -> tuple[BranchProblem, Sequence[Tracer]]:
    """Run a pair of tracers; again in larger units if the solutions outgrow theirs.

    A branch may begin at nearly zero, from where its size is not known: its steps would
    follow the growth of its states rather than the parameter.

    **Returns:** the problem in its last units, and its tracers, which have ended.
    """
    for _ in range(_RESCALINGS):
        run_tracers(problem, [pair], limits.most_points, report)
        points = [point for one in pair for point in (one.start, *one.points)]
        reached = np.abs([point.x[: -problem.parameters] for point in points]).max(axis=0)
        if reached.max() <= _OUTGROWN:
            break
        growth = np.append(np.maximum(reached, 1.0), np.ones(problem.parameters))
        problem = problem.rescaled(problem.data.units * growth)
        context = problem.context(0, limits)
        start = pair[0].start
        pair = [
            Tracer(
                context,
                start._replace(
                    x=start.x / growth,
                    tangent=_unit(one.start.tangent / growth),
                ),
                one.code if one.code == Reason.BRANCHED else RUNNING,
            )
            for one in pair
        ]
    return problem, pair


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / linalg.norm(vector)


def _number(pair) -> int:
    return 1 + sum(len(one.points) for one in pair)


def _shared(pair, most: int):
    """Return the running tracers of a branch, and the points that each may add."""
    going = [one for one in pair if one.code == RUNNING]
    each, more = divmod(most - _number(pair), max(len(going), 1))
    rooms = [(one, each + (i < more)) for i, one in enumerate(going)]
    return [(one, room) for one, room in rooms if room]


def _end_together(above: Tracer, below: Tracer, most: int) -> None:
    """End both tracers of a branch if one has closed, or at the limit of points."""
    if Reason.CLOSED in (above.code, below.code):
        closed, other = (above, below) if above.code == Reason.CLOSED else (below, above)
        other.code, other.points = closed.code, []
    if _number((above, below)) >= most:
        for one in (above, below):
            one.code = Reason.POINT_LIMIT if one.code == RUNNING else one.code


def _joined(above: Tracer, below: Tracer):
    start = above.start
    back = [*below.points[::-1], start]
    # What lies between two points belongs to the second of them.
    between = [(None, False), *((point.grazing, point.jumped) for point in back[:-1])]
    turned = [
        point._replace(tangent=-point.tangent, grazing=grazing, jumped=jumped)
        for point, (grazing, jumped) in zip(back, between, strict=True)
    ]
    turned[-1] = turned[-1]._replace(tangent=start.tangent)
    return [*turned, *above.points], (below.code, above.code)
