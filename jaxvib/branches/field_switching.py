"""Branch switching at bifurcations of equilibria and cycles of autonomous systems."""

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
    """Continue the branch that emanates from a bifurcation, see `switch_branch`."""
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
        raise ValueError(f"{point.kind} at {parameter:g}: no other branch found")
    here = Tracer(around, start, Reason.BRANCHED)
    if isinstance(frame, EquilibriumFrame):
        return frame.traced([Tracer(around, start), here], extent.limits, report)
    return frame.traced([frame.tracer(around, start), here], extent.limits, report)


def _crossing(system, point, state, span):
    """Return frame, scaled unknowns and direction of the crossing equilibria."""
    frame = EquilibriumFrame(system, point.path, state, span)
    units = frame.problem.units
    matrix = _scaled_jacobian(system, state, units[:-1])
    direction = linalg.eigenvector_near(matrix, 0.0).real
    away = np.append(direction / linalg.norm(direction), 0.0)
    return frame, np.append(state, float(point.parameter)) / units, away


def _from_rest(system, point, state, span, settings):
    r"""Return the same for cycles at a Hopf point, along the eigenvector of i omega."""
    sizes, period = np.asarray(equilibrium_units(system, state)), float(point.period)
    frame = CycleFrame(system, point.path, sizes, period, span, settings)
    matrix = _scaled_jacobian(system, state, sizes)
    vector = linalg.eigenvector_near(matrix, 1j * float(point.frequency))
    # Make v . v real: Re v is the major axis of the ellipse, and the flow is across it.
    squared = np.sum(vector * vector)
    turn = np.sqrt(squared.conj() / np.abs(squared)) if squared else 1.0
    vector = vector * turn
    turns = np.exp(2j * np.pi * np.arange(frame.segments) / frame.segments)
    away = np.append((turns[:, None] * vector).real.ravel(), [0.0, 0.0])
    x = np.append(np.tile(state, frame.segments), [period, float(point.parameter)])
    return frame, x / frame.problem.units, _unit(away, frame)


def _from_cycle(system, point, state, span, settings):
    """Return the same for cycles that branch off along a multiplier's eigenvector."""
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
    # Two revolutions in the same number of segments: every second start is kept.
    states = x[:-2].reshape(ways.shape)
    twice = np.concatenate([np.vstack([states, states])[::2].ravel(), [2 * x[-2], x[-1]]])
    away = np.append(np.vstack([ways, -ways])[::2].ravel(), [0.0, 0.0])
    return frame, twice, _unit(away, frame)


def _eigendirection(parts, multiplier: float):
    """Return the eigenvector of a multiplier, 1 or -1.

    **Returns:** its components in the scaled states of all segments, and in the length.
    """
    blocks, rates = parts.blocks, parts.rates
    aside = np.asarray(reflection(jnp.asarray(rates[0])))
    whole = functools.reduce(lambda product, block: block @ product, blocks)
    turned = (aside @ whole @ aside)[1:, 1:]
    ways = [linalg.dot(aside[:, 1:], linalg.eigenvector_near(turned, multiplier).real)]
    for block in blocks:
        ways.append(block @ ways[-1])
    left = ways.pop() - multiplier * ways[0]
    # Remove the mismatch along the flow by a shift (-1) or a change of the length (1).
    slip = rates[0] @ left / (rates[0] @ rates[0])
    parts_gone = np.arange(len(rates))[:, None] / len(rates)
    if multiplier < 0:
        return np.array(ways) - slip / 2 * rates, 0.0
    return np.array(ways) - slip * parts_gone * rates, -slip


def _unit(away, frame: CycleFrame):
    """Return the scaled unit vector along a direction of states, length and parameter."""
    states = np.tile(frame.sizes, frame.segments)
    scaled = away * np.append(states, [1.0, 1.0]) / frame.problem.units
    return scaled / linalg.norm(scaled)


def _scaled_jacobian(system, state, units) -> np.ndarray:
    field = system.equation().vector_field
    matrix = jax.jacfwd(lambda state: field(0.0, state))(jnp.asarray(state))
    return np.asarray(matrix) * units[None] / units[:, None]
