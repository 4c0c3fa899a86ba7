"""Branches of an autonomous field that begin at a bifurcation of another one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from .. import linalg
from ..ensemble import Reason
from ..orbits.limit_cycle import reflection
from .bifurcation_results import FieldBifurcation
from .cycles import NOT_OF_CYCLES, CycleBranch, CycleFrame, motion
from .equilibria import EquilibriumBranch, EquilibriumFrame, equilibrium_units
from .parameter_range import parameter_range
from .point import at
from .settings import ContinuationSettings
from .switching import first_point_off
from .tracer import Tracer, TracerContext, axis_of

FROM = (
    ("equilibrium", "hopf"),
    ("equilibrium", "branch_point"),
    ("cycle", "period_doubling"),
    ("cycle", "branch_point"),
)


def switch_field_branch(
    system,
    point: FieldBifurcation,
    bounds,
    way: int,
    settings: ContinuationSettings,
    report,
) -> CycleBranch | EquilibriumBranch:
    """Follow the branch that begins at a bifurcation, see `continuation.switch_branch`."""
    if (point.of, point.kind) not in FROM:
        allowed = ", ".join(f"{kind} of {of}" for of, kind in FROM)
        raise ValueError(f"{point.kind} of {point.of}; allowed: {allowed}")
    if way not in (1, -1):
        raise ValueError(f"way = {way}; allowed: 1, -1")
    if int(point.result):
        raise ValueError(f"{point.kind} was not found")
    of_rests = point.of == "equilibrium" and point.kind == "branch_point"
    settings.refuse("switch_branch", *NOT_OF_CYCLES, *(["segments"] if of_rests else []))
    parameter = float(point.parameter)
    extent = parameter_range(system, point.path, bounds, parameter, settings)
    state = np.asarray(point.state)
    system = at(system, point.path, parameter)
    if of_rests:
        frame, x, away = _crossing(system, point, state, extent.span)
    elif point.kind == "hopf":
        frame, x, away = _from_rest(system, point, state, extent.span, settings)
    else:
        frame, x, away = _from_cycle(system, point, state, extent.span, settings)
    around = TracerContext(extent.limits, frame.correct)
    start = first_point_off(around, x, way * np.sign(away[np.argmax(np.abs(away))]) * away)
    if start is None:
        raise ValueError(f"{point.kind} at {parameter:g}: no branch is there")
    here = Tracer(around, start, Reason.BRANCHED)
    if isinstance(frame, EquilibriumFrame):
        return frame.traced([Tracer(around, start), here], extent.limits, report)
    return frame.traced([frame.tracer(around, start), here], extent.limits, report)


def _crossing(system, point, state, span):
    """Return frame, scaled unknowns and direction of the equilibria that cross there."""
    frame = EquilibriumFrame(system, point.path, state, span)
    units = frame.problem.units
    matrix = _scaled_jacobian(system, state, units[:-1])
    direction = linalg.eigenvector_near(matrix, 0.0).real
    away = np.append(direction / linalg.norm(direction), 0.0)
    return frame, np.append(state, float(point.parameter)) / units, away


def _from_rest(system, point, state, span, settings):
    r"""Return those of the cycles about a Hopf point, along the eigenvector of i omega."""
    sizes, period = np.asarray(equilibrium_units(system, state)), float(point.period)
    frame = CycleFrame(system, point.path, sizes, period, span, settings)
    matrix = _scaled_jacobian(system, state, sizes)
    vector = linalg.eigenvector_near(matrix, 1j * float(point.frequency))
    # The longer axis of the ellipse, across which the flow is there: v v has no angle.
    squared = np.sum(vector * vector)
    turn = np.sqrt(squared.conj() / np.abs(squared)) if squared else 1.0
    vector = vector * turn
    turns = np.exp(2j * np.pi * np.arange(frame.segments) / frame.segments)
    away = np.append((turns[:, None] * vector).real.ravel(), [0.0, 0.0])
    x = np.append(np.tile(state, frame.segments), [period, float(point.parameter)])
    return frame, x / frame.problem.units, _unit(away, frame)


def _from_cycle(system, point, state, span, settings):
    """Return those of the cycles that leave another along a multiplier's eigenvector."""
    period, value = float(point.period), float(point.parameter)
    states, _ = motion(system, jnp.asarray(state), period)
    reached = np.max(np.abs(states), axis=0)
    sizes = np.maximum(reached, np.max(reached) * 1e-3)
    frame = CycleFrame(system, point.path, sizes, period, span, settings)
    x = frame.spread(state, period, value)
    x = np.asarray(frame.correct(x[None], axis_of(len(x), -1)[None]).x[0])
    parts = jax.tree.map(np.asarray, frame.segmented(x))
    doubled = point.kind == "period_doubling"
    ways, longer = _eigendirection(parts, -1.0 if doubled else 1.0)
    ways = ways * np.sqrt(frame.segments)
    if not doubled:
        return frame, x, _unit(np.append(ways.ravel(), [longer, 0.0]), frame)
    # Of both rounds every second segment begins one of the same number, twice as long.
    states = x[:-2].reshape(ways.shape)
    twice = np.concatenate([np.vstack([states, states])[::2].ravel(), [2 * x[-2], x[-1]]])
    away = np.append(np.vstack([ways, -ways])[::2].ravel(), [0.0, 0.0])
    return frame, twice, _unit(away, frame)


def _eigendirection(parts, multiplier: float):
    """Return how scaled states of all segments, and the length, leave a cycle.

    That is along the eigenvector of a multiplier, 1 or -1.
    """
    blocks, rates = parts.blocks, parts.rates
    aside = np.asarray(reflection(jnp.asarray(rates[0])))
    whole = functools.reduce(lambda product, block: block @ product, blocks)
    turned = (aside @ whole @ aside)[1:, 1:]
    ways = [linalg.dot(aside[:, 1:], linalg.eigenvector_near(turned, multiplier).real)]
    for block in blocks:
        ways.append(block @ ways[-1])
    left = ways.pop() - multiplier * ways[0]
    # Along the flow the eigenvector of M is what lets it come back, or the length is.
    slip = rates[0] @ left / (rates[0] @ rates[0])
    parts_gone = np.arange(len(rates))[:, None] / len(rates)
    if multiplier < 0:
        return np.array(ways) - slip / 2 * rates, 0.0
    return np.array(ways) - slip * parts_gone * rates, -slip


def _unit(away, frame: CycleFrame):
    """Return the scaled unit vector of states in units, length and parameter."""
    states = np.tile(frame.sizes, frame.segments)
    scaled = away * np.append(states, [1.0, 1.0]) / frame.problem.units
    return scaled / linalg.norm(scaled)


def _scaled_jacobian(system, state, units) -> np.ndarray:
    field = system.equation().vector_field
    matrix = jax.jacfwd(lambda state: field(0.0, state))(jnp.asarray(state))
    return np.asarray(matrix) * units[None] / units[:, None]
