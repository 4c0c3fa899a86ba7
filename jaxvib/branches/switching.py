"""Branch switching at bifurcations of orbits, equilibria and cycles."""

import functools
from collections.abc import Callable
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np

from .. import linalg
from ..ensemble import Reason, map_samples
from ..foundation.arrays import one_lane, partition_arrays
from ..orbits.limit_cycle import reflection
from ..systems.base.system import System
from ..systems.fields import is_autonomous
from .equations.cycle_equations import motion
from .equations.point import at
from .problems.cycles import NOT_OF_CYCLES, CycleBranch, CycleProblem
from .problems.equilibria import (
    EquilibriumBranch,
    EquilibriumProblem,
    crossing_direction,
    units_near_zero,
)
from .problems.field_points import scaled_jacobian
from .problems.orbit_problem import orbit_problem
from .results.bifurcation_results import BifurcationPoint, FieldBifurcation
from .results.branch import Branch
from .tracing.parameter_range import parameter_range
from .tracing.settings import USUAL, ContinuationSettings, report_to
from .tracing.tracer import BranchPoint, Tracer, TracerContext, axis_of

# Relative distances of the first point from the bifurcation, tried in order.
_REACHES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6, 1e-7)


@overload
def switch_branch(
    system: System, point: BifurcationPoint, *_: Any, **__: Any
) -> Branch: ...


@overload
def switch_branch(
    system: System, point: FieldBifurcation, *_: Any, **__: Any
) -> CycleBranch | EquilibriumBranch: ...


def switch_branch(
    system: System,
    point: BifurcationPoint | FieldBifurcation,
    bounds: tuple[float, float],
    direction: int = 1,
    *,
    settings: ContinuationSettings = USUAL,
    progress: Callable[[int], None] | None = None,
) -> Branch | CycleBranch | EquilibriumBranch:
    """Continue the branch that emanates from a bifurcation of another branch.

    From a period doubling, the branch of twice the period; from a branch point, the
    crossing branch (e.g. with broken symmetry), to the side `direction`, 1 or -1. The
    branch starts near the bifurcation, with the reason `BRANCHED`. For an autonomous
    system, the cycles from a Hopf point, or the crossing branch of equilibria or cycles
    from a branch point.

    **Arguments:** `point`: of a branch's `bifurcations`, or a `bifurcation_point`;
    the others as in `continue_orbit`.

    **Raises:** `ValueError` for a kind from which no branch emanates, a point of limit
    cycles or equilibria of bodies, bounds that do not enclose the point, or if no branch
    is found.

    **Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, chapter 10.
    """
    of = point.of if isinstance(point, FieldBifurcation) else ""
    starts = {kind: start for (which, kind), start in _STARTS.items() if which == of}
    if point.kind not in starts:
        what = f"kind = {point.kind!r}" + (f" of {of}" if of else "")
        raise ValueError(f"{what}; allowed: {', '.join(starts)}")
    if direction not in (1, -1):
        raise ValueError(f"direction = {direction}; allowed: 1, -1")
    if of and int(point.result):
        raise ValueError(f"{point.kind} was not found")
    if of and not is_autonomous(system):
        raise ValueError(
            f"{point.kind} of the {of} of an {type(system).__name__}; allowed: points of "
            "autonomous systems"
        )
    settings.refuse("switch_branch", *_refused(of, point.kind))
    value = float(point.parameter)
    extent = parameter_range(system, point.path, bounds, value, settings)
    problem, x, away = starts[point.kind](system, point, extent.span, settings)
    context = problem.context(0, extent.limits)
    start = None
    if away is not None:
        away = direction * np.sign(away[np.argmax(np.abs(away))]) * away
        start = _first_point(context, x, away)
    if start is None:
        raise ValueError(f"{point.kind} at {value:g}: no branch is found")
    pair = [Tracer(context, start), Tracer(context, start, Reason.BRANCHED)]
    return problem.traced(pair, extent.limits, report_to(progress))


def _refused(of: str, kind: str) -> tuple[str, ...]:
    """Return the names of the settings that do not apply."""
    if not of:
        return ("segments",)
    return (*NOT_OF_CYCLES, *(["segments"] if (of, kind) == _CROSSING else []))


def _first_point(around: TracerContext, x, away) -> BranchPoint | None:
    """Return the first point of the branch that emanates along a direction, or None."""
    predicted = np.array([x + reach * away for reach in _REACHES])
    found = around.correct(predicted, np.array([away] * len(_REACHES)))
    strayed = linalg.norm(found.x - predicted)
    good = np.flatnonzero(found.found & (strayed < 0.5 * np.array(_REACHES)))
    if not good.size:
        return None
    best = good[0]
    outward = np.sign(linalg.dot(found.tangent[best], found.x[best] - x))
    return BranchPoint(found.x[best], outward * found.tangent[best], float(strayed[best]))


