"""Branches of periodic orbits of forced systems."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ... import linalg
from ...dynamics.flow import flow
from ...ensemble import Reason, compile_ahead, map_samples
from ...foundation.arrays import combine_arrays, equal_lanes, to_jax
from ...foundation.types import Integer
from ...orbits.periodic_orbit import PeriodicOrbit
from ...orbits.shooting.orbit_shooting import is_field, scales
from ...systems.base.system import System, equation_shape
from ...systems.drift import modulo_drift
from ...systems.fields import state_size
from ...systems.lane_kernel import lane_kernel
from ..equations.corrector import STEP_IN_TOLERANCES, LaneData, system_of
from ..equations.orbit_equations import orbit_corrector, orbit_evaluator, orbit_spreader
from ..equations.point import at
from ..equations.touches import Seen, hard_contacts, watch_kernel
from ..results.bifurcation_results import BifurcationPoint
from ..results.branch import Branch, BranchEvent
from ..tracing.arclength import both_ways, run_in_scale
from ..tracing.problem import EVALUATED, BranchProblem, lane_of
from ..tracing.settings import ContinuationSettings
from ..tracing.test_functions import (
    OF_MULTIPLIERS,
    EvaluatedPoints,
    LocatedZero,
    TestFunction,
)
from ..tracing.trace import Traced, trace
from ..tracing.tracer import (
    HALVES_APART,
    BranchPoint,
    Limits,
    Reversal,
    Tracer,
    TracerContext,
)
from .bifurcation import bifurcation_point
from .grazing import Grazings
from .grazing_test import GRAZING_TEST

# Scaled steps where a stiff contact begins: the branch turns by the root of its depth.
_SHORTEST = 1e-11
# A branch that ends at a grazing ends nearer to it, scaled.
_NEAR_GRAZING = 1e-2


class OrbitProblem(BranchProblem):
    """Periodic orbits of forced systems, with events."""

    def __init__(self, static, path: str, data: LaneData, settings: ContinuationSettings):
        corrector = orbit_corrector(static, path, data.units.shape[-1])
        super().__init__(static, path, data, corrector, orbit_evaluator(static, path))
        events = self.events = settings.checked_events
        self.finer = settings.smallest_step is None
        hard = hard_contacts(equation_shape(system_of(self.lane(0), static)))
        self.has_stops, self.all_hard = bool(hard.any()), bool(hard.all())
        self.has_contacts = bool(len(hard))
        tests = [_event_test(name, event) for name, event in events.events.items()]
        self.tests = (*OF_MULTIPLIERS, GRAZING_TEST, *tests)
        self.stops = dict.fromkeys(events.stop_at, Reason.EVENT)

    def seen(
        self, branch: int, points: Sequence[BranchPoint], solutions: PeriodicOrbit
    ) -> EvaluatedPoints:
        """Return what the test functions use: the orbits' own multipliers."""
        tangents = np.array([point.tangent[-1:] for point in points])
        elastic = np.asarray(solutions.contacts)[:, None]
        if self.all_hard:
            elastic = elastic[:, :0]
        elif self.has_stops:
            lanes, x = np.full(len(points), branch), np.array([point.x for point in points])
            elastic = self.watched(lanes, x).elastic
        eigenvalues = self.eigenvalues(solutions)
        return EvaluatedPoints(tangents, eigenvalues, lambda: solutions, elastic)

    def watched(self, branches: np.ndarray, x: np.ndarray) -> Seen:
        """Return what motions do at their contacts."""
        lanes = self.lanes(branches), x
        return map_samples(watch_kernel(self.static, self.path), lanes, chunk=8)

    def result(self, find: LocatedZero) -> BifurcationPoint | BranchEvent:
        """Return a located bifurcation or event."""
        orbit = find.solution
        if find.kind in self.events.events:
            value, code = jnp.asarray(find.value), jnp.asarray(int(find.code))
            return BranchEvent(find.kind, self.path, value, to_jax(orbit), code)
        numbers = {
            "parameter": find.value,
            "state": orbit.state,
            "periods": orbit.periods,
            "time": np.nan,
            "residual": orbit.residual,
            "test": find.distance,
            "iterations": find.evaluations,
            "result": find.code,
        }
        return BifurcationPoint(kind=find.kind, path=self.path, **to_jax(numbers))

    def alike(self, branches: np.ndarray, x: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return whether motions have as many impacts on each stop."""
        if not self.has_stops:
            return super().alike(branches, x, others)
        one, other = (self.watched(branches, there) for there in (x, others))
        same = (one.onsets == other.onsets) | (one.holds & other.holds)
        return np.asarray(same.all(-1))

    def reversals(self, data: LaneData) -> Mapping[Reason, Reversal]:
        """Return the ends of orbits of an even number of periods."""
        if data.periods % 2:
            return {}
        halves = functools.partial(halves_apart, self.static, self.path, data)
        return {Reason.PERIOD_HALVED: Reversal(halves, HALVES_APART)}

    def at_end(self, branch: int, tracer: Tracer, code: Reason) -> BifurcationPoint | None:
        """Return the grazing or period doubling at which a tracer ended, or None."""
        if code == Reason.GRAZING and tracer.grazing is None:
            mine = self.static, self.path, self.lane(branch)
            periods = int(self.data.periods[branch])
            # That of a stop and of as many periods is passed, or known to the tracer.
            most = periods // 2 if self.has_stops else periods
            return parent_grazing(*mine, tracer.here.x, most)
        if code != Reason.PERIOD_HALVED:
            return tracer.grazing
        assert tracer.chord is not None
        return parent_doubling(self.static, self.path, self.lane(branch), tracer.chord)

    def context(self, branch: int, limits: Limits) -> TracerContext:
        """Return the shared context of the tracers of one branch."""
        context = super().context(branch, limits)
        if not self.has_contacts:
            return context
        mine = self.static, self.path, self.lane(branch)
        grazings = Grazings(*mine, context.correct, limits.bounds[0])
        if not self.has_stops:
            if self.finer:
                context = context._replace(limits=limits._replace(smallest_step=_SHORTEST))
            return context._replace(why=grazings.why)
        return context._replace(
            crossing=grazings.crossing, watch=grazings.watch, why=grazings.why
        )

    def traced(
        self, pair: Sequence[Tracer], limits: Limits, report: Callable[[int], None]
    ) -> Branch:
        """Return the branch traced by a pair of tracers."""
        problem, pair = run_in_scale(self, pair, limits, report)
        assert isinstance(problem, OrbitProblem)
        return traced_branches(problem, [pair], limits, report)[0]

    def branch(self, b: int, traced: Traced) -> Branch:
        """Return the public result of a traced branch."""
        found = traced.results
        kinds = [one for one in found if isinstance(one, BifurcationPoint)]
        events = tuple(one for one in found if isinstance(one, BranchEvent))
        fields = self.fields(traced._replace(results=kinds))
        orbits, periods = to_jax((traced.solutions, self.data.periods[b]))
        return Branch(orbits=orbits, periods=periods, events=events, **fields)


def _event_test(name: str, function: Callable) -> TestFunction:
    def values(seen: EvaluatedPoints, _) -> np.ndarray:
        orbits = seen.solutions
        lanes = range(len(orbits.result))
        return np.array([float(function(lane_of(orbits, i))) for i in lanes])

    return TestFunction(name, values, tolerance=np.inf, rounding=0.0)


def orbit_problem(
    lanes: tuple,
    static: System,
    path: str,
    span: float,
    periods: Integer,
    settings: ContinuationSettings,
) -> OrbitProblem:
    """Return the problem of branches from lanes (leaves, states, amplitudes)."""
    each = map_samples(_units_kernel(static), lanes)
    number = len(each)
    units = np.column_stack([*[each] * (settings.segments or 1), np.full(number, span)])
    rtols = np.full(number, settings.rtol, float)
    data = LaneData(
        leaves=lanes[0],
        units=units,
        rtol=rtols,
        close=STEP_IN_TOLERANCES * rtols,
        tight=rtols * settings.factor,
        periods=np.full(number, periods, np.int32),
    )
    return OrbitProblem(static, path, data, settings)


@lane_kernel
def _units_kernel(lane, static):
    """Return the kernel from a lane (leaves, state, amplitude) to state scales."""
    leaves, state, amplitude = lane
    system = combine_arrays(leaves, static)
    if is_field(system):
        return scales(system, state)
    # The state at t = 0 may be small: include the amplitude.
    widest = jnp.concatenate([amplitude, jnp.zeros_like(amplitude)])
    return jnp.maximum(scales(system, state), scales(system, widest))


def trace_orbits(
    problem: OrbitProblem,
    states: np.ndarray,
    values: np.ndarray,
    limits: Limits,
    settings: ContinuationSettings,
    report: Callable[[int], None],
) -> list[Branch]:
    """Return the branch of each orbit, traced by arclength in both directions."""
    spread = orbit_spreader(problem.static, problem.path, settings.segments or 1)
    starts = map_samples(spread, (problem.data, states, values))
    return traced_branches(problem, both_ways(problem, starts, limits), limits, report)


def traced_branches(
    problem: OrbitProblem,
    pairs: Sequence[Sequence[Tracer]],
    limits: Limits,
    report: Callable[[int], None],
) -> list[Branch]:
    """Return the branches traced by pairs of tracers."""
    one: Any = problem.lane(0), pairs[0][0].start.x
    compile_ahead(problem.evaluator, one, chunk=EVALUATED)
    found = trace(problem, pairs, limits, report)
    return [problem.branch(b, traced) for b, traced in enumerate(found)]


@lane_kernel
def _kernel(lane, static, path: str):
    """Return the kernel from a lane (data, x) to d, scaled."""
    data, x = lane
    system = system_of(data, static)
    size = state_size(system)
    units = data.units[:size]
    there = at(system, path, x[-1] * data.units[-1])
    half = data.periods.astype(float) * there.period() / 2
    state = x[:size] * units
    image = flow(there, state, 0.0, half, rtol=data.tight)
    return (state - modulo_drift(there, image, state)) / units


def halves_apart(static: System, path: str, data: LaneData, x: np.ndarray) -> np.ndarray:
    r"""Return d, scaled, of motions at scaled points (points, unknowns).

    A branch of 2k-periodic motions ends at a flip of k-periodic ones. Beyond it the branch
    repeats the same motions, shifted by k periods. With $\varphi^{kT}$ the flow over half
    of the motion, $d = s - \varphi^{kT}(s)$ changes sign there.
    """
    return map_samples(_kernel(static, path), (equal_lanes(data, len(x)), x), chunk=8)


def parent_doubling(
    static: System, path: str, data: LaneData, chord: tuple[np.ndarray, np.ndarray]
) -> BifurcationPoint | None:
    """Return the period doubling of motions of half the period, near a branch's chord.

    Both branches cross there, and a plane across the chord contains points of both: the
    point is located on the branch of half the period. None if Newton's method does not
    converge to a point near the chord.
    """
    first, last = chord
    one, other = halves_apart(static, path, data, np.array(chord))
    difference = one - other
    share = linalg.dot(one, difference) / linalg.dot(difference, difference)
    guess, half = first + share * (last - first), int(data.periods) // 2
    found, off = _bifurcation_near(static, path, data, guess, "period_doubling", half)
    return found if off < linalg.norm(last - first) else None


def parent_grazing(
    static: System, path: str, data: LaneData, x: np.ndarray, most: int
) -> BifurcationPoint | None:
    """Return the grazing of at most so many periods at which a branch ends, or None.

    An impact in several periods begins there: at that grazing the motion touches the stop
    several times in as many periods, and near it no step follows the branch. Nor does one
    if the contact that begins is so stiff that the branch turns within the last step.
    """
    for fewer in range(1, most + 1):
        if int(data.periods) % fewer == 0:
            found, off = _bifurcation_near(static, path, data, x, "grazing", fewer)
            if off < _NEAR_GRAZING:
                return found
    return None


def _bifurcation_near(
    static: System, path: str, data: LaneData, x: np.ndarray, kind: str, periods: int
) -> tuple[BifurcationPoint, float]:
    """Return the bifurcation near scaled unknowns, and its distance, inf if not found."""
    unscaled = x * data.units
    system = at(system_of(data, static), path, unscaled[-1])
    size = state_size(system)
    found = bifurcation_point(system, unscaled[:size], kind, path, periods, throw=False)
    own = [*range(size), -1]  # of one segment
    off = np.append(found.state, found.parameter) / data.units[own] - x[own]
    return found, np.inf if int(found.result) else float(linalg.norm(off))
