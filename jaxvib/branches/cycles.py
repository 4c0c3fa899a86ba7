"""Branches of cycles of an autonomous field along a parameter."""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from .. import linalg
from ..ensemble import Reason, reason
from ..foundation.arrays import partition_arrays, to_jax
from ..orbits.equilibrium import equilibrium_near
from ..orbits.limit_cycle import LimitCycle
from .arclength import both_ways, correct_some
from .bifurcation_results import FieldBifurcation, field_bifurcation
from .branch import AbstractBranch
from .cycle_equations import CycleProblem, cycle_corrector, cycle_evaluator
from .defining_equations import NEAR
from .field_points import field_bifurcation_point
from .parameter_range import known_parameter, parameter_range
from .point import at
from .settings import ContinuationSettings
from .sign_changes import SignChange, detect_bifurcations, pairs, product
from .smooth_branch import SmoothFrame
from .tracer import RUNNING, BranchPoint, Limits, Tracer, TracerContext

# Newton's method is done where a step is no longer than this many tolerances.
_CLOSE = 30
# A bifurcation is only as good as the monodromy matrix there.
_TIGHTER = 1e-2
# Between two cycles on either side of a Hopf point the flow is this much slower.
_SLOWER = 0.2
# Multipliers of a larger error say nothing of what cannot be located.
_KNOWN = 0.1
# What cycles have no use for.
_NOT_OF_CYCLES = ("segments", "correct", "events", "stop_at")


class CycleBranch(AbstractBranch):
    """Cycles along one parameter, in their order along the branch.

    `cycles`: a `LimitCycle` whose fields have a leading axis of points. `ends` says why
    the branch stops at its first and at its last point.
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
        """Half of highest minus lowest values."""
        return self.cycles.amplitude

    def _besides(self) -> str:
        least, most = np.nanmin(self.periods), np.nanmax(self.periods)
        return f"; periods {least:.6g} to {most:.6g} s"


def continue_cycle(
    system, cycle, path: str, bounds, method: str, settings: ContinuationSettings, report
) -> CycleBranch:
    """Follow a cycle along a parameter, both ways, see `continue_orbit`."""
    if not isinstance(cycle, LimitCycle):
        found = type(cycle).__name__
        raise ValueError(f"orbit = {found} of an autonomous system; allowed: LimitCycle")
    if method != "arclength":
        raise ValueError(f"method = {method!r} of an autonomous system; allowed: arclength")
    settings.refuse("continue_orbit of an autonomous system", *_NOT_OF_CYCLES)
    value = float(known_parameter(system, path).value)
    extent = parameter_range(system, path, bounds, value, settings)
    if int(cycle.result) != Reason.SUCCESS:
        raise ValueError(f"orbit was not found: {reason(cycle.result)}")
    units = cycle_units(cycle)
    frame = CycleFrame(system, path, np.append(units, extent.span), settings)
    x = np.append(cycle.state, [cycle.period, value]) / frame.problem.units
    around = TracerContext(extent.limits, frame.correct)
    (pair,) = both_ways(frame.lanes, frame.problems, x[None], [around])
    tracers = [frame.tracer(around, one.start, one.code) for one in pair]
    return frame.traced(tracers, extent.limits, report)


def cycle_units(cycle: LimitCycle) -> np.ndarray:
    """Return what states and period of a cycle are measured in."""
    reached = np.maximum(np.abs(cycle.state), np.asarray(cycle.amplitude))
    return np.append(np.where(reached > 0, reached, 1.0), cycle.period)


class CycleFrame(SmoothFrame):
    """What all points of a branch of cycles have in common."""

    def __init__(self, system, path: str, units, settings: ContinuationSettings):
        leaves, static = partition_arrays(system)
        leaves = jax.tree.map(np.asarray, leaves)
        rtol = np.asarray(settings.rtol)
        tight, close = rtol * settings.factor, rtol * _CLOSE
        problem = CycleProblem(leaves, np.asarray(units), rtol, tight, close)
        super().__init__(static, path, problem)
        self._system = system

    def corrector(self):
        """Return the function of a lane that corrects a prediction."""
        return cycle_corrector(self.static, self.path)

    def evaluator(self):
        """Return the function of a lane that gives parameter and cycle."""
        return cycle_evaluator(self.static, self.path)

    def tracer(
        self, around: TracerContext, start: BranchPoint, code=RUNNING
    ) -> "CycleTracer":
        """Return a tracer that stops where cycles shrink to an equilibrium."""
        return CycleTracer(around, start, code, self.rate)

    def rate(self, x: np.ndarray) -> np.ndarray:
        """Return the scaled rate of a scaled point's state."""
        unscaled, size = x * self.problem.units, len(x) - 2
        found = _rate(self._system, self.path, unscaled[:size], unscaled[-1])
        return np.asarray(found) / self.problem.units[:size]

    def traced(self, pair, limits: Limits, report) -> CycleBranch:
        """Return the branch that a pair of tracers follows."""
        followed = self.followed(pair, limits, report)
        points, ends, _, found = followed
        tight = self.problem.tight * _TIGHTER
        finer = self.problem._replace(tight=tight, close=tight)
        sharp = functools.partial(correct_some, self.lanes, finer)
        # Beside a homoclinic motion multipliers are not known, and their signs are noise.
        known = np.asarray(found.multiplier_error) < _KNOWN
        changes = [
            change
            for change in detect_bifurcations(sharp, points, TESTS)
            if change.found
            or change.kind == "fold"
            or known[change.after : change.after + 2].all()
        ]
        located = [self._bifurcation(change) for change in changes]
        low, high = self._hopf(ends[0], points[0].x), self._hopf(ends[1], points[-1].x)
        located = [low, *located, high]
        cycles = to_jax(found)
        return CycleBranch(cycles=cycles, **self.along(followed, located))

    def _hopf(self, code, x: np.ndarray) -> FieldBifurcation | None:
        """Return the Hopf point that a branch ends at, None where it ends otherwise."""
        if code != Reason.EQUILIBRIUM:
            return None
        unscaled = x * self.problem.units
        there = at(self._system, self.path, unscaled[-1])
        rest = equilibrium_near(there, jnp.asarray(unscaled[:-2]))
        found = field_bifurcation_point(there, rest, "hopf", self.path, throw=False)
        return None if int(found.result) else found

    def _bifurcation(self, change: SignChange) -> FieldBifurcation | None:
        """Return what a change is, None where two multipliers only cancel."""
        values, found = self.evaluated(change.x[None])
        multipliers = change.values
        turning = multipliers.imag != 0
        wrong = {
            "fold": np.abs(multipliers - 1).min(),
            "branch_point": np.abs(multipliers - 1).min(),
            "period_doubling": np.abs(multipliers + 1).min(),
            "neimark_sacker": np.where(turning, abs(np.abs(multipliers) - 1), np.inf).min(),
        }[change.kind]
        # A fold is where the parameter turns back, however large other multipliers are.
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


