"""The end of a motion that ends in the same digit as something happens."""

import functools

import jax.numpy as jnp

from .friction import borne_forces
from .hard_stop import accelerations


def moved_to_end(context, lane):
    """Return a lane at the end; its derivatives, up to the second ones, are those there.

    What happens at the end, to the last digit, moves with parameters and the end does not.
    The time between both is 0, its derivative is not: a step of Heun's method is taken.
    `context`: what the steps of the travel have in common.
    """
    motion, equation, integrand = context.motion, context.equation, context.integrand
    left = context.end - lane.time
    half, size = left / 2, len(lane.position)

    def rates(lane):
        found = [*lane.velocity, *accelerations(motion, lane, lane.touching)[0]]
        if integrand is None:
            return found, 0.0
        place = jnp.stack(lane.position) + equation.offset
        state = jnp.concatenate([place, jnp.stack(lane.velocity)])
        borne = functools.partial(borne_forces, motion, equation, lane, lane.time, state)
        return found, integrand.rate(lane.time, state, borne)

    def moved(changes):
        before = [*lane.position, *lane.velocity]
        state = [x + change for x, change in zip(before, changes, strict=True)]
        time = lane.time + left
        return lane._replace(position=state[:size], velocity=state[size:], time=time)

    first, added = rates(lane)
    second, more = rates(moved([left * rate for rate in first]))
    lane = moved([half * (a + b) for a, b in zip(first, second, strict=True)])
    if integrand is None:
        return lane
    return lane._replace(integral=lane.integral + half * (added + more))
