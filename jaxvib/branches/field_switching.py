"""Branches of an autonomous field that begin at a bifurcation of another one."""

import jax
import jax.numpy as jnp
import numpy as np

from .. import linalg
from ..ensemble import Reason
from ..orbits.limit_cycle import reflection
from .bifurcation_results import FieldBifurcation
from .cycles import CycleBranch, CycleFrame
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
    settings.refuse("switch_branch", "segments", "correct", "events", "stop_at")
    parameter = float(point.parameter)
    extent = parameter_range(system, point.path, bounds, parameter, settings)
    state = np.asarray(point.state)
    system = at(system, point.path, parameter)
    if point.of == "equilibrium" and point.kind == "branch_point":
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
    units = np.append(equilibrium_units(system, state), [float(point.period), span])
    frame = CycleFrame(system, point.path, units, settings)
    matrix = _scaled_jacobian(system, state, units[:-2])
    vector = linalg.eigenvector_near(matrix, 1j * float(point.frequency))
    # The longer axis of the ellipse, across which the flow is there: v v has no angle.
    squared = np.sum(vector * vector)
    turn = np.sqrt(squared.conj() / np.abs(squared)) if squared else 1.0
    vector = vector * turn
    away = np.append(vector.real / linalg.norm(vector.real), [0.0, 0.0])
    return (
        frame,
        np.append(state, [float(point.period), float(point.parameter)]) / units,
        away,
    )


def _from_cycle(system, point, state, span, settings):
    """Return those of the cycles that leave another along a multiplier's eigenvector."""
    doubled = point.kind == "period_doubling"
    reached = np.maximum(np.abs(state), np.max(np.abs(state)) * 1e-3)
    longer = float(point.period) * (2 if doubled else 1)
    units = np.append(reached, [longer, span]).astype(float)
    frame = CycleFrame(system, point.path, units, settings)
    once = np.append(state, [float(point.period), float(point.parameter)]) / units
    found = frame.correct(once[None], axis_of(len(once), -1)[None])
    vector = linalg.eigenvector_near(found.monodromy[0], -1.0 if doubled else 1.0).real
    aside = np.asarray(reflection(jnp.asarray(frame.rate(once))))[:, 1:]
    aside = linalg.dot(aside, vector)
    away = np.append(aside / linalg.norm(aside), [0.0, 0.0])
    x = np.append(state, [longer, float(point.parameter)]) / units
    return frame, x, away


def _scaled_jacobian(system, state, units) -> np.ndarray:
    field = system.equation().vector_field
    matrix = jax.jacfwd(lambda state: field(0.0, state))(jnp.asarray(state))
    return np.asarray(matrix) * units[None] / units[:, None]
