"""Instants at which a motion touches hard stops, or nearly does."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...dynamics.flow import observe, simulate
from ...foundation.types import AnyArray
from ...orbits.periodic_orbit import GRAZING
from ...orbits.shooting.orbit_shooting import scales
from ...systems.base.equation import Equation
from ...systems.base.system import System, equation_shape, structural_fact
from ...systems.fields import state_size
from ...systems.lane_kernel import lane_kernel
from .corrector import LaneData, system_of
from .point import at

_SAMPLES = 1001  # per period, for the search of touches
# A motion whose halves differ by less, of its size, is symmetric; the touches of both are
# as many periods apart but for this part of one.
_SYMMETRIC, _IMAGE = 1e-7, 1e-3


def has_hard_stops(system: System) -> bool:
    """Return whether a system has hard stops."""
    return structural_fact(_has_hard_contacts, system)


def _has_hard_contacts(system: System) -> bool:
    return bool(hard_contacts(equation_shape(system)).any())


def hard_contacts(equation: Equation) -> np.ndarray:
    """Return a mask of the hard stops among an equation's contacts."""
    return np.array(equation.hard_contacts(), bool)


class Mirror(NamedTuple):
    """That a motion is its own image about the state `middle`, half a period later.

    `contact`: that which is touched then.
    """

    contact: Any
    middle: Any


class Stop(NamedTuple):
    """A contact that is touched: its index, and for which part of the period it is gone.

    It is removed so long after the touch, and before the next one; but not where it
    `opens` for an instant, since its force ends at 0 there. Symmetric motions touch its
    image in the `mirror` likewise.
    """

    contact: Any
    window: Any
    opens: Any = False
    mirror: Mirror | None = None

    @property
    def removed(self) -> Array:
        """The contacts removed after, between and before touches, -1 of none."""
        last = self.contact if self.mirror is None else self.mirror.contact
        every = jnp.stack([self.contact, self.contact, last])
        return jnp.where(self.opens, -1, every)


class Touches(NamedTuple):
    """Touches of contacts, nearest to grazing first.

    These are impacts on hard stops and highest points before them, and turning points of
    the depth of others. `stop`: what is touched, for how long without another touch of
    it; `phase`: the part of the period at which it happens; `state` there, before an
    impact; `speed` of the impact, m/s, 0 at a turning point; `apart`: the speed, m/s,
    that corresponds to the distance from grazing; `closed`: whether the contact closes.
    """

    stop: Stop
    phase: Any
    state: Any
    speed: Any
    apart: Any
    closed: Any

    def some(self, which: Any) -> "Touches":
        """Return some of them."""
        return jax.tree.map(lambda leaf: leaf[which], self)


_WIDEST = 0.02  # window of a touch, as a part of the period
_KEPT = 64  # touches of a motion, those nearest to grazing


def touches_of(static: System, path: str, data: LaneData, x: np.ndarray) -> Touches:
    """Return the touches of contacts by the orbit at a point of a branch.

    `data`: of a single branch, without an axis of branches.
    """
    size = state_size(system_of(data, static))
    unscaled = x * data.units
    there = at(system_of(data, static), path, unscaled[-1])
    span = float(data.periods) * float(there.period())
    times = np.linspace(0.0, span, _SAMPLES)
    states = simulate(there, unscaled[:size], times, rtol=data.tight, throw=False).states
    every = jax.tree.map(np.asarray, _touches(there, states, jnp.asarray(times)))
    every = every.some(np.isfinite(every.apart))
    return _mirrored(every, np.asarray(states), data.units[:size])


