"""Poincaré sections of autonomous motions: their crossings of a surface."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Real

from ..dynamics.flow import end_of
from ..ensemble import Reason
from ..foundation.arrays import combine_arrays
from ..foundation.quantity import Quantity, quantity
from ..foundation.suggestions import CheckedArguments
from ..foundation.types import Number
from ..systems.base.system import System
from ..systems.lane_kernel import lane_kernel
from ..systems.unforced import UnforcedSystem, unforced_system

# Steps in a period at whose ends the sign is examined, and periods without a crossing
# after which a motion is said not to return.
PARTS, LONGEST_WAIT = 64, 64
# Steps of Newton's method, safeguarded by bisection, and its last step, relative.
_MOST_STEPS, _CLOSEST = 60, 1e-13


class FieldSection(CheckedArguments, eqx.Module):
    r"""The Poincaré section $g(x) = 0$ of an autonomous motion, crossed as g increases.

    **Fields:** `period`: an approximate time between crossings, s: a motion that does
    not cross for 64 of them has left the section, and two crossings within 1/64 of one
    may be missed. `function`: g, in JAX, of the state; by default minus the rate of the
    first component, whose maxima are then the crossings.

    **Raises:** `ValueError` if `period` is not positive.

    >>> jv.orbits.FieldSection(6.0, lambda x: x[1]).period.tolist()
    6.0
    """

    period: Float[Quantity, ""] = quantity(
        "period", "s", "approximate time between crossings", above=0.0
    )
    function: Callable[[Array], Any] | None = eqx.field(static=True, default=None)

    def value(self, system: System, state: Array) -> Real[Array, ""]:
        """Return g of a state."""
        if self.function is not None:
            return jnp.asarray(self.function(state), float)
        return -system.equation().vector_field(jnp.zeros(()), state)[0]


class Crossings(NamedTuple):
    """States at crossings, (crossings, n), and the times between them, s.

    `end`: the last state of the motion; NaN and a reason code after a failure.
    """

    states: Float[Any, "crossings n"]
    times: Float[Any, " crossings"]
    end: Float[Any, " n"]
    result: Int[Any, ""]


class _Step(NamedTuple):
    """A motion at the end of a step, and at its start.

    `since`: time since the last crossing; `steps`: their number since then.
    """

    state: Array
    value: Array
    before: Array
    below: Array
    since: Array
    steps: Array
    result: Array

    @property
    def crossed(self) -> Bool[Array, ""]:
        """Whether the last step crossed the section."""
        return (self.below < 0) & (self.value >= 0)


def crossings(
    system: UnforcedSystem,
    section: FieldSection,
    state: Array,
    count: int,
    rtol: Number,
    engine: str = "auto",
) -> Crossings:
    """Return the next `count` crossings of a motion in the direction of increasing g.

    Each is a root in time of g along the flow from the step before it.
    """
    apart = section.period / PARTS
    value = functools.partial(section.value, system)

    def step(last: _Step) -> _Step:
        moved = end_of(system, last.state, 0.0, apart, rtol, engine)
        return _Step(
            moved.state,
            value(moved.state),
            last.state,
            last.value,
            last.since + apart,
            last.steps + 1,
            moved.result.astype(jnp.int32),
        )

    def goes_on(last: _Step):
        waits = last.steps < PARTS * LONGEST_WAIT
        return waits & (last.result == Reason.SUCCESS) & ~last.crossed

    def next_one(last: _Step, _):
        # A failed motion, or one that has left the section, is not continued.
        fails = last.result != Reason.SUCCESS
        begun = last._replace(below=jnp.asarray(0.0), steps=jnp.asarray(0))
        there = jax.lax.while_loop(goes_on, step, begun)
        left = (there.result == Reason.SUCCESS) & ~there.crossed
        code = jnp.where(left, Reason.NO_CROSSING, there.result).astype(jnp.int32)
        found = (code == Reason.SUCCESS) & ~fails
        span = jnp.where(found, apart, 0.0)
        part, at = _root(system, value, there.before, span, rtol, engine)
        lost = jnp.where(found, 0.0, jnp.nan)
        seen = at + lost, there.since - apart + part + lost
        return there._replace(since=apart - part, result=code), seen

    state, zero = jnp.asarray(state, float), jnp.asarray(0.0)
    code = jnp.asarray(Reason.SUCCESS, jnp.int32)
    start = _Step(state, value(state), state, zero, zero, jnp.asarray(0), code)
    last, (states, times) = jax.lax.scan(next_one, start, length=count)
    return Crossings(states, times, last.state, last.result)


def _root(system, value, before, span, rtol, engine):
    """Return the time in [0, `span`] at which g changes sign, and the state there."""

    def at(time):
        state = end_of(system, before, 0.0, time, rtol, engine).state
        rate = system.equation().vector_field(jnp.zeros(()), state)
        return state, *jax.jvp(value, (state,), (rate,))

    def narrow(last):
        low, high, time, _, number = last
        _, g, slope = at(time)
        low, high = jnp.where(g < 0, time, low), jnp.where(g < 0, high, time)
        newton = time - g / slope
        inside = (newton > low) & (newton < high)
        new = jnp.where(inside, newton, (low + high) / 2)
        done = (jnp.abs(new - time) <= _CLOSEST * span) | (g == 0)
        return low, high, jnp.where(g == 0, time, new), done, number + 1

    def goes_on(last):
        return ~last[3] & (last[4] < _MOST_STEPS)

    first = jnp.zeros(()), span, span / 2, span == 0, jnp.asarray(0)
    time = jax.lax.while_loop(goes_on, narrow, first)[2]
    return time, at(time)[0]


@lane_kernel
def crossings_kernel(
    lane: Any,
    static: System,
    function: Callable | None,
    skip: int,
    count: int,
    engine: str,
) -> Crossings:
    """Return the kernel of lanes (leaves, state, rtol, period) to their crossings.

    `count` of them, after the first `skip`. `function`: that of the section.
    """
    leaves, state, rtol, period = lane
    moved = combine_arrays(leaves, static)
    system = unforced_system(moved, period, "a Poincaré section")
    section = FieldSection(period, function)
    if not skip:
        return crossings(system, section, state, count, rtol, engine)
    before = crossings(system, section, state, skip, rtol, engine)
    found = crossings(system, section, before.end, count, rtol, engine)
    result = jnp.where(before.result == Reason.SUCCESS, found.result, before.result)
    lost = jnp.where(before.result == Reason.SUCCESS, 0.0, jnp.nan)
    return Crossings(found.states + lost, found.times + lost, found.end, result)
