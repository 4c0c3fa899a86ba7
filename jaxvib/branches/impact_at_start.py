"""Jumps of branches where the time of an impact passes through t = 0.

A point of a branch is its orbit's state at t = 0. Where the time of an impact passes
through 0, that state jumps from before the impact to after it, or back, while the
motion changes smoothly: the branch continues from the state on the other side of the
impact.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..systems.autonomous import state_size
from ..systems.system import System
from .corrector import LaneData, system_of
from .point import at
from .touches import hard_contacts
from .tracer import Place


def jump_near(
    static: System,
    path: str,
    data: LaneData,
    x: np.ndarray,
    tangent: np.ndarray,
    reach: float,
) -> Place | None:
    """Return the jump of a branch within a distance of a point, or None.

    `data`: of a single branch, without an axis of branches.
    """
    frame = data, static, path
    depths, growth = (np.asarray(part) for part in _depths_along(*frame, x, tangent))
    hard = hard_contacts(eqx.filter_eval_shape(system_of(data, static).equation))
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.where(hard & (growth > 0), -depths / growth, np.inf)
    distances = np.where(np.abs(distances) < reach, distances, np.inf)
    segment, contact = np.unravel_index(np.argmin(np.abs(distances)), distances.shape)
    distance = distances[segment, contact]
    if not np.isfinite(distance):
        return None

    def beyond(further: float) -> np.ndarray:
        there = x + (distance + further) * tangent
        return np.asarray(_point_across_impact(*frame, there, int(segment), int(contact)))

    return Place(beyond(0.0), beyond)


def _states(data: LaneData, static, path: str, x):
    """Return the equation of motion, the states of all segments and their times."""
    system = system_of(data, static)
    unscaled = x * data.units
    there = at(system, path, unscaled[-1])
    states = unscaled[:-1].reshape(-1, state_size(system))
    span = data.periods.astype(float) * there.period()
    times = jnp.arange(states.shape[0]) / states.shape[0] * span
    return there.equation(), states, times


@eqx.filter_jit
def _depths_along(data, static, path, x, tangent):
    """Return each segment's depths and their derivatives along the branch."""

    def depths(x):
        equation, states, _ = _states(data, static, path, x)
        return jax.vmap(equation.penetrations)(states)

    return jax.jvp(depths, (x,), (tangent,))


@eqx.filter_jit
def _point_across_impact(data, static, path, x, segment: int, contact: int):
    """Return a point on the other side of an impact, to first order in its distance.

    The given point penetrates the stop: an approaching body has hit it shortly before,
    a departing one leaves it shortly after.
    """
    equation, states, times = _states(data, static, path, x)
    state, time = states[segment], times[segment]
    rate = equation.vector_field(time, state)
    depth, speed, _ = (part[contact] for part in equation.contact_motion(state, rate))
    ahead = -depth / speed
    touching = state + ahead * rate
    _, speed, _ = (part[contact] for part in equation.contact_motion(touching, rate))
    stop, response = equation.contacts[contact], equation.contact_responses[contact]
    restitution = stop.law.restitution
    ratio = jnp.where(speed > 0, restitution, 1 / restitution)
    change = -(1 + ratio) * speed * response / (stop.direction @ response)
    turned = touching + jnp.concatenate([jnp.zeros_like(change), change])
    rate = equation.vector_field(time, turned)
    # Without a rebound it stays on the stop as long as it is pressed against it.
    _, _, pressed = (part[contact] for part in equation.contact_motion(turned, rate))
    held = jnp.where((restitution == 0) & (pressed > 0), pressed, 0.0)
    held = held * response / (stop.direction @ response)
    rate = rate - jnp.concatenate([jnp.zeros_like(held), held])
    other = turned - ahead * rate
    states = states.at[segment].set(other)
    return jnp.append(states.reshape(-1), x[-1] * data.units[-1]) / data.units
