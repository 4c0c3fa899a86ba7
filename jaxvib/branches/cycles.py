"""Continuation of limit cycles of autonomous systems along a parameter."""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from .. import linalg
from ..dynamics.flow import simulate
from ..ensemble import Reason, map_samples, reason
from ..foundation.arrays import partition_arrays, to_jax
from ..orbits.equilibrium import equilibrium_near
from ..orbits.limit_cycle import LimitCycle
from .arclength import both_ways, correct_some, run_tracers
from .bifurcation_results import FieldBifurcation, field_bifurcation
from .branch import AbstractBranch
from .cycle_equations import (
    CycleProblem,
    Segments,
    cycle_corrector,
    cycle_segments,
    cycle_splitter,
)
from .cycle_evaluation import cycle_evaluator
from .defining_equations import NEAR
from .field_points import field_bifurcation_point
from .parameter_range import known_parameter, parameter_range
from .point import at
from .settings import ContinuationSettings
from .sign_changes import SignChange, detect_bifurcations, pairs, product
from .smooth_branch import SmoothFrame
from .tracer import (
    HALVES_APART,
    RUNNING,
    BranchPoint,
    Limits,
    Tracer,
    TracerContext,
    turning,
)

# Newton's method has converged if a step is below this many tolerances.
_CLOSE = 30
# Tolerance factor at bifurcations: they are as accurate as the monodromy matrix.
_TIGHTER = 1e-2
# Sign changes that cannot be located are dropped if multipliers have a larger error.
_KNOWN = 0.1
# Initial number of segments: in fewer, contraction and expansion on different parts of
# the cycle could cancel unnoticed. Factor by which their number grows if they are not
# resolved, and its limit, beyond which the linear equations take longer than the flow.
_SEGMENTS, _SPLIT, _MOST_SEGMENTS = 6, 4, 384
# Speed of `paced`, in sizes of the cycle per radian (period / 2 pi): it distributes the
# segments over the slow parts of a relaxation oscillation and its jumps.
_PACE = 4.0
# Samples of a cycle from which the joints are interpolated, before their correction.
_SAMPLES = 4001
# Settings that do not apply to cycles.
NOT_OF_CYCLES = ("correct", "events", "stop_at")


class CycleBranch(AbstractBranch):
    """Cycles along one parameter, in their order along the branch.

    `cycles`: a `LimitCycle` whose fields have a leading axis of points; `condition` is
    that of the equations of all segments. `ends` has the reason codes of the first and
    the last point.
    """

    noun = "cycles"

    cycles: LimitCycle
    bifurcations: tuple[FieldBifurcation, ...] = ()

    @property
    def found(self) -> LimitCycle:
        """The cycles."""
        return self.cycles

    @property
    def periods(self) -> Float[Array, " points"]:
        """The periods, s."""
        return self.cycles.period

    @property
    def floquet_multipliers(self) -> Complex[Array, "points n"]:
        """The Floquet multipliers: the trivial one, then largest modulus first."""
        return self.cycles.floquet_multipliers

    @property
    def amplitudes(self) -> Float[Array, "points n"]:
        """Half of highest minus lowest value."""
        return self.cycles.amplitude

    def _besides(self) -> str:
        least, most = np.nanmin(self.periods), np.nanmax(self.periods)
        return f"; periods {least:.6g} to {most:.6g} s"


def continue_cycle(
    system, cycle, path: str, bounds, method: str, settings: ContinuationSettings, report
) -> CycleBranch:
    """Continue a cycle in both directions, see `continue_orbit`."""
    if not isinstance(cycle, LimitCycle):
        found = type(cycle).__name__
        raise ValueError(f"orbit = {found} of an autonomous system; allowed: LimitCycle")
    if method != "arclength":
        raise ValueError(f"method = {method!r} of an autonomous system; allowed: arclength")
    settings.refuse("continue_orbit of an autonomous system", *NOT_OF_CYCLES)
    value = float(known_parameter(system, path).value)
    extent = parameter_range(system, path, bounds, value, settings)
    if int(cycle.result) != Reason.SUCCESS:
        raise ValueError(f"orbit was not found: {reason(cycle.result)}")
    frame = CycleFrame(system, path, *cycle_sizes(cycle), extent.span, settings)
    x = frame.spread(cycle.state, float(cycle.period), value)
    around = TracerContext(extent.limits, frame.correct)
    (pair,) = both_ways(frame.lanes, frame.problems, x[None], [around])
    tracers = [frame.tracer(around, one.start, one.code) for one in pair]
    return frame.traced(tracers, extent.limits, report)