def _mirrored(touches: Touches, states: np.ndarray, units: np.ndarray) -> Touches:
    """Return touches with their images, if the motion is its own one."""
    first, second = states[: -1 : _SAMPLES // 4].reshape(2, 2, -1)
    middles = (first + second) / 2
    if not (np.ptp(middles, axis=0) < _SYMMETRIC * units).all():
        return touches
    stop, phase = touches.stop, touches.phase
    apart = np.abs(np.mod(phase[:, None] - phase, 1.0) - 0.5)
    apart[stop.contact[:, None] == stop.contact] = np.inf
    known = apart.min(-1, initial=np.inf) < _IMAGE
    if not (known.size and known.all()):
        return touches
    same = np.tile(middles.mean(0), (len(phase), 1))
    mirror = Mirror(stop.contact[apart.argmin(-1)], same)
    return touches._replace(stop=stop._replace(mirror=mirror))


@eqx.filter_jit
def _touches(system: System, states: Array, times: Array) -> Touches:
    return nearest_touches(system, states, times, _KEPT)


def nearest_touches(system: System, states: Array, times: AnyArray, number: int) -> Touches:
    """Return a `number` of touches of a motion over its period, given at some times.

    If there are fewer, `apart` of the others is infinite.
    """
    equation = system.equation()
    hard = hard_contacts(equation)

    def one(time, state):
        rate = equation.vector_field(time, state)
        _, curve = jax.jvp(
            equation.vector_field, (time, state), (jnp.ones_like(time), rate)
        )
        return *equation.contact_motion(state, rate), rate, curve

    *motion, rates, curves = jax.vmap(one)(times, states)
    later, step = motion[1][1:], times[1] - times[0]
    depth, speed, bend = (leaf[:-1] for leaf in motion)
    curved = jnp.where(bend == 0, 1.0, bend)
    height, turn = depth - speed**2 / (2 * curved), -speed / curved
    lowest = (speed < 0) & (later >= 0) & (bend > 0) & ~hard[None]
    turns = (bend < 0) & jnp.where(hard[None], height < 0, turn < 2 * step) | lowest
    root = jnp.sqrt(jnp.maximum(speed**2 - 2 * bend * depth, 0.0))
    falls = speed + root
    ahead = jnp.where(turns, turn, -2 * depth / jnp.where(falls > 0, falls, 1.0))
    known = ((speed > 0) & (later <= 0) | lowest) & (ahead < 2 * step)
    apart = jnp.where(turns, jnp.sqrt(jnp.abs(2 * bend * height)), root)
    far, chosen = jax.lax.top_k(-jnp.where(known, apart, jnp.inf).ravel(), number)
    row, contact = jnp.unravel_index(chosen, apart.shape)
    ahead, turns, opens, height = (
        leaf[row, contact] for leaf in (ahead, turns, lowest, height)
    )
    # The midpoint rule, from the sample before.
    away = rates[row] + ahead[:, None] / 2 * curves[row]
    state = states[row] + ahead[:, None] * away
    state = jnp.where(jnp.isfinite(far)[:, None], state, jnp.nan)
    phase = (times[row] - times[0] + ahead) / (times[-1] - times[0])
    distance = jnp.abs(phase[:, None] - phase[None])
    others = (contact[:, None] == contact[None]) & (opens[:, None] == opens[None])
    others &= jnp.isfinite(far)[None] & (np.eye(number) == 0)
    distance = jnp.where(others, jnp.minimum(distance, 1 - distance), 1.0)
    window = jnp.minimum(_WIDEST, jnp.min(distance, axis=1) / 2)
    speeds = jnp.where(turns, 0.0, root[row, contact])
    stop = Stop(contact.astype(int), window, opens)
    closed = ~turns | (height > 0)
    return Touches(stop, jnp.mod(phase, 1.0), state, speeds, -far, closed)


class Seen(NamedTuple):
    """What a motion does at its hard stops, (points, stops).

    `onsets`: the number of impacts; `margins`: the smallest |depth|, m, of all highest
    points and, without the stop, of all impacts, NaN at a grazing; `holds`: whether it
    stays closed; `elastic`: onsets of the contacts that are no stops, (points, others),
    and `height`: the smallest |depth| of their highest points, m, (points,).
    """

    onsets: Any
    margins: Any
    holds: Any
    elastic: Any
    height: Any


@lane_kernel
def watch_kernel(lane: Any, static: System, path: str) -> Seen:
    """Return the kernel from a lane (data, x) to `Seen`."""
    data, x = lane
    system = system_of(data, static)
    unscaled = x * data.units
    there = at(system, path, unscaled[-1])
    state = unscaled[: state_size(system)]
    span = data.periods.astype(float) * there.period()
    shallow = GRAZING * scales(there, state)[0]
    found = observe(there, state, 0.0, span, rtol=data.tight, grazing=shallow)[1]
    hard = hard_contacts(there.equation())
    # A body that does not rebound has a highest point of rounding at its impact.
    margins = jnp.where(found.nearest > shallow, found.nearest, jnp.nan)
    onsets, holds = found.onsets, found.duration > 0
    height = jnp.min(found.nearest[~hard], initial=jnp.inf)
    return Seen(onsets[hard], margins[hard], holds[hard], onsets[~hard], height)
