"""Continuation: branches of periodic motions followed along one parameter."""

from collections.abc import Callable, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._quantity import Range, check_range
from ..dynamics.flow import STEPPED, check_engine
from ..ensemble import Reason, reason
from ..systems.parameters import parameters, unknown_key
from .arclength import Limits, Place
from .bifurcation import BifurcationPoint
from .branch import Branch, branch_of, stacked
from .branches import arcs, crossed, frame_of, walked
from .natural import Follower
from .periodic_orbit import PeriodicOrbit, evidence_factor
from .point import Point
from .regimes import batched
from .switching import FROM, frame_at, pair_at

METHODS = ("natural", "arclength")


def continue_orbit(
    system: eqx.Module,
    orbit: PeriodicOrbit,
    path: str,
    bounds: tuple[float, float],
    method: str = "natural",
    *,
    engine: str = "auto",
    segments: int = 1,
    first_step: float | None = None,
    smallest_step: float | None = None,
    largest_step: float | None = None,
    most_points: int = 500,
    correct: bool = True,
    rtol: float = 1e-8,
    evidence: str = "checked",
    progress: Callable[[int], None] | None = None,
) -> Branch:
    r"""Follow a periodic motion along a parameter, both ways from its own value.

    The step of Pogorelova and Postnikova: a change $\delta p$ of the parameter changes
    the state by

    $$(M - I)\,\delta s = -r - \frac{\partial\varphi^{nT}}{\partial p}\,\delta p,$$

    both columns from `jax.jacfwd` of the flow, where the paper solves five Cauchy
    problems. Newton's method then corrects it; the next step is chosen so that the
    predicted state misses by 0.3 % of the motion's size. With `correct=False` the
    paper's own step is taken as it is, in steps of `first_step`: nothing is corrected,
    and each point's `residual` and `state_error` say how far it has drifted.

    Natural continuation cannot pass a fold, where M - I is singular: it stops there
    with the reason `SINGULAR`. `method="arclength"` goes round folds, until it
    reaches a bound or comes back to where it began; its steps are measured along the
    branch (`orbits.arclength`). Where the branch changes its kind on the way is in
    `.bifurcations` (`orbits.crossings`).

    **Arguments:** `orbit`: of `system` as it is. `path`, `bounds`: the parameter and
    the values to stop at; the system's own value lies between them. Steps are in the
    parameter's unit; their defaults are 1/50, 1e-7 and 1/20 of the range. `segments`:
    into which the period is cut for multiple shooting, with `method="arclength"`.

    **Raises:** `ValueError` for an unknown path or method, bounds that do not enclose
    the system's value, or an orbit that was not found.

    **Source:** Pogorelova and Postnikova (2011).
    """
    check_engine(engine, STEPPED)
    if method not in METHODS:
        raise ValueError(f"method = {method!r}; allowed: {', '.join(METHODS)}")
    low, high = _checked_bounds(system, path, bounds)
    steps = _checked_steps(high - low, first_step, smallest_step, largest_step)
    check_range("most_points", most_points, "", Range(at_least=2))
    check_range("segments", segments, "", Range(at_least=1))
    if method == "arclength" and not correct:
        raise ValueError(f"method = {method!r} corrects its steps; allowed: correct = True")
    if method == "natural" and segments > 1:
        raise ValueError(f"segments = {segments}; allowed: 1 with method = 'natural'")
    if int(orbit.result) != Reason.SUCCESS:
        raise ValueError(f"orbit was not found: {reason(orbit.result)}")
    value = float(parameters(system)[path].value)
    factor, tell = evidence_factor(evidence), progress or (lambda count: None)
    leaves, static = eqx.partition(system, eqx.is_inexact_array)
    one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], (leaves, orbit.state))
    frame = frame_of(one, static, path, high - low, orbit.periods, rtol, factor, segments)
    if method == "arclength":
        limits = _limits(low, high, steps, most_points)
        return arcs(frame, one[1], np.array([value]), limits, segments, tell)[0]
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
    found = crossed(frame, [places], [orbits]) if correct else [[]]
    values, _, misses = zip(*points, strict=True)
    return branch_of(path, values, orbits, misses, (low_end, high_end), found[0])


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
    progress: Callable[[int], None] | None = None,
) -> list[Branch]:
    """Follow many periodic motions at once along a parameter, each both ways.

    Every branch is the one that `continue_orbit` finds with `method="arclength"` from
    its own sample, with steps, ends and bifurcations of its own; those that have ended
    leave the others going on.

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
    check_range("most_points", most_points, "", Range(at_least=2))
    declared = parameters(system)
    if path not in declared:
        raise ValueError(unknown_key("parameter", path, declared))

    def value_of(leaves):
        return parameters(eqx.combine(leaves, static))[path].value

    values = np.asarray(jax.vmap(value_of)(leaves))
    low, high = _enclosing(declared[path], path, bounds, values)
    steps = _checked_steps(high - low, first_step, smallest_step, largest_step)
    factor, tell = evidence_factor(evidence), progress or (lambda count: None)
    there = np.flatnonzero(np.asarray(orbits.result) == Reason.SUCCESS)
    orbits = jax.tree.map(np.asarray, orbits)
    branches = [_without_points(path, orbits, lane) for lane in range(number)]
    if there.size:
        lanes = jax.tree.map(lambda leaf: leaf[there], (leaves, orbits.state))
        periods = orbits.periods[there]
        frame = frame_of(lanes, static, path, high - low, periods, rtol, factor, segments)
        limits = _limits(low, high, steps, most_points)
        found = arcs(frame, lanes[1], values[there], limits, segments, tell)
        for lane, one in zip(there, found, strict=True):
            branches[lane] = one
    return branches


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
    known = parameters(system)
    if point.path not in known:
        raise ValueError(unknown_key("parameter", point.path, known))
    values = np.asarray(point.parameter)[None]
    low, high = _enclosing(known[point.path], point.path, bounds, values)
    steps = _checked_steps(high - low, first_step, smallest_step, largest_step)
    factor, tell = evidence_factor(evidence), progress or (lambda count: None)
    frame = frame_at(system, point, high - low, rtol, factor)
    limits = _limits(low, high, steps, most_points)
    pair = pair_at(frame, point, limits, frame.corrector(), way)
    return walked(frame, [pair], limits, tell)[0]


def _without_points(path: str, orbits: PeriodicOrbit, lane: int) -> Branch:
    nothing = jax.tree.map(lambda leaf: leaf[:0], orbits)
    return branch_of(path, [], nothing, [], [orbits.result[lane]] * 2, [])


def _checked_steps(span: float, first, smallest, largest) -> dict[str, float]:
    steps = {
        "first_step": span / 50 if first is None else first,
        "smallest_step": span * 1e-7 if smallest is None else smallest,
        "largest_step": span / 20 if largest is None else largest,
    }
    for name, value in steps.items():
        check_range(name, value, "", Range(above=0.0))
    return steps


def _limits(low: float, high: float, steps, most_points: int) -> Limits:
    span = high - low
    scaled = {name: step / span for name, step in steps.items()}
    return Limits(((low / span, high / span),), **scaled, most_points=most_points)


def _checked_bounds(system, path, bounds) -> tuple[float, float]:
    known = parameters(system)
    if path not in known:
        raise ValueError(unknown_key("parameter", path, known))
    return _enclosing(known[path], path, bounds, np.asarray(known[path].value)[None])


def _enclosing(declared, path: str, bounds, values) -> tuple[float, float]:
    """Return the bounds; raise `ValueError` unless they enclose all values."""
    low, high = (float(bound) for bound in bounds)
    for bound in (low, high):
        check_range(f"bounds of {path}", bound, declared.unit, declared.allowed)
    out = values[~((low <= values) & (values <= high))]
    if out.size or low == high:
        value = out[0] if out.size else values[0]
        raise ValueError(
            f"bounds = ({low:g}, {high:g}) {declared.unit} do not enclose the system's "
            f"{path} = {value:g} {declared.unit}"
        )
    return low, high
