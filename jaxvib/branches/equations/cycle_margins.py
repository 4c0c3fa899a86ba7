r"""Margins of limit cycles of bodies from grazing: where impacts or sticking begin or end.

A friction's margin is its least sliding speed relative to the largest one, and minus the
part of the period in which the body sticks, if it does. A hard stop's is the smallest
$|h|$ over the tops of its depth z, relative to the depth's extent, with

$$h = z - \dot z^2 / (2 \ddot z), \qquad \ddot z < 0,$$

the height of the parabola through the motion before a top: the depth that the body would
reach if the stop were removed. At an impact $h > 0$: the margin's sign is that of
$\prod (-h)$, so that it changes where one of several impacts begins or ends. The margin of
a cycle is the smallest one, with the product of all signs.

Where a sliding speed just reaches 0, a body that is caught there sticks for a while, and
one that is not slides on: beside the other phases of sticking a friction's margin does not
tell. The height of the parabola of the sliding speed before its top does, relative to the
largest speed: it is positive where the body is caught.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...dynamics.engines.choice import engine_of
from ...dynamics.motion import Want
from ...systems.base.system import System
from .touches import hard_contacts

# Samples of a cycle, and of the part of it nearest to grazing.
_SAMPLES, _FINER = 256, 64
# A sliding speed below this part of the largest one is rounding: the body sticks. A depth
# that changes by less of its extent is that of a body that rests on a stop.
_STUCK = 1e-12


class _Place(NamedTuple):
    """The place of a cycle that is nearest to a grazing.

    `begin`: the index of the sample where a window of two samples around it begins;
    `margin`: maps the states at finer times in the window to the margin.
    """

    begin: Array
    margin: Any


def cycle_samples(system, state, period, rtol, number: int = _SAMPLES) -> Array:
    """Return states at `number` + 1 even times of a motion from a state."""
    times = jnp.linspace(0.0, period, number + 1)
    chosen, want = engine_of(system, "auto"), Want(rtol, times)
    return chosen.integrate(system, jnp.asarray(state), 0.0, period, want).states


def sliding_speeds(system: System, states: Any) -> Any:
    """Return the sliding speed of each friction at states (s, n), (s, frictions)."""
    half = states.shape[1] // 2
    speeds = [states[:, half:] @ each.direction - each.speed for each in system.frictions]
    return jnp.stack(speeds, axis=1) if speeds else jnp.zeros((len(states), 0))


def margin_of(system: System, state, period, rtol) -> Float[Array, ""]:
    """Return the margin of a cycle from a state at which no friction sticks, or NaN."""
    return nearest_of(margins_of(system, state, period, rtol))


def nearest_of(margins: list[Array]) -> Float[Array, ""]:
    """Return the margin of a cycle from those of its frictions and stops, or NaN."""
    return functools.reduce(_nearer, margins, jnp.asarray(jnp.nan))


def margins_of(system: System, state, period, rtol, catches: bool = False) -> list[Array]:
    """Return the margin of each friction and hard stop, see `margin_of`.

    `catches`: in front of them the height of each friction's sliding speed.
    """
    states = cycle_samples(system, state, period, rtol)
    places = [*_of_frictions(system, states), *_of_stops(system, states)]
    places = [*(_of_catches(system, states) if catches else []), *places]
    if not places:
        return []
    begins = states[jnp.stack([place.begin for place in places])]
    span = 2 * period / _SAMPLES

    def window(begin):
        return cycle_samples(system, begin, span, rtol, _FINER)

    windows = jax.lax.map(window, begins)
    return [place.margin(window) for place, window in zip(places, windows, strict=True)]


def _of_frictions(system: System, states: Array) -> list[_Place]:
    places = []
    for which, speed in enumerate(sliding_speeds(system, states).T):
        near = jnp.clip(jnp.argmin(jnp.abs(speed)), 1, _SAMPLES - 1)

        def margin(closest, which=which, speed=speed):
            return _of_friction(speed, sliding_speeds(system, closest)[:, which])

        places.append(_Place(near - 1, margin))
    return places


def _of_friction(speeds: Array, closest: Array) -> Float[Array, ""]:
    """Return a friction's margin from its sliding speeds at even times of a cycle.

    `closest`: those at finer times between the neighbours of the least one.
    """
    largest = jnp.max(jnp.abs(speeds))

    def stuck(speeds):
        return jnp.mean((jnp.abs(speeds) <= _STUCK * largest).astype(float))

    share = jnp.maximum(stuck(speeds), 2 * stuck(closest) / _SAMPLES)
    closest = jnp.abs(closest)
    here = jnp.clip(jnp.argmin(closest), 1, _FINER - 1)
    low, mid, high = (closest[here + step] for step in (-1, 0, 1))
    bend = low - 2 * mid + high
    least = mid - (high - low) ** 2 / (8 * jnp.where(bend > 0, bend, jnp.inf))
    # A body that turns back on what it rubs on does not stick where it turns.
    turns = jnp.any(speeds * speeds[:1] < 0)
    return jnp.where(share > 0, -share, jnp.where(turns, jnp.nan, least / largest))


def _of_catches(system: System, states: Array) -> list[_Place]:
    places = []
    for which, speed in enumerate(sliding_speeds(system, states).T):
        begin, _ = _height(speed)
        largest = jnp.max(jnp.abs(speed))

        def margin(closest, which=which, largest=largest):
            return _height(sliding_speeds(system, closest)[:, which])[1] / largest

        places.append(_Place(jnp.clip(begin, 0, _SAMPLES - 2), margin))
    return places


def _height(speeds: Array) -> tuple[Array, Array]:
    """Return the height nearest to 0 of a sliding speed's tops, and where they begin.

    Of the parabolas through three samples at which the body slides; NaN without a top.
    """
    low, mid, high = (-jnp.abs(speeds)[i : len(speeds) - 2 + i] for i in range(3))
    slope, bend = (high - low) / 2, low - 2 * mid + high
    falls = bend < 0
    ahead = -slope / jnp.where(falls, bend, -1.0)
    least = -_STUCK * jnp.max(jnp.abs(speeds))
    slides = jnp.maximum(jnp.maximum(low, mid), high) < least
    top = slides & falls & (ahead > -0.5) & (ahead < 2.5)
    heights = mid - slope**2 / (2 * jnp.where(falls, bend, -1.0))
    nearest = jnp.argmin(jnp.where(top, jnp.abs(heights), jnp.inf))
    begin = nearest + 1 + jnp.floor(ahead[nearest] - 0.5).astype(int)
    return begin, jnp.where(jnp.any(top), heights[nearest], jnp.nan)


def _of_stops(system: System, states: Array) -> list[_Place]:
    equation = system.equation()
    if not any(equation.hard_contacts()):
        return []
    depths, heights = _parabolas(equation, states)
    places = []
    for which in hard_contacts(equation).nonzero()[0]:
        depth = depths[:, which]
        # The last sample is the first one of the next period.
        after = jnp.append(depth[2:], depth[1])
        tops = (depth[1:] >= depth[:-1]) & (depth[1:] >= after)
        # Those of the samples before: behind a top the body may have been thrown back.
        height = heights[:-1, which]
        begin = jnp.argmin(jnp.where(tops, jnp.abs(height), jnp.inf))
        signs = jnp.where(tops & (height > 0), -1.0, 1.0)
        extent = jnp.max(depth) - jnp.min(depth)
        still = jnp.abs(jnp.diff(depth)) <= _STUCK * extent
        rests = jnp.any(still[1:] & still[:-1])
        sign = jnp.where(rests, jnp.nan, jnp.prod(signs) * signs[begin])

        def margin(closest, which=which, scale=sign / extent):
            depths, heights = _parabolas(equation, closest)
            here = jnp.maximum(jnp.argmax(depths[:, which]), 1)
            return -heights[here - 1, which] * scale

        # A window begins at a sample of the cycle, and ends within the period or beyond.
        places.append(_Place(begin, margin))
    return places


def _parabolas(equation, states: Array) -> tuple[Array, Array]:
    """Return each contact's depth, and the maximum of its parabola, (times, contacts).

    The maximum is infinite of contacts that are not hard, and where the parabola has none.
    """
    hard = hard_contacts(equation)

    def one(state):
        rate = equation.vector_field(jnp.zeros(()), state)
        depth, speed, acceleration = equation.contact_motion(state, rate)
        falls = (acceleration < 0) & hard
        height = depth - speed**2 / (2 * jnp.where(falls, acceleration, -1.0))
        return depth, jnp.where(falls, height, jnp.inf)

    return jax.vmap(one)(states)


def _nearer(one: Array, other: Array) -> Array:
    """Return the smaller margin, with the sign of both; NaN only if both are."""
    both = jnp.sign(one) * jnp.sign(other) * jnp.minimum(jnp.abs(one), jnp.abs(other))
    return jnp.where(jnp.isnan(one), other, jnp.where(jnp.isnan(other), one, both))
