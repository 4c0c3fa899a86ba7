"""Continuation: a branch of periodic motions followed along one parameter."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Int

from .._quantity import Range, check_range, reported
from ..dynamics.flow import STEPPED, check_engine
from ..ensemble import Reason, reason
from ..systems.parameters import parameters, unknown_key
from .arclength import Arc
from .periodic_orbit import PeriodicOrbit, evidence_factor, orbit_from_guess
from .point import Linearised, Point, at, linearised, look
from .shooting import scales

METHODS = ("natural", "pseudo_arclength")
# Steps are chosen so that the predictor misses the orbit by this part of its size...
_PREDICTOR_ERROR = 3e-3
# ... and taken again where it misses by ten times that: the next orbit found from so
# far away may belong to another branch.
_TOO_FAR = 10 * _PREDICTOR_ERROR


class Branch(eqx.Module):
    """Periodic motions along one parameter, in their order along the branch.

    `ends` says why the branch stops at its first and at its last point. `stable`,
    `contacts` and the rest are those of `PeriodicOrbit`, with a leading axis of points.
    """

    path: str = eqx.field(static=True)
    parameter: Float[Array, " points"] = reported("continued parameter", "", ("point",))
    states: Float[Array, "points n"] = reported("state at t = 0", "", ("point", "state"))
    floquet_multipliers: Complex[Array, "points n"] = reported(
        "Floquet multipliers, largest modulus first", "", ("point", "multiplier")
    )
    largest_multiplier: Float[Array, " points"] = reported(
        "modulus of the largest multiplier", "", ("point",)
    )
    stable: Int[Array, " points"] = reported(
        "1 stable, 0 unstable, -1 undecided", "", ("point",)
    )
    contacts: Int[Array, " points"] = reported(
        "onsets of contact in one period of the motion", "", ("point",)
    )
    max_contact_force: Float[Array, " points"] = reported(
        "largest contact force", "N", ("point",)
    )
    amplitude: Float[Array, "points freedoms"] = reported(
        "half of highest minus lowest displacement", "m", ("point", "freedom")
    )
    residual: Float[Array, " points"] = reported(
        "largest component of s(nT) - s(0)", "", ("point",)
    )
    state_error: Float[Array, " points"] = reported(
        "error bar of the state, (M - I)^-1 r", "", ("point",)
    )
    predictor_error: Float[Array, " points"] = reported(
        "distance from the predicted to the found state, per size", "", ("point",)
    )
    ends: Int[Array, " 2"] = reported("reason codes of both ends", "", ("end",))

    def __repr__(self) -> str:
        if not len(self.parameter):
            return f"Branch along {self.path}: no point"
        low, high = (reason(code) for code in np.asarray(self.ends))
        share = np.mean(np.asarray(self.stable) == 1)
        counts = sorted({int(count) for count in np.asarray(self.contacts)})
        return "\n".join(
            [
                f"Branch along {self.path}: {len(self.parameter)} periodic motions",
                f"  from {self.parameter[0]:.8g}: {low}",
                f"  to   {self.parameter[-1]:.8g}: {high}",
                f"  stable at {share:.0%} of the points; contacts a period: {counts}",
                f"  largest |multiplier| {np.nanmax(self.largest_multiplier):.6g}, "
                f"peak force {np.nanmax(self.max_contact_force):.6g} N",
            ]
        )

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>"


def continue_orbit(
    system: eqx.Module,
    orbit: PeriodicOrbit,
    path: str,
    bounds: tuple[float, float],
    method: str = "natural",
    *,
    engine: str = "auto",
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
    with the reason `SINGULAR`. `method="pseudo_arclength"` goes round folds, until it
    reaches a bound or comes back to where it began; its steps are measured along the
    branch (`orbits.arclength`).

    **Arguments:** `orbit`: of `system` as it is. `path`, `bounds`: the parameter and
    the values to stop at; the system's own value lies between them. Steps are in the
    parameter's unit; their defaults are 1/50, 1e-7 and 1/20 of the range.

    **Raises:** `ValueError` for an unknown path or method, bounds that do not enclose
    the system's value, or an orbit that was not found.

    **Source:** Pogorelova and Postnikova (2011).
    """
    check_engine(engine, STEPPED)
    if method not in METHODS:
        raise ValueError(f"method = {method!r}; allowed: {', '.join(METHODS)}")
    low, high = _checked_bounds(system, path, bounds)
    span = high - low
    steps = {
        "first_step": span / 50 if first_step is None else first_step,
        "smallest_step": span * 1e-7 if smallest_step is None else smallest_step,
        "largest_step": span / 20 if largest_step is None else largest_step,
    }
    for name, value in steps.items():
        check_range(name, value, "", Range(above=0.0))
    check_range("most_points", most_points, "", Range(at_least=2))
    if method != "natural" and not correct:
        raise ValueError(f"method = {method!r} corrects its steps; allowed: correct = True")
    if int(orbit.result) != Reason.SUCCESS:
        raise ValueError(f"orbit was not found: {reason(orbit.result)}")
    follow = _Follower(
        system,
        path,
        jnp.asarray(orbit.periods),
        jnp.asarray(rtol, float),
        jnp.asarray(evidence_factor(evidence)),
        steps,
    )
    value = float(parameters(system)[path].value)
    start = Point(value, orbit, 0.0)
    tell = progress or (lambda count: None)
    if method == "pseudo_arclength":
        arc = Arc(
            system, path, (low, high), follow.periods, follow.rtol, follow.factor, steps
        )
        return _branch(path, *arc.both_ways(start, most_points, tell))
    walk = follow.corrected if correct else follow.uncorrected
    below, low_end = walk(start, low, most_points // 2, tell)
    above, high_end = walk(start, high, most_points - 1 - len(below), tell)
    return _branch(path, [*reversed(below), start, *above], (low_end, high_end))


class _Follower:
    """Steps along one parameter, each from the point before."""

    def __init__(self, system, path, periods, rtol, factor, steps):
        self.system, self.path, self.periods = system, path, periods
        self.rtol, self.factor, self.steps = rtol, factor, steps

    def corrected(self, start: Point, bound: float, most: int, tell):
        """Return the points towards a bound, each found by Newton, and the end."""
        points, point = [], start
        step = self.steps["first_step"]
        way = np.sign(bound - start.value)
        if way == 0:
            return points, Reason.PARAMETER_BOUND
        slope = self._slope(point)
        while len(points) < most:
            target = point.value + way * step
            if way * (bound - target) <= 0:
                target = bound
            guess = point.orbit.state + slope * (target - point.value)
            found = self._find(target, guess)
            miss = _miss(self.system, guess, found)
            same_side = _side_of_fold(found) == _side_of_fold(start.orbit)
            if int(found.result) == Reason.SUCCESS and miss < _TOO_FAR and same_side:
                point = Point(target, found, miss)
                points.append(point)
                tell(1)
                if target == bound:
                    return points, Reason.PARAMETER_BOUND
                slope = self._slope(point)
                growth = np.sqrt(_PREDICTOR_ERROR / max(miss, 1e-12))
                step = min(step * np.clip(growth, 0.5, 2.0), self.steps["largest_step"])
            else:
                step = abs(target - point.value) / 4
                if step < self.steps["smallest_step"]:
                    return points, _why_stuck(point.orbit, found)
        return points, Reason.POINT_LIMIT

    def uncorrected(self, start: Point, bound: float, most: int, tell):
        """Return the points of the paper's own step, and the end."""
        points, value, state = [], start.value, start.orbit.state
        step = self.steps["first_step"]
        way = np.sign(bound - start.value)
        while len(points) < most:
            if value == bound:
                return points, Reason.PARAMETER_BOUND
            target = value + way * step
            if way * (bound - target) <= step * 1e-9:
                target = bound
            here = self._linearised(value, state)
            change = -here.residual - here.column * (target - value)
            state = state + jnp.linalg.solve(here.matrix, change)
            value = target
            seen = look(at(self.system, self.path, value), state, self.periods, self.rtol)
            if int(seen.result) != Reason.SUCCESS:
                return points, Reason(int(seen.result))
            points.append(Point(value, seen, float("nan")))
            tell(1)
        return points, Reason.POINT_LIMIT

    def _find(self, value, guess) -> PeriodicOrbit:
        system = at(self.system, self.path, value)
        return orbit_from_guess(system, guess, self.periods, self.rtol, self.factor)

    def _linearised(self, value, state) -> Linearised:
        tight = self.rtol * self.factor
        return linearised(self.system, self.path, value, state, self.periods, tight)

    def _slope(self, point):
        here = self._linearised(point.value, point.orbit.state)
        return -jnp.linalg.solve(here.matrix, here.column)


def _checked_bounds(system, path, bounds) -> tuple[float, float]:
    known = parameters(system)
    if path not in known:
        raise ValueError(unknown_key("parameter", path, known))
    declared = known[path]
    low, high = (float(bound) for bound in bounds)
    for bound in (low, high):
        check_range(f"bounds of {path}", bound, declared.unit, declared.allowed)
    value = float(declared.value)
    if not low <= value <= high or low == high:
        raise ValueError(
            f"bounds = ({low:g}, {high:g}) {declared.unit} do not enclose the system's "
            f"{path} = {value:g} {declared.unit}"
        )
    return low, high


def _miss(system, guess, found) -> float:
    distance = jnp.max(jnp.abs(found.state - guess) / scales(system, guess))
    return float(distance) if np.isfinite(distance) else np.inf


def _side_of_fold(orbit: PeriodicOrbit) -> float:
    """Return the sign of det(I - M), which changes where a branch turns back."""
    return float(np.sign(np.prod(1 - np.asarray(orbit.floquet_multipliers)).real))


def _why_stuck(last: PeriodicOrbit, failed: PeriodicOrbit) -> Reason:
    """Return why no step is small enough: a multiplier at +1, or what Newton says."""
    to_fold = float(np.min(np.abs(np.asarray(last.floquet_multipliers) - 1)))
    if to_fold < 0.05:
        return Reason.SINGULAR
    code = Reason(int(failed.result))
    return Reason.DIVERGED if code is Reason.SUCCESS else code


def _branch(path: str, points: list[Point], ends) -> Branch:
    orbits = jax.tree.map(
        lambda *leaves: jnp.stack(leaves),
        *[point.orbit for point in points],
    )
    return Branch(
        path=path,
        parameter=jnp.array([point.value for point in points]),
        states=orbits.state,
        floquet_multipliers=orbits.floquet_multipliers,
        largest_multiplier=orbits.largest_multiplier,
        stable=orbits.stable,
        contacts=orbits.contacts,
        max_contact_force=orbits.max_contact_force,
        amplitude=orbits.amplitude,
        residual=orbits.residual,
        state_error=orbits.state_error,
        predictor_error=jnp.array([point.predictor_error for point in points]),
        ends=jnp.array(ends, jnp.int32),
    )
