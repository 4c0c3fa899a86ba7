r"""Corners of branches at grazing of a hard stop.

At grazing, $z = \dot z = 0$ at a time t*, the branch of motions without that impact
ends and one with the impact starts in another direction. With y the change of the state
at t* before the impact, v its speed and n, $m = M^{-1} n / (n^T M^{-1} n)$ the
contact's directions,

$$(I - \Phi)\,y = -(1 + e)\,v\,\Phi\,(0, m) + \varphi_p\,\delta p, \qquad
  n \cdot y = g_p\,\delta p,$$

where $\Phi$ and $\varphi_p$ are the derivatives of the flow over the period from t*.
All quantities depend smoothly on the speed v, not on the depth.
**Source:** Nordmark, *J. Sound Vib.* 145 (1991) 279; di Bernardo et al.,
*Piecewise-smooth Dynamical Systems* (2008), section 2.5.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .. import linalg
from ..dynamics.flow import flow, simulate
from ..systems.autonomous import state_size
from ..systems.drift import across_drift
from ..systems.equation import Equation
from ..systems.system import System, equation_shape, structural_fact
from .corrector import LaneData, system_of
from .point import at

_SAMPLES = 1001  # per period, for the search of maxima of penetrations
_TOP_STEPS = 4  # Newton steps from the highest sample
_NEAR = 1e-2  # largest scaled distance to a corner of the same branch


class Grazing(NamedTuple):
    """A corner of a branch in scaled coordinates, and predictions beyond it.

    `beyond(reach)`: the point with that scaled impact speed.
    """

    x: np.ndarray
    beyond: Callable[[float], np.ndarray]


def has_grazing(system: System) -> bool:
    """Return whether a system has hard stops."""
    return structural_fact(_has_hard_contacts, system)


def _has_hard_contacts(system: System) -> bool:
    return bool(hard_contacts(equation_shape(system)).any())


def hard_contacts(equation: Equation) -> np.ndarray:
    """Return a mask of the hard stops among an equation's contacts."""
    return np.array(equation.hard_contacts(), bool)


def grazing_near(
    static: System, path: str, data: LaneData, x: np.ndarray
) -> Grazing | None:
    """Return the corner near an almost grazing motion, or None.

    `data`: of a single branch, without an axis of branches.
    """
    first = _stepped(static, path, data, x)
    if not linalg.norm(first.x - x) < _NEAR:  # NaN: no such motion
        return None
    corner = _stepped(static, path, data, first.x)
    return corner if np.isfinite(corner.x).all() else None


def _stepped(static, path: str, data: LaneData, x: np.ndarray) -> Grazing:
    """Return the corner by a first-order step."""
    size = state_size(system_of(data, static))
    segments = (len(x) - 1) // size
    unscaled = x * data.units
    start, value = unscaled[:size], unscaled[-1]
    frame = data, static, path

    def carried(state, value, begin, end):
        """Return the flow with its derivatives; times as (s, periods)."""
        found = _propagated(*frame, state, value, np.array(begin), np.array(end))
        return [np.asarray(part) for part in found]

    time, which = _nearest_grazing(frame, carried, start, value)
    top = carried(start, value, (0.0, 0.0), (time, 0.0))[0]
    later, by_state, by_value = carried(top, value, (time, 0.0), (time, 1.0))
    system = system_of(data, static)
    drift = system.drift
    if drift is not None:
        by_value = across_drift(system, by_value)
        by_state = across_drift(system, by_state.T).T
    touch = jax.tree.map(np.asarray, _contact_extremum(*frame, top, value))
    along, gap = touch.along[which], touch.by_value[which]
    identity = np.eye(size)
    rate = linalg.solve_vector(identity - by_state, by_value)
    to_corner = -touch.depth[which] / (linalg.dot(along, rate) + gap)
    bordered = np.block(
        [[identity - by_state, -by_value[:, None]], [along[None], np.array([[gap]])]]
    )
    impulse = touch.impulses[which]
    change = linalg.solve_vector(bordered, np.append(linalg.dot(by_state, impulse), 0.0))

    def unknowns(state, value):
        """Return the unknowns of the motion given its state at the time of the top."""
        span = float(_span(*frame, value))
        states = []
        for part in np.arange(segments) / segments:
            turns = np.ceil(time / span - part) + part
            states.append(carried(state, value, (time, 0.0), (0.0, turns))[0])
            if drift is not None and turns >= 1:
                lead = drift.coordinate(later - top)
                states[-1] = drift.shifted_back(states[-1], lead)
        return np.append(np.concatenate(states), value) / data.units

    def beyond(reach: float):
        speed = reach * data.units[size - 1]
        after = top + rate * to_corner + speed * (change[:-1] + impulse)
        return unknowns(after, value + to_corner + speed * change[-1])

    # Stop just short of the corner, on the side without impact.
    short = to_corner * (1 - 1e-6)
    return Grazing(unknowns(top + rate * short, value + short), beyond)