def cycle_sizes(cycle: LimitCycle) -> tuple[np.ndarray, float]:
    """Return the scales of the states and of the period of a cycle."""
    reached = np.maximum(np.abs(cycle.state), np.asarray(cycle.amplitude))
    return np.where(reached > 0, reached, 1.0), float(cycle.period)


class CycleFrame(SmoothFrame):
    """Shared data of a branch of cycles.

    `sizes`, `period`: scales of states and period; `segments`: their number, unless it
    is in the settings.
    """

    def __init__(
        self,
        system,
        path: str,
        sizes,
        period: float,
        span: float,
        settings: ContinuationSettings,
        segments: int = _SEGMENTS,
    ):
        leaves, static = partition_arrays(system)
        leaves = jax.tree.map(np.asarray, leaves)
        rtol = np.asarray(settings.rtol)
        tight, close = rtol * settings.factor, rtol * _CLOSE
        self.segments = settings.segments or segments
        if self.segments < _SEGMENTS or self.segments % 2:
            found, least = self.segments, _SEGMENTS
            raise ValueError(
                f"segments = {found} of a cycle; allowed: even, at least {least}"
            )
        # Norms along the branch are root mean squares over the segments.
        states = np.tile(sizes, self.segments) * np.sqrt(self.segments)
        units = np.append(states, [period, span])
        speed = np.asarray(sizes) * _PACE * 2 * np.pi / period
        problem = CycleProblem(leaves, units, speed, rtol, tight, close)
        super().__init__(static, path, problem)
        self.sizes, self.size = np.asarray(sizes), len(sizes)
        self._system, self._settings = system, settings

    def spread(self, state, period: float, value: float) -> np.ndarray:
        """Return the scaled unknowns of a cycle."""
        there = at(self._system, self.path, value)
        states, rates = motion(there, jnp.asarray(state), period)
        speeds = linalg.norm(np.asarray(rates) / self.problem.speed)
        paces = np.hypot(1.0, speeds)
        parts = (paces[1:] + paces[:-1]) / 2 * period / (_SAMPLES - 1)
        lengths = np.append(0.0, np.cumsum(parts))
        joints = np.arange(self.segments) / self.segments * lengths[-1]
        begun = [np.interp(joints, lengths, each) for each in np.asarray(states).T]
        unscaled = np.append(np.transpose(begun).ravel(), [lengths[-1], value])
        return unscaled / self.problem.units

    def split(self, pair, limits: Limits) -> tuple["CycleFrame", list[Tracer]]:
        """Return a frame with more segments, and a pair of tracers converted to it.

        Tracers that ended with `TOO_FEW_SEGMENTS` are running again.
        """
        period, span = self.problem.units[-2:]
        number = self.segments * _SPLIT
        shared = self._system, self.path, self.sizes, period, span, self._settings
        frame = CycleFrame(*shared, number)
        every = [point for one in pair for point in (one.start, *one.points)]
        lanes = jax.tree.map(lambda leaf: np.stack([leaf] * len(every)), self.problem)
        x, tangents = (np.array([point[i] for point in every]) for i in range(2))
        split = cycle_splitter(self.static, self.path, _SPLIT)
        x, tangents = map_samples(split, (lanes, x, tangents), chunk=32)
        tangents = tangents / linalg.norm(tangents)[:, None]
        found = frame.correct(x, tangents)
        there = found.found[:, None]
        x = np.where(there, found.x, x)
        # With more joints the phase condition, and so the tangent, is different.
        same = np.sign(linalg.dot(found.tangent, tangents))[:, None]
        tangents = np.where(there, same * found.tangent, tangents)
        # Keep the exact parameter, which may be a bound.
        x[:, -1] = [point.x[-1] for point in every]
        points = [
            point._replace(x=there, tangent=tangent)
            for point, there, tangent in zip(every, x, tangents, strict=True)
        ]
        around, tracers = TracerContext(limits, frame.correct), []
        for one in pair:
            start, *rest = points[: 1 + len(one.points)]
            points = points[1 + len(one.points) :]
            code = RUNNING if one.code == Reason.TOO_FEW_SEGMENTS else one.code
            again = frame.tracer(around, start, code)
            again.points, again.step = rest, one.step
            tracers.append(again)
        return frame, tracers

    def segmented(self, x: np.ndarray) -> Segments:
        """Return the segments at scaled unknowns."""
        problem = jax.tree.map(jnp.asarray, self.problem)
        return cycle_segments(self.static, self.path)((problem, jnp.asarray(x)))

    def corrector(self):
        """Return the function that corrects a lane's prediction."""
        return cycle_corrector(self.static, self.path)

    def evaluator(self):
        """Return the function from a lane to parameter and cycle."""
        return cycle_evaluator(self.static, self.path)

    def tracer(
        self, around: TracerContext, start: BranchPoint, code=RUNNING
    ) -> "CycleTracer":
        """Return a tracer that ends at equilibria and where both halves coincide."""
        return CycleTracer(around, start, code, self.rate, self.size)

    def rate(self, x: np.ndarray) -> np.ndarray:
        """Return the scaled rate of a scaled point's state."""
        unscaled = x * self.problem.units
        found = _rate(self._system, self.path, unscaled[: self.size], unscaled[-1])
        return np.asarray(found) / self.problem.units[: self.size]

    def traced(self, pair, limits: Limits, report) -> CycleBranch:
        """Return the branch traced by a pair of tracers.

        If its segments are not resolved, tracing continues with more segments.
        """
        run_tracers(self.lanes, self.problems, [pair], limits.most_points, report)
        more = self._settings.segments is None and self.segments < _MOST_SEGMENTS
        more = more and 1 + sum(len(one.points) for one in pair) < limits.most_points
        if more and any(one.code == Reason.TOO_FEW_SEGMENTS for one in pair):
            frame, pair = self.split(pair, limits)
            return frame.traced(pair, limits, report)
        followed = self.followed(pair, limits, report)
        points, ends, _, found = followed
        tight = self.problem.tight * _TIGHTER
        finer = self.problem._replace(tight=tight, close=tight)
        sharp = functools.partial(correct_some, self.lanes, finer)
        # Near a homoclinic orbit multipliers are inaccurate and their signs are noise.
        known = np.asarray(found.multiplier_error) < _KNOWN
        changes = [
            change
            for change in detect_bifurcations(
                sharp, points, TESTS, float(self.problem.rtol)
            )
            if change.found
            or change.kind == "fold"
            or known[change.after : change.after + 2].all()
        ]
        located = [self._bifurcation(change) for change in changes]
        low, high = self._end(ends[0], points[0].x), self._end(ends[1], points[-1].x)
        located = [low, *located, high]
        cycles = to_jax(found)
        return CycleBranch(cycles=cycles, **self.along(followed, located))

    def _end(self, code, x: np.ndarray) -> FieldBifurcation | None:
        """Return the bifurcation at which the branch ends, or None."""
        if code not in (Reason.EQUILIBRIUM, Reason.PERIOD_HALVED):
            return None
        states, value = x[:-2].reshape(-1, self.size), x[-1] * self.problem.units[-1]
        states = states * self.problem.units[: self.size]
        there = at(self._system, self.path, value)
        if code == Reason.EQUILIBRIUM:
            rest = equilibrium_near(there, jnp.asarray(states[0]))
            found = field_bifurcation_point(there, rest, "hopf", self.path, throw=False)
            return None if int(found.result) else found
        first, second = states[0], states[len(states) // 2]
        mean, apart = (first + second) / 2, np.abs(first - second)
        period = self.evaluated(x[None])[1].period[0] / 2
        guess = field_bifurcation(
            "period_doubling",
            "cycle",
            self.path,
            parameter=value,
            state=mean,
            period=period,
            frequency=2 * np.pi / period,
            residual=np.nan,
            test=np.nan,
            iterations=0,
            result=Reason.SUCCESS,
        )
        found = field_bifurcation_point(there, guess, guess.kind, self.path, throw=False)
        # Reject another period doubling, one that is not between both halves.
        near = linalg.norm((np.asarray(found.state) - mean) / self.sizes)
        far = int(found.result) or not near < linalg.norm(apart / self.sizes)
        return None if far else found

    def _bifurcation(self, change: SignChange) -> FieldBifurcation | None:
        """Return the bifurcation at a sign change, None if two multipliers only cancel."""
        values, found = self.evaluated(change.x[None])
        multipliers = change.values
        turning = multipliers.imag != 0
        wrong = {
            "fold": np.abs(multipliers - 1).min(),
            "branch_point": np.abs(multipliers - 1).min(),
            "period_doubling": np.abs(multipliers + 1).min(),
            "neimark_sacker": np.where(turning, abs(np.abs(multipliers) - 1), np.inf).min(),
        }[change.kind]
        # A fold is a turning point of the parameter, whatever the other multipliers.
        if change.found and change.kind != "fold" and not wrong < NEAR:
            return None
        return field_bifurcation(
            change.kind,
            "cycle",
            self.path,
            parameter=values[0],
            state=found.state[0],
            period=found.period[0],
            frequency=2 * np.pi / found.period[0],
            residual=found.residual[0],
            test=wrong,
            iterations=change.evaluations,
            result=Reason.SUCCESS if change.found else Reason.ITERATION_LIMIT,
        )


# Test functions of the tangent's parameter component and of all multipliers except the
# trivial one, (points, n - 1).
TESTS: dict[str, Callable] = {
    "fold": lambda tangents, values: tangents,
    "period_doubling": lambda tangents, values: product(1 + values).real,
    "neimark_sacker": lambda tangents, values: product(pairs(values, np.multiply) - 1).real,
    "branch_point": lambda tangents, values: product(1 - values).real,
}


class CycleTracer(Tracer):
    """Traces a branch of cycles in one direction, up to an equilibrium or period halving.

    Beyond the equilibrium to which cycles shrink, the same cycles follow again, shifted
    by half a period: the rate at their start has reversed. The same happens at a period
    doubling of cycles of half the period, where both halves coincide. The branch also
    ends where its segments are not resolved.
    """

    def __init__(
        self, around: TracerContext, start: BranchPoint, code, rate: Callable, size: int
    ):
        super().__init__(around, start, code)
        self._rate, self._size = rate, size

    def accept(self, found) -> int:
        """Accept corrected points, adapt the step; return the number accepted."""
        before, here = len(self.points), self.here
        count = super().accept(found)
        way = [here, *self.points[before:]]
        x = [point.x for point in way]
        lost = np.flatnonzero(~(found.unresolved[: len(way) - 1] < 1))
        ends = {
            Reason.TOO_FEW_SEGMENTS: lost[0] if lost.size else None,
            Reason.EQUILIBRIUM: turning(self._rates, x),
            Reason.PERIOD_HALVED: turning(self._halves_apart, x, HALVES_APART),
        }
        ends = {code: number for code, number in ends.items() if number is not None}
        if not ends:
            return count
        code = min(ends, key=ends.__getitem__)  # the first one, also among equals
        return self.end_at(before, int(ends[code]), code)

    def _rates(self, x: np.ndarray) -> np.ndarray:
        return np.array([self._rate(point) for point in x])

    def _halves_apart(self, x: np.ndarray) -> np.ndarray:
        first, second = np.split(x[:, :-2].reshape(len(x), -1, self._size), 2, axis=1)
        return (first - second).reshape(len(x), -1)


@eqx.filter_jit
def motion(system, state, period):
    """Return states and rates at evenly spaced times of a cycle's period."""
    times = jnp.linspace(0.0, period, _SAMPLES)
    states = simulate(system, state, times, throw=False).states
    return states, jax.vmap(system.equation().vector_field, (None, 0))(0.0, states)


@eqx.filter_jit
def _rate(system, path: str, state, value):
    return at(system, path, value).equation().vector_field(0.0, jnp.asarray(state))
