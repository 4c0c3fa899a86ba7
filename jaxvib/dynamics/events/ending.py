"""Derivatives at the end of a motion that coincides with an event up to rounding."""

import functools
from typing import Any

import jax.numpy as jnp

from .friction import friction_forces_on_step
from .hard_stop import accelerations


def moved_to_end(context: Any, lane: Any) -> Any:
    """Return a lane at the end time, with the first and second derivatives there.

    The time of an event that coincides with the end up to rounding depends on parameters;
    the end does not. The time between both is 0 but has derivatives: a step of Heun's
    method is taken. `context`: data common to all steps.
    """
    motion, equation, measure = context.motion, context.equation, context.measure
    left = context.end - lane.time
    half, size = left / 2, len(lane.position)

    def rates(lane):
        found = [*lane.velocity, *accelerations(motion, lane, lane.touching)[0]]
        if measure is None:
            return found, 0.0
        place = jnp.stack(lane.position) + equation.offset
        state = jnp.concatenate([place, jnp.stack(lane.velocity)])
        borne = functools.partial(
            friction_forces_on_step, motion, equation, lane, lane.time, state
        )
        return found, measure.rates(equation, lane.time, state, borne)

    def moved(changes):
        before = [*lane.position, *lane.velocity]
        state = [x + change for x, change in zip(before, changes, strict=True)]
        time = lane.time + left
        return lane._replace(position=state[:size], velocity=state[size:], time=time)

    first, added = rates(lane)
    second, more = rates(moved([left * rate for rate in first]))
    lane = moved([half * (a + b) for a, b in zip(first, second, strict=True)])
    if measure is None:
        return lane
    return lane._replace(integral=lane.integral + half * (added + more))