# Test functions by the parameter's part of the tangent and the multipliers but the
# trivial one, (points, n - 1).
TESTS: dict[str, Callable] = {
    "fold": lambda tangents, values: tangents,
    "period_doubling": lambda tangents, values: product(1 + values).real,
    "neimark_sacker": lambda tangents, values: product(pairs(values, np.multiply) - 1).real,
    "branch_point": lambda tangents, values: product(1 - values).real,
}


class CycleTracer(Tracer):
    """One way along a branch of cycles, as far as the equilibrium that they shrink to.

    Beyond that the same cycles come once more, begun half a period later: the flow at
    their start has turned round.
    """

    def __init__(self, around: TracerContext, start: BranchPoint, code, rate: Callable):
        super().__init__(around, start, code)
        self._rate = rate

    def accept(self, found) -> int:
        """Go on from what the corrector has made of the plan; return the points found."""
        before, here = len(self.points), self.here
        count = super().accept(found)
        way = [here, *self.points[before:]]
        for number in range(len(way) - 1):
            if self._passes_rest(way[number].x, way[number + 1].x):
                self.points = self.points[: before + number]
                self.code = Reason.EQUILIBRIUM
                return number
        return count

    def _passes_rest(self, first: np.ndarray, last: np.ndarray) -> bool:
        one, other = self._rate(first), self._rate(last)
        if linalg.dot(one, other) >= 0:
            return False
        way = one - other
        share = linalg.dot(one, way) / linalg.dot(way, way)
        between = self._rate(first + share * (last - first))
        slowest = min(linalg.norm(one), linalg.norm(other))
        return bool(linalg.norm(between) < _SLOWER * slowest)


@eqx.filter_jit
def _rate(system, path: str, state, value):
    return at(system, path, value).equation().vector_field(0.0, jnp.asarray(state))