def _from_orbit(system, point, span: float, settings):
    r"""Return the problem of orbits, the scaled unknowns of a point, and the direction.

    The branch emanates along the eigenvector $M q = \pm q$ of the original orbit, before
    its period is doubled.
    """
    leaves, static = partition_arrays(system)
    nothing, doubled = np.zeros(point.state.size // 2), point.kind == "period_doubling"
    one = one_lane((leaves, point.state, nothing))
    periods = (2 if doubled else 1) * point.periods
    problem = orbit_problem(one, static, point.path, span, periods, settings)
    units = problem.units
    x = np.append(point.state, point.parameter) / units
    once = problem.lanes([0])._replace(periods=np.asarray(point.periods)[None])
    lane = once, x[None], axis_of(len(x), -1)[None]
    matrix = map_samples(problem.corrector, lane).monodromy[0]
    scaled = matrix * units[None, :-1] / units[:-1, None]
    return problem, x, _eigenvector(scaled, -1.0 if doubled else 1.0)


def _eigenvector(matrix, eigenvalue: float) -> np.ndarray:
    """Return the unit vector of unknowns along an eigenvector of a scaled matrix."""
    direction = linalg.eigenvector_near(matrix, eigenvalue).real
    return np.append(direction / linalg.norm(direction), 0.0)


def _crossing(system, point, span, settings):
    """Return the same for the equilibria that cross at a branch point."""
    state, value = np.asarray(point.state), float(point.parameter)
    system = at(system, point.path, value)
    problem = EquilibriumProblem(system, point.path, state, span, point.branch)
    x = np.append(state, value) / problem.units
    away = crossing_direction(system, point.path, problem.units, x, point.branch)
    return problem, x, away


def _from_rest(system, point, span, settings):
    r"""Return the same for cycles at a Hopf point, along the eigenvector of i omega."""
    state, value = np.asarray(point.state), float(point.parameter)
    system = at(system, point.path, value)
    near = span, jnp.asarray(state), point.branch
    sizes = np.asarray(units_near_zero(system, point.path, *near))
    period = float(point.period)
    problem = CycleProblem(system, point.path, sizes, period, span, settings)
    matrix, _ = scaled_jacobian(system, jnp.asarray(state), sizes)
    vector = linalg.eigenvector_near(np.asarray(matrix), 1j * float(point.frequency))
    # Make v . v real: Re v is the major axis of the ellipse, and the flow is across it.
    squared = np.sum(vector * vector)
    turn = np.sqrt(squared.conj() / np.abs(squared)) if squared else 1.0
    vector = vector * turn
    turns = np.exp(2j * np.pi * np.arange(problem.segments) / problem.segments)
    away = np.append((turns[:, None] * vector).real.ravel(), [0.0, 0.0])
    x = np.append(np.tile(state, problem.segments), [period, value])
    return problem, x / problem.units, _unit(away, problem)


def _from_cycle(system, point, span, settings):
    """Return the same for cycles that branch off along a multiplier's eigenvector."""
    period, value, state = float(point.period), float(point.parameter), point.state
    system = at(system, point.path, value)
    states, _ = motion(system, jnp.asarray(state), period)
    reached = np.max(np.abs(states), axis=0)
    sizes = np.maximum(reached, np.max(reached) * 1e-3)
    problem = CycleProblem(system, point.path, sizes, period, span, settings)
    x = problem.spread(state, period, value)
    x = np.asarray(problem.correct_of(0, x[None], axis_of(len(x), -1)[None]).x[0])
    parts = jax.tree.map(np.asarray, problem.segmented(x))
    doubled = point.kind == "period_doubling"
    directions, longer = _eigendirection(parts, -1.0 if doubled else 1.0)
    directions = directions * np.sqrt(problem.segments)
    if not doubled:
        return problem, x, _unit(np.append(directions.ravel(), [longer, 0.0]), problem)
    # Two revolutions in the same number of segments: every second start is kept.
    states = x[:-2].reshape(directions.shape)
    twice = np.concatenate([np.vstack([states, states])[::2].ravel(), [2 * x[-2], x[-1]]])
    away = np.append(np.vstack([directions, -directions])[::2].ravel(), [0.0, 0.0])
    return problem, twice, _unit(away, problem)


def _eigendirection(parts, multiplier: float):
    """Return the eigenvector of a multiplier, 1 or -1.

    **Returns:** its components in the scaled states of all segments, and in the length.
    """
    blocks, rates = parts.blocks, parts.rates
    aside = np.asarray(reflection(jnp.asarray(rates[0])))
    monodromy = functools.reduce(lambda product, block: block @ product, blocks)
    turned = (aside @ monodromy @ aside)[1:, 1:]
    directions = [
        linalg.dot(aside[:, 1:], linalg.eigenvector_near(turned, multiplier).real)
    ]
    for block in blocks:
        directions.append(block @ directions[-1])
    left = directions.pop() - multiplier * directions[0]
    # Remove the mismatch along the flow by a shift (-1) or a change of the length (1).
    slip = rates[0] @ left / (rates[0] @ rates[0])
    parts_gone = np.arange(len(rates))[:, None] / len(rates)
    if multiplier < 0:
        return np.array(directions) - slip / 2 * rates, 0.0
    return np.array(directions) - slip * parts_gone * rates, -slip


def _unit(away, problem: CycleProblem):
    """Return the scaled unit vector along a direction of states, length and parameter."""
    states = np.tile(problem.sizes, problem.segments)
    scaled = away * np.append(states, [1.0, 1.0]) / problem.units
    return scaled / linalg.norm(scaled)


_CROSSING = "equilibrium", "branch_point"
# The functions that return the problem of a branch, a point of it and its direction.
_STARTS = {
    ("", "period_doubling"): _from_orbit,
    ("", "branch_point"): _from_orbit,
    ("equilibrium", "hopf"): _from_rest,
    _CROSSING: _crossing,
    ("cycle", "period_doubling"): _from_cycle,
    ("cycle", "branch_point"): _from_cycle,
}
