"""Continuation of limit cycles of autonomous systems along a parameter."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from ... import linalg
from ...ensemble import Reason, map_samples, reason
from ...foundation.arrays import one_lane, partition_arrays, to_jax
from ...foundation.types import AnyArray
from ...orbits.limit_cycle import LimitCycle
from ...orbits.shooting.cycle_shooting import rate_of
from ...systems.base.system import System
from ...systems.fields import state_size
from ...systems.parameters import parameter_at
from ..equations.corrector import (
    STEP_IN_TOLERANCES,
    LaneData,
    system_corrector,
    system_evaluator,
    system_of,
)
from ..equations.cycle_equations import (
    PACE,
    SEGMENTS,
    SPLIT,
    CycleJoints,
    Segments,
    cycle_map,
    cycle_segments,
    cycle_splitter,
    joints_of,
)
from ..equations.point import at
from ..results.bifurcation_results import (
    FieldBifurcation,
    found_bifurcation,
)
from ..results.branch import AbstractBranch
from ..tracing.arclength import both_ways, run_tracers
from ..tracing.parameter_range import parameter_range
from ..tracing.problem import BranchProblem
from ..tracing.settings import ContinuationSettings
from ..tracing.test_functions import OF_MULTIPLIERS, LocatedZero
from ..tracing.trace import trace
from ..tracing.tracer import HALVES_APART, RUNNING, Limits, Reversal, Tracer
from .cycle_evaluation import cycle_at
from .field_points import FieldGuess, field_bifurcation_point, hopf_near

# Sign changes that cannot be located are dropped if multipliers have a larger error.
_KNOWN = 0.1
# The largest number of segments: beyond it the linear equations take longer than the flow.
_MOST_SEGMENTS = 384
# Settings that do not apply to cycles.
NOT_OF_CYCLES = ("events", "stop_at")


class CycleBranch(AbstractBranch):
    """Cycles along one parameter, in their order along the branch.

    `orbits`: a `LimitCycle` whose fields have a leading axis of points; `condition` is
    that of the equations of all segments. `ends` has the reason codes of the first and
    the last point.
    """

    noun = "cycles"

    orbits: LimitCycle
    bifurcations: tuple[FieldBifurcation, ...] = ()

    @property
    def cycles(self) -> LimitCycle:
        """The cycles: `orbits`."""
        return self.orbits

    @property
    def periods(self) -> Float[Array, " points"]:
        """The periods, s."""
        return self.orbits.period

    @property
    def floquet_multipliers(self) -> Complex[Array, "points n"]:
        """The Floquet multipliers: the trivial one, then largest modulus first."""
        return self.orbits.floquet_multipliers

    @property
    def amplitudes(self) -> Float[Array, "points n"]:
        """Half of highest minus lowest value."""
        return self.orbits.amplitude

    def _details(self) -> str:
        least, most = np.nanmin(self.periods), np.nanmax(self.periods)
        return f"; periods {least:.6g} to {most:.6g} s"


def continue_cycle(
    system: System,
    cycle: object,
    path: str,
    bounds: tuple[float, float],
    settings: ContinuationSettings,
    report: Callable[[int], None],
) -> CycleBranch:
    """Continue a cycle in both directions, see `continue_orbit`."""
    if not isinstance(cycle, LimitCycle):
        found = type(cycle).__name__
        raise ValueError(f"orbit = {found} of an autonomous system; allowed: LimitCycle")
    settings.refuse("continue_orbit of an autonomous system", *NOT_OF_CYCLES)
    value = float(parameter_at(system, path).value)
    extent = parameter_range(system, path, bounds, value, settings)
    if int(cycle.result) != Reason.SUCCESS:
        raise ValueError(f"orbit was not found: {reason(cycle.result)}")
    sizes = cycle_sizes(cycle)
    problem = CycleProblem(system, path, *sizes, extent.span, settings)
    x = problem.spread(cycle.state, float(cycle.period), value)
    (pair,) = both_ways(problem, x[None], extent.limits)
    return problem.traced(pair, extent.limits, report)


def cycle_sizes(cycle: LimitCycle) -> tuple[np.ndarray, float]:
    """Return the scales of the states and of the period of a cycle."""
    reached = np.maximum(np.abs(cycle.state), np.asarray(cycle.amplitude))
    return np.where(reached > 0, reached, 1.0), float(cycle.period)


class AbstractCycleProblem(BranchProblem):
    """Cycles of one system, whose first unknowns are states of theirs.

    A branch ends at the equilibrium to which cycles shrink: there all rates of a cycle
    reverse.
    """

    # A fold is a turning point of the parameter, whatever the other multipliers.
    tests = (OF_MULTIPLIERS[0]._replace(tolerance=np.inf), *OF_MULTIPLIERS[1:])

    def eigenvalues(self, solutions: Any) -> np.ndarray:
        """Return the Floquet multipliers without the trivial one."""
        return np.asarray(solutions.floquet_multipliers)[..., 1:]

    def reversals(self, data: LaneData) -> Mapping[Reason, Reversal]:
        """Return the end at an equilibrium."""

        def rates(x: np.ndarray) -> np.ndarray:
            return np.array([_scaled_rates(self.static, self.path, data, i) for i in x])

        # Not beside the shorter: the phase of a cycle that is nearly an equilibrium, and
        # with it the direction of its rates, is uncertain.
        return {Reason.EQUILIBRIUM: Reversal(rates, beside=max)}

    def at_end(self, branch: int, tracer: Tracer, code: Reason) -> FieldBifurcation | None:
        """Return the Hopf point at which cycles end, or None."""
        if code != Reason.EQUILIBRIUM:
            return None
        unscaled = tracer.here.x * self.units
        system = system_of(self.lane(branch), self.static)
        return hopf_near(system, self.path, unscaled[-1], unscaled[: state_size(system)])


@functools.partial(jax.jit, static_argnums=(0, 1))
def _scaled_rates(static: System, path: str, data: LaneData, x: Array) -> Array:
    """Return the scaled rates of all states at scaled unknowns."""
    system, unscaled = system_of(data, static), x * data.units
    states = unscaled[:-2].reshape(-1, state_size(system))
    rates = jax.vmap(functools.partial(rate_of, at(system, path, unscaled[-1])))(states)
    return rates.reshape(-1) / data.units[:-2]


class CycleProblem(AbstractCycleProblem):
    """Cycles of one autonomous system.

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
        segments: int = SEGMENTS,
    ):
        leaves, static = partition_arrays(system)
        leaves = jax.tree.map(np.asarray, leaves)
        rtol = np.asarray(settings.rtol)
        tight, close = rtol * settings.factor, rtol * STEP_IN_TOLERANCES
        self.segments = settings.segments or segments
        if self.segments < SEGMENTS or self.segments % 2:
            found, least = self.segments, SEGMENTS
            raise ValueError(
                f"segments = {found} of a cycle; allowed: even, at least {least}"
            )
        # Norms along the branch are root mean squares over the segments.
        states = np.tile(sizes, self.segments) * np.sqrt(self.segments)
        units = np.append(states, [period, span])
        speed = np.asarray(sizes) * PACE * 2 * np.pi / period
        data = one_lane(LaneData(leaves, units, rtol, close, tight, speed=speed))
        functions = (
            system_corrector(cycle_map, static, path),
            system_evaluator(cycle_at, static, path),
        )
        super().__init__(static, path, data, *functions)
        self.resolution = float(rtol)
        self.sizes = np.asarray(sizes)
        self._system, self._settings = system, settings

    def spread(self, state: AnyArray, period: float, value: float) -> np.ndarray:
        """Return the scaled unknowns of a cycle."""
        there = at(self._system, self.path, value)
        mine = self.segments, jnp.asarray(self.data.speed[0])
        joints = joints_of(there, jnp.asarray(state), jnp.asarray(period), *mine)
        unscaled = np.append(np.ravel(joints.states), [joints.length, value])
        return unscaled / self.units

    def split(
        self, pair: Sequence[Tracer], limits: Limits
    ) -> tuple["CycleProblem", list[Tracer]]:
        """Return a problem with more segments, and a pair of tracers converted to it.

        Tracers that ended with `TOO_FEW_SEGMENTS` are running again.
        """
        period, span = self.units[-2:]
        number = self.segments * SPLIT
        shared = self._system, self.path, self.sizes, period, span, self._settings
        problem = CycleProblem(*shared, number)
        every = [point for one in pair for point in (one.start, *one.points)]
        x, tangents = (np.array([point[i] for point in every]) for i in range(2))
        split = cycle_splitter(self.static, self.path)
        lanes = self.lanes(np.zeros(len(every), int)), x, tangents
        x, tangents = map_samples(split, lanes, chunk=32)
        tangents = tangents / linalg.norm(tangents)[:, None]
        found = problem.correct_of(0, x, tangents)
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
        context, tracers = problem.context(0, limits), []
        for one in pair:
            start, *rest = points[: 1 + len(one.points)]
            points = points[1 + len(one.points) :]
            code = RUNNING if one.code == Reason.TOO_FEW_SEGMENTS else one.code
            again = Tracer(context, start, code)
            again.points, again.step, again.chord = rest, one.step, one.chord
            tracers.append(again)
        return problem, tracers

    def segmented(self, x: np.ndarray) -> Segments:
        """Return the segments at scaled unknowns."""
        return cycle_segments(self.static, self.path, self.lane(0), x)

    def reliable(self, solutions: LimitCycle) -> bool:
        """Return whether multipliers are known: near a homoclinic orbit they are noise."""
        return bool((np.asarray(solutions.multiplier_error) < _KNOWN).all())

    def result(self, find: LocatedZero) -> FieldBifurcation:
        """Return a located bifurcation."""
        period, x = find.solution.period, find.x * self.units
        states = x[:-2].reshape(self.segments, -1)
        joints = CycleJoints(*to_jax((states, x[-2], self.data.speed[0])))
        numbers = self.path, period, 2 * np.pi / period, joints
        return found_bifurcation(find, "cycle", *numbers)

    def reversals(self, data: LaneData) -> Mapping[Reason, Reversal]:
        """Return the ends at an equilibrium and at a cycle of half the period.

        At a period doubling of cycles of half the period, both halves coincide.
        """
        halved = Reversal(self._halves_apart, HALVES_APART)
        return {**super().reversals(data), Reason.PERIOD_HALVED: halved}

    def _halves_apart(self, x: np.ndarray) -> np.ndarray:
        states = x[:, :-2].reshape(len(x), -1, len(self.sizes))
        first, second = np.split(states, 2, axis=1)
        return (first - second).reshape(len(x), -1)

    def traced(
        self, pair: Sequence[Tracer], limits: Limits, report: Callable[[int], None]
    ) -> CycleBranch:
        """Return the branch traced by a pair of tracers.

        If its segments are not resolved, tracing continues with more segments.
        """
        run_tracers(self, [pair], limits.most_points, report)
        more = self._settings.segments is None and self.segments < _MOST_SEGMENTS
        more = more and 1 + sum(len(one.points) for one in pair) < limits.most_points
        if more and any(one.code == Reason.TOO_FEW_SEGMENTS for one in pair):
            problem, pair = self.split(pair, limits)
            return problem.traced(pair, limits, report)
        (found,) = trace(self, [pair], limits, report)
        return CycleBranch(orbits=to_jax(found.solutions), **self.fields(found))

    def at_end(self, branch: int, tracer: Tracer, code: Reason) -> FieldBifurcation | None:
        """Return the bifurcation at which a tracer ended, or None."""
        if code != Reason.PERIOD_HALVED:
            return super().at_end(branch, tracer, code)
        x, size = tracer.here.x, len(self.sizes)
        states, value = x[:-2].reshape(-1, size), x[-1] * self.units[-1]
        states = states * self.units[:size]
        there = at(self._system, self.path, value)
        first, second = states[0], states[len(states) // 2]
        mean, apart = (first + second) / 2, np.abs(first - second)
        period = self.evaluated([0], x[None])[1].period[0] / 2
        mine = jnp.asarray(mean), jnp.asarray(period), jnp.asarray(value)
        guess = FieldGuess("cycle", *mine)
        found = field_bifurcation_point(
            there, guess, "period_doubling", self.path, throw=False
        )
        # Reject another period doubling, one that is not between both halves.
        near = linalg.norm((np.asarray(found.state) - mean) / self.sizes)
        far = int(found.result) or not near < linalg.norm(apart / self.sizes)
        return None if far else found
