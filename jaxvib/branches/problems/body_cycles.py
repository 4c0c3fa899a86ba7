r"""Continuation of limit cycles of bodies that may stick, slide and hit stops.

The unknowns $x = (s/u, T/\theta, p/\ell)$ are a state at which no friction sticks, the
period and the parameter. The equations are the return, a phase condition relative to the
prediction $\hat s$, and a plane:

$$\varphi^T(s) - s = 0, \qquad f(\hat s) \cdot (s - \hat s) = 0, \qquad
  n \cdot (x - \hat x) = 0.$$

After a phase of sticking a motion has forgotten all but its time: a single segment is
resolved. Grazings are the zeros of a margin, see `equations.cycle_margins`.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ... import linalg
from ...dynamics.flow import flow
from ...ensemble import Reason, reason
from ...foundation.arrays import one_lane, partition_arrays, to_jax
from ...foundation.types import AnyArray
from ...orbits.limit_cycle import LimitCycle, cycle_from_shooting, transverse
from ...orbits.shooting.cycle_shooting import rate_of, shoot
from ...systems.base.system import System
from ...systems.drift import across_drift, modulo_drift
from ...systems.fields import state_size
from ...systems.parameters import parameter_at
from ..equations.corrector import (
    STEP_IN_TOLERANCES,
    LaneData,
    system_corrector,
    system_evaluator,
    system_of,
)
from ..equations.cycle_equations import OF_ENDS
from ..equations.cycle_margins import (
    cycle_samples,
    margin_of,
    margins_of,
    nearest_of,
    sliding_speeds,
)
from ..equations.point import at
from ..equations.touches import has_hard_stops
from ..results.bifurcation_results import FieldBifurcation, found_bifurcation
from ..tracing.arclength import both_ways
from ..tracing.parameter_range import parameter_range
from ..tracing.problem import lane_of
from ..tracing.settings import ContinuationSettings
from ..tracing.test_functions import LocatedZero, TestFunction
from ..tracing.trace import trace
from ..tracing.tracer import Limits, Place, Tracer, TracerContext
from .cycles import NOT_OF_CYCLES, AbstractCycleProblem, CycleBranch

# Margins at a grazing are below this: beside it they are of the order of the square
# root of the distance from it, or of the resolution of a cycle's samples.
_GRAZES = 1e-2
# Where no step succeeds, grazing is sought within this many of the smallest steps, and
# the bracket is halved as often.
_BEYOND, _HALVINGS = 16, 50
# A grazing is approached by this part of its distance, at most so far, so many times.
_TOWARDS, _NEAR, _APPROACHES = 0.9, 1e-2, 6
_KINKED = 0.999  # cosine between the tangents on both sides of a kink
_ASIDE = 1e-5  # distance at which margins tell on which side cycles are


class SeenCycle(NamedTuple):
    """A cycle of bodies, with its `margin` from grazing, see `equations.cycle_margins`."""

    cycle: LimitCycle
    margin: Any


def continue_body_cycle(
    system: System,
    cycle: Any,
    path: str,
    bounds: tuple[float, float],
    settings: ContinuationSettings,
    report: Callable[[int], None],
) -> CycleBranch:
    """Continue a cycle of bodies in both directions, see `continue_orbit`."""
    settings.refuse("continue_orbit of a limit cycle", *NOT_OF_CYCLES)
    settings.refuse("continue_orbit of a limit cycle of bodies", "segments")
    value = float(parameter_at(system, path).value)
    extent = parameter_range(system, path, bounds, value, settings, periodic=False)
    if int(cycle.result) != Reason.SUCCESS:
        raise ValueError(f"orbit was not found: {reason(cycle.result)}")
    problem = BodyCycleProblem(system, path, cycle, extent.span, settings)
    state = _sliding_state(system, cycle.state, cycle.period, settings.rtol)
    start = np.append(state, [float(cycle.period), value]) / problem.units
    (pair,) = both_ways(problem, start[None], extent.limits)
    (found,) = trace(problem, [pair], extent.limits, report)
    return CycleBranch(orbits=to_jax(found.solutions.cycle), **problem.fields(found))


class BodyCycleProblem(AbstractCycleProblem):
    """Limit cycles of bodies, by single shooting."""

    tests = (
        *AbstractCycleProblem.tests,
        TestFunction(
            "grazing",
            lambda seen, _: seen.solutions.margin,
            lambda seen: np.abs(seen.solutions.margin),
            tolerance=_GRAZES,
        ),
    )

    def __init__(self, system, path: str, cycle: LimitCycle, span: float, settings):
        leaves, static = partition_arrays(system)
        leaves = jax.tree.map(np.asarray, leaves)
        states, period = body_cycle_sizes(cycle)
        units, rtol = np.append(states, [period, span]), np.asarray(settings.rtol)
        # Beyond a grazing the equations have no solution, by less than looser tolerances.
        tight = rtol * settings.factor
        close = tight * STEP_IN_TOLERANCES
        data = LaneData(leaves, units, tight, close, tight, setting=rtol)
        corrector = system_corrector(cycle_equations, static, path)
        evaluator = system_evaluator(_cycle_at, static, path)
        super().__init__(static, path, one_lane(data), corrector, evaluator)
        self.resolution = float(rtol)

    def eigenvalues(self, solutions: SeenCycle) -> np.ndarray:
        """Return the Floquet multipliers without the trivial one."""
        return super().eigenvalues(solutions.cycle)

    def result(self, find: LocatedZero) -> FieldBifurcation:
        """Return a located bifurcation, or a grazing."""
        cycle, period = find.solution.cycle, find.solution.cycle.period
        find = find._replace(solution=cycle)
        if find.kind == "fold" and int(cycle.result):  # shooting is singular there
            solved = _solved(self.static, self.path, self.lane(0), find.x)
            residual, matrix = map(np.asarray, solved)
            distance = np.abs(np.linalg.eigvals(matrix) - 1).min()
            cycle = eqx.tree_at(lambda one: one.residual, cycle, residual)
            find = find._replace(solution=cycle, distance=distance)
        return found_bifurcation(find, "cycle", self.path, period, 2 * np.pi / period)

    def context(self, branch: int, limits: Limits) -> TracerContext:
        """Return the shared context of the tracers of one branch."""
        shared = super().context(branch, limits)
        data = self.lane(branch)

        def why(x: np.ndarray) -> Reason:
            # Where two belts come to move alike, a force at its limit hardly changes.
            _, matrix = _solved(self.static, self.path, data, x)
            far = bool(np.max(data.tight * linalg.norm(np.asarray(matrix))) > OF_ENDS)
            return Reason.TOO_FEW_SEGMENTS if far else Reason.DIVERGED

        corner = functools.partial(self._corner, branch, limits)
        shared = shared._replace(corner=corner, why=why)
        if not has_hard_stops(system_of(data, self.static)):
            return shared

        def sides(x: np.ndarray) -> np.ndarray:
            return np.sign([self._linearised(branch, point)[1] for point in x])

        return shared._replace(sides=sides)

    def at_end(self, branch: int, tracer: Tracer, code: Reason) -> FieldBifurcation | None:
        """Return the Hopf point, or the grazing, at which cycles end, or None."""
        if code not in (Reason.DIVERGED, Reason.TOO_FEW_SEGMENTS):
            return super().at_end(branch, tracer, code)
        grazing = self._grazing(branch, tracer.limits, tracer.here.x)
        if grazing is None:
            return None
        values, solutions = self.evaluated([branch], tracer.here.x[None])
        value = grazing.x[-1] * self.units[-1]
        numbers = value, lane_of(solutions, 0), np.zeros(0), grazing.apart
        where = len(values), "grazing", grazing.x
        return self.result(LocatedZero(*where, *numbers, _HALVINGS, Reason.SUCCESS))

    def _corner(self, branch: int, limits: Limits, x: np.ndarray) -> Place | None:
        """Return the grazing near a point, and cycles beyond it along their tangent."""
        start, found = x, self._grazing(branch, limits, x)
        for _ in range(_APPROACHES):
            if found is not None:
                break
            x = self._approached(branch, x)
            found = self._grazing(branch, limits, x)
        if found is None:
            return self._kink(branch, limits, start)
        matrix, margin, _ = self._linearised(branch, found.behind)
        tangent = _null_vector(matrix)
        # Along the cycles beyond, the margin becomes larger with the same sign.
        grown = self._linearised(branch, found.behind + _ASIDE * tangent)[1] / margin
        tangent = tangent if grown > 1 else -tangent
        return Place(found.x, lambda reach: found.x + reach * tangent)

    def _kink(self, branch: int, limits: Limits, x: np.ndarray) -> Place | None:
        """Return the kink next to a point, and cycles beyond it, or None.

        Where a body that sticks is just carried into a stop, before it would slip, the
        equations have other derivatives on either side.
        """

        def tangent_at(there: np.ndarray) -> np.ndarray:
            return _null_vector(self._linearised(branch, there)[0])

        def is_across(there: np.ndarray) -> bool:
            """Return whether the branch has another tangent there."""
            return bool(abs(linalg.dot(tangent_at(there), tangent)) < _KINKED)

        tangent = tangent_at(x)

        far = _BEYOND * limits.smallest_step
        ways = [way for way in (far, -far) if is_across(x + way * tangent)]
        if not ways:
            return None
        _, high = _bracketed(lambda reach: is_across(x + reach * tangent), ways[0])
        kink = x + high * tangent
        other = tangent_at(kink)
        sides = [is_across(kink + side * _ASIDE * other) for side in (1, -1)]
        if sides[0] == sides[1]:
            return None
        onwards = other if sides[0] else -other
        return Place(kink, lambda reach: kink + reach * onwards)

    def _approached(self, branch: int, x: np.ndarray) -> np.ndarray:
        """Return a point of the branch nearer to a grazing, or the point itself.

        A sharp turn may lead to cycles that are many of the smallest steps away from it.
        """
        matrix, margin, _ = self._linearised(branch, x)
        tangent = _null_vector(matrix)
        slope = self._linearised(branch, x + _ASIDE * tangent)[1] - margin
        reach = float(-_TOWARDS * margin / slope * _ASIDE)
        if not abs(reach) < _NEAR:  # NaN: no margin
            return x
        found = self.correct_of(branch, (x + reach * tangent)[None], tangent[None])
        return np.asarray(found.x[0]) if found.found[0] else x

    def _grazing(self, branch: int, limits: Limits, x: np.ndarray) -> "_Grazed | None":
        """Return the grazing next to a point along the tangent there, or None."""
        matrix, _, margins = self._linearised(branch, x)
        tangent, far = _null_vector(matrix), _BEYOND * limits.smallest_step

        def passed(reach: float) -> bool:
            # Of each: where a body is no longer carried, it may also not be stopped.
            beyond = self._linearised(branch, x + reach * tangent)[2]
            return bool(np.any(np.multiply(margins, beyond) < 0))

        for way in (far, -far):
            if not passed(way):
                continue
            low, high = _bracketed(passed, way)
            reached = x + low * tangent, x + way * tangent
            return _Grazed(*reached, np.sign(way), abs(high - low))
        return None

    def _linearised(self, branch: int, x: np.ndarray) -> tuple[Array, Array, list]:
        return _linearised(self.static, self.path, self.lane(branch), x)


class _Grazed(NamedTuple):
    """A grazing at scaled unknowns x, and a point `behind` it on a branch's tangent.

    `way`: the sign of the tangent; `apart`: the width of the bracket.
    """

    x: np.ndarray
    behind: np.ndarray
    way: float
    apart: float


def _bracketed(passed: Callable[[float], bool], far: float) -> tuple[float, float]:
    """Return the ends of a bracket between 0 and `far` of where a change is passed."""
    low, high = 0.0, far
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if passed(middle) else (middle, high)
    return low, high


def _null_vector(matrix: AnyArray) -> np.ndarray:
    """Return the unit vector that a matrix of one row too few maps to zero."""
    return np.linalg.svd(np.asarray(matrix))[2][-1]


def body_cycle_sizes(cycle: LimitCycle) -> tuple[np.ndarray, float]:
    """Return the scales of the states and of the period of a cycle of bodies."""
    amplitude, period = np.asarray(cycle.amplitude), float(cycle.period)
    moved = np.append(amplitude, amplitude * 2 * np.pi / period)
    moved = np.maximum(moved, np.abs(cycle.state))
    return np.where(moved > 0, moved, 1.0), period


def _sliding_state(system, state, period, rtol) -> np.ndarray:
    """Return the state of a cycle at which all frictions slide as fast as possible."""
    states = np.asarray(cycle_samples(system, state, period, rtol))
    speeds = np.abs(sliding_speeds(system, states))
    if not speeds.size:
        return np.asarray(state)
    fastest = speeds.max(axis=0)
    least = (speeds / np.where(fastest > 0, fastest, 1.0)).min(axis=1)
    return np.asarray(modulo_drift(system, states[np.argmax(least)]))


def cycle_equations(
    system: System, path: str, data: LaneData, anchor: Array, x: Array
) -> tuple[Array, Array, tuple[Array, Array]]:
    """Return the residual of a cycle's equations, see `corrector.lane_corrector`."""
    size, units = state_size(system), data.units

    def end(x):
        unscaled = x * units
        there, start = at(system, path, unscaled[-1]), unscaled[:size]
        final = flow(there, start, 0.0, unscaled[size], rtol=data.tight)
        final = modulo_drift(there, final, start) / units[:size]
        return final, final

    slopes, reached = jax.jacfwd(end, has_aux=True)(x)
    there = at(system, path, (anchor * units)[-1])
    along = rate_of(there, (anchor * units)[:size])
    along = across_drift(system, along) / units[:size]
    along = along / jnp.maximum(linalg.norm(along), jnp.finfo(float).tiny)
    rest = jnp.append(reached - x[:size], along @ (x - anchor)[:size])
    back = jnp.eye(size, size + 2)
    matrix = jnp.vstack([slopes - back, jnp.append(along, jnp.zeros(2))])
    _, others = transverse(slopes[:, :size], slopes[:, size], jnp.ones(size))
    return rest, matrix, (others, jnp.zeros(()))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _linearised(
    static: System, path: str, data: LaneData, x: Array
) -> tuple[Array, Array, list]:
    """Return the equations and margins at scaled unknowns.

    The equations are their matrix without the plane's row; the margins are the nearest
    one, and those of each friction and stop.
    """
    unscaled, system = x * data.units, system_of(data, static)
    there = at(system, path, unscaled[-1])
    matrix = cycle_equations(system, path, data, x, x)[1]
    every = margins_of(there, unscaled[:-2], unscaled[-2], data.tight, catches=True)
    return matrix, nearest_of(every[len(system.frictions) :]), every


@functools.partial(jax.jit, static_argnums=(0, 1))
def _solved(static: System, path: str, data: LaneData, x: Array) -> tuple[Array, Array]:
    """Return the residual and the monodromy matrix at scaled unknowns."""
    rest, _, (others, _) = cycle_equations(system_of(data, static), path, data, x, x)
    return jnp.max(jnp.abs(rest)), others


def _cycle_at(system: System, data: LaneData, x: Array) -> SeenCycle:
    """Return the cycle of a scaled point."""
    unscaled = x * data.units
    state, period = unscaled[:-2], unscaled[-2]
    rtol, tight = data.setting, data.tight
    found = shoot(system, state, period, jnp.abs(state), rtol, tight)
    cycle = cycle_from_shooting(system, found, tight, tight < rtol)
    return SeenCycle(cycle, margin_of(system, state, period, tight))