def _nearest_grazing(frame, carried, start, value):
    """Return the time and the index of the contact that is nearest to grazing."""
    data, static, path = frame
    span = float(_span(*frame, value))
    times = np.linspace(0.0, span, _SAMPLES)
    system = at(system_of(data, static), path, value)
    states = simulate(system, start, times, rtol=data.tight, throw=False).states
    depths, heights, _ = _parabolas(*frame, states, value, times)
    # Periodic: the predecessor of the first sample is the one before the last.
    before, after = np.roll(depths[:-1], 1, 0), depths[1:]
    tops = (depths[:-1] >= before) & (depths[:-1] >= after)
    heights = np.where(tops, np.abs(heights[:-1]), np.inf)
    row, which = np.unravel_index(np.argmin(heights), heights.shape)
    row = row or _SAMPLES - 1
    time, begin = times[row], row - 1
    for _ in range(_TOP_STEPS):
        there = carried(states[begin], value, (times[begin], 0.0), (time, 0.0))[0]
        ahead = _parabolas(*frame, there[None], value, np.array([time]))[2]
        time = time + float(ahead[0, which])
    return time, which


@eqx.filter_jit
def _propagated(data, static, path, state, value, begin, end):
    def final(state, value):
        system = at(system_of(data, static), path, value)
        span = data.periods.astype(float) * system.period()
        first, last = begin[0] + begin[1] * span, end[0] + end[1] * span
        # Times depend on the parameter through the span.
        image = flow(system, state, first, last, rtol=data.tight)
        return image, image

    slopes, image = jax.jacfwd(final, (0, 1), has_aux=True)(state, value)
    return image, *slopes


@eqx.filter_jit
def _span(data, static, path, value):
    system = at(system_of(data, static), path, value)
    return data.periods.astype(float) * system.period()


class _ContactExtremum(NamedTuple):
    """Per contact: depth, its derivatives, and the impulse at unit speed."""

    depth: object
    along: object
    by_value: object
    impulses: object


@eqx.filter_jit
def _contact_extremum(data, static, path, state, value) -> _ContactExtremum:
    def depths(state, value):
        system = at(system_of(data, static), path, value)
        return system.equation().penetrations(state)

    equation: Any = at(system_of(data, static), path, value).equation()
    impulses = []
    for contact, response in zip(
        equation.contacts, equation.contact_responses, strict=True
    ):
        if not contact.has_linear_gap:  # never hard: no impulse
            impulses.append(jnp.zeros_like(state))
            continue
        restitution = getattr(contact.law, "restitution", jnp.zeros(()))
        change = -(1 + restitution) * response / (contact.direction @ response)
        impulses.append(jnp.concatenate([jnp.zeros_like(change), change]))
    slopes = jax.jacfwd(depths, (0, 1))(state, value)
    return _ContactExtremum(depths(state, value), *slopes, jnp.stack(impulses))


@eqx.filter_jit
def _parabolas(data, static, path, states, value, times):
    equation = at(system_of(data, static), path, value).equation()
    return parabolas(equation, states, times)


def parabolas(equation: Equation, states: Array, times: Array) -> tuple[Array, ...]:
    """Return each contact's depth, the maximum of its parabola and the time to it.

    All of shape (times, contacts). The maximum is infinite of contacts that are not hard,
    and where the parabola has none.
    """
    hard = hard_contacts(equation)

    def one(time, state):
        rate = equation.vector_field(time, state)
        depth, speed, acceleration = equation.contact_motion(state, rate)
        falls = (acceleration < 0) & hard
        acceleration = jnp.where(falls, acceleration, -1.0)
        height = depth - speed**2 / (2 * acceleration)
        return depth, jnp.where(falls, height, jnp.inf), -speed / acceleration

    return jax.vmap(one)(times, states)
