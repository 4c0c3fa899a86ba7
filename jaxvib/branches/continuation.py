"""Continuation: branches of periodic motions followed along one parameter."""

from collections.abc import Callable, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._quantity import Range, check_range
from ..ensemble import Reason, reason
from ..orbits.periodic_orbit import PeriodicOrbit, evidence_factor
from ..orbits.regimes import batched
from ..systems.parameters import parameters
from .bifurcation import BifurcationPoint
from .branch import Branch, branch_of, stacked
from .events import watch_of
from .following import arcs, crossed, frame_of, kinds_and_events, walked
from .limits import (
    check_periods_along,
    checked_steps,
    enclosing,
    known_parameter,
    limits_of,
)
from .natural import Follower
from .one_way import Place
from .point import Point
from .switching import FROM, frame_at, pair_at

METHODS = ("natural", "arclength")


def continue_orbit(
    system: eqx.Module,
    orbit: PeriodicOrbit,
    path: str,
    bounds: tuple[float, float],
    method: str = "arclength",
    *,
    segments: int = 1,
    first_step: float | None = None,
    smallest_step: float | None = None,
    largest_step: float | None = None,
    most_points: int = 500,
    correct: bool = True,
    rtol: float = 1e-8,
    evidence: str = "checked",
    events: Mapping[str, float | Callable] | None = None,
    stop_at: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Branch:
    r"""Follow a periodic motion along a parameter, both ways from its own value.

    Steps are measured along the branch (`branches.arclength`) and go round its folds,
    until it reaches a bound or comes back to where it began. Where points are to lie
    closer together than the branch asks for, up to 32 are corrected together. Where the
    branch changes its kind on the way is in `.bifurcations` (`branches.crossings`).

    `method="natural"` is the step of Pogorelova and Postnikova: a change $\delta p$ of
    the parameter changes the state by

    $$(M - I)\,\delta s = -r - \frac{\partial\varphi^{nT}}{\partial p}\,\delta p,$$

    both columns from `jax.jacfwd` of the flow, where the paper solves five Cauchy
    problems. Newton's method then corrects it; the next step is chosen so that the
    predicted state misses by 0.3 % of the motion's size. It cannot pass a fold, where
    M - I is singular: it stops there with the reason `SINGULAR`. With `correct=False` the
    paper's own step is taken as it is, in steps of `first_step`: nothing is corrected,
    and each point's `residual` and `state_error` say how far it has drifted.

    **Arguments:** `orbit`: of `system` as it is. `path`, `bounds`: the parameter and
    the values to stop at; the system's own value lies between them. Steps are in the
    parameter's unit; their defaults are 1/50, 1e-7 and 1/20 of the range. `segments`:
    into which the period is cut for multiple shooting, with `method="arclength"`.
    `events`: values of an orbit's quantities, as `{"max_contact_force": 2e4}`, or any
    names with functions of an orbit whose zeros they are; located like bifurcations, in
    `.events`. `stop_at`: those of them that end the branch, with `method="arclength"`.

    **Raises:** `ValueError` for an unknown path or method, bounds that do not enclose
    the system's value, or an orbit that was not found.

    **Source:** Pogorelova and Postnikova (2011).
    """
    if method not in METHODS:
        raise ValueError(f"method = {method!r}; allowed: {', '.join(METHODS)}")
    declared = known_parameter(system, path)
    low, high = enclosing(declared, path, bounds, declared.value)
    check_periods_along(system, path, (low, high))
    steps = checked_steps(high - low, first_step, smallest_step, largest_step)
    limits = limits_of(low, high, steps, most_points)
    watch = watch_of(events, stop_at)
    check_range("segments", segments, "", Range(at_least=1))
    if stop_at and method != "arclength":
        raise ValueError(f"stop_at = {stop_at}; allowed: with method = 'arclength' only")
    if method == "arclength" and not correct:
        raise ValueError(
            f"method = {method!r} corrects its steps; allowed: correct = "
            "True, or method = 'natural'"
        )
    if method == "natural" and segments > 1:
        raise ValueError(f"segments = {segments}; allowed: 1 with method = 'natural'")
    if int(orbit.result) != Reason.SUCCESS:
        raise ValueError(f"orbit was not found: {reason(orbit.result)}")
    value = float(declared.value)
    factor, tell = evidence_factor(evidence), progress or (lambda count: None)
    leaves, static = eqx.partition(system, eqx.is_inexact_array)
    one = jax.tree.map(
        lambda leaf: np.asarray(leaf)[None], (leaves, orbit.state, orbit.amplitude)
    )
    frame = frame_of(one, static, path, high - low, orbit.periods, rtol, factor, segments)
    if method == "arclength":
        return arcs(frame, one[1], np.array([value]), limits, segments, tell, watch)[0]
    follow = Follower(
        system,
        path,
        jnp.asarray(orbit.periods),
        jnp.asarray(rtol, float),
        jnp.asarray(factor),
        steps,
    )
    walk = follow.corrected if correct else follow.uncorrected
    start = Point(value, orbit, 0.0)
    below, low_end = walk(start, low, most_points // 2, tell)
    above, high_end = walk(start, high, most_points - 1 - len(below), tell)
    points = [*reversed(below), start, *above]
    orbits = stacked([point.orbit for point in points])
    units = frame.courses.units[0]
    scaled = np.array([np.append(p.orbit.state, p.value) / units for p in points])
    ways = np.gradient(scaled, axis=0) if len(points) > 1 else np.ones_like(scaled)
    ways = ways / np.linalg.norm(ways, axis=-1, keepdims=True)
    places = [Place(x, way, 0.0) for x, way in zip(scaled, ways, strict=True)]
    crossings = crossed(frame, [places], [orbits], watch.events) if correct else [[]]
    found = [point for _, point in crossings[0]]
    values, _, misses = zip(*points, strict=True)
    ends = low_end, high_end
    return branch_of(
        path, values, orbits, misses, orbit.periods, ends, *kinds_and_events(found)
    )


def continue_orbits(
    system: eqx.Module,
    samples: Mapping[str, Sequence[float] | np.ndarray],
    orbits: PeriodicOrbit,
    path: str,
    bounds: tuple[float, float],
    *,
    segments: int = 1,
    first_step: float | None = None,
    smallest_step: float | None = None,
    largest_step: float | None = None,
    most_points: int = 500,
    rtol: float = 1e-8,
    evidence: str = "checked",
    events: Mapping[str, float | Callable] | None = None,
    stop_at: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> list[Branch]:
    """Follow many periodic motions at once along a parameter, each both ways.

    Every branch is the one that `continue_orbit` finds by arclength from its own sample,
    with steps, ends and bifurcations of its own; those that have ended leave the others
    going on.

    **Arguments:** `samples`: values by parameter path, each of shape (branches,);
    `orbits`: of the samples, with a leading axis, from `regimes` or a `vmap` of
    `periodic_orbit`. The others are those of `continue_orbit`. **Returns:** the branches
    in order; that of an orbit that was not found has no point, and its reason at both
    ends.

    **Raises:** `ValueError` for an unknown path, a value out of its range, bounds that
    do not enclose the samples' values, or orbits of another number.

    **Source:** Keller, in Rabinowitz (ed.), *Applications of Bifurcation Theory* (1977).
    """
    leaves, static = batched(system, samples)
    number = len(jax.tree.leaves(leaves)[0])
    if np.shape(orbits.result) != (number,):
        raise ValueError(
            f"orbits have shape {np.shape(orbits.result)}; allowed: ({number},)"
        )
    check_range("segments", segments, "", Range(at_least=1))
    declared = known_parameter(system, path)

    def value_of(leaves):
        return parameters(eqx.combine(leaves, static))[path].value

    values = np.asarray(jax.vmap(value_of)(leaves))
    low, high = enclosing(declared, path, bounds, values)
    if number:
        first = jax.tree.map(lambda leaf: leaf[0], leaves)
        check_periods_along(eqx.combine(first, static), path, (low, high))
    steps = checked_steps(high - low, first_step, smallest_step, largest_step)
    limits, watch = limits_of(low, high, steps, most_points), watch_of(events, stop_at)
    factor, tell = evidence_factor(evidence), progress or (lambda count: None)
    there = np.flatnonzero(np.asarray(orbits.result) == Reason.SUCCESS)
    orbits = jax.tree.map(np.asarray, orbits)
    branches: dict[int, Branch] = {}
    if there.size:
        lanes = jax.tree.map(
            lambda leaf: leaf[there], (leaves, orbits.state, orbits.amplitude)
        )
        periods = orbits.periods[there]
        frame = frame_of(lanes, static, path, high - low, periods, rtol, factor, segments)
        found = arcs(frame, lanes[1], values[there], limits, segments, tell, watch)
        branches = dict(zip(there.tolist(), found, strict=True))
    return [
        branches[lane] if lane in branches else _without_points(path, orbits, lane)
        for lane in range(number)
    ]


def switch_branch(
    system: eqx.Module,
    point: BifurcationPoint,
    bounds: tuple[float, float],
    way: int = 1,
    *,
    first_step: float | None = None,
    smallest_step: float | None = None,
    largest_step: float | None = None,
    most_points: int = 500,
    rtol: float = 1e-8,
    evidence: str = "checked",
    events: Mapping[str, float | Callable] | None = None,
    stop_at: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Branch:
    """Follow the branch that begins at a bifurcation of another one.

    From a period doubling that of twice the period; from a branch point the one that
    crosses there, with a symmetry broken perhaps, on the side `way`, 1 or -1. The branch
    begins beside the bifurcation, with the reason `BRANCHED`.

    **Arguments:** `point`: of a branch's `bifurcations`, or a `bifurcation_point`;
    the others are those of `continue_orbit`.

    **Raises:** `ValueError` for a kind that no branch begins at, bounds that do not
    enclose the point, or where no branch is found.

    **Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, chapter 10.
    """
    if point.kind not in FROM:
        raise ValueError(f"kind = {point.kind!r}; allowed: {', '.join(FROM)}")
    if way not in (1, -1):
        raise ValueError(f"way = {way}; allowed: 1, -1")
    declared = known_parameter(system, point.path)
    low, high = enclosing(declared, point.path, bounds, point.parameter)
    check_periods_along(system, point.path, (low, high))
    steps = checked_steps(high - low, first_step, smallest_step, largest_step)
    limits, watch = limits_of(low, high, steps, most_points), watch_of(events, stop_at)
    factor, tell = evidence_factor(evidence), progress or (lambda count: None)
    frame = frame_at(system, point, high - low, rtol, factor)
    pair = pair_at(frame, point, limits, way)
    return walked(frame, [pair], limits, tell, watch)[0]


def _without_points(path: str, orbits: PeriodicOrbit, lane: int) -> Branch:
    nothing = jax.tree.map(lambda leaf: leaf[:0], orbits)
    why = [orbits.result[lane]] * 2
    return branch_of(path, [], nothing, [], orbits.periods[lane], why)
