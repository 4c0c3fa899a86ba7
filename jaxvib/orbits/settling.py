"""Where a motion settles: its states once a period, and how fast neighbours part."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..dynamics.flow import solve_system, watch
from ..ensemble import Reason
from ..systems.roles import Periodic
from .shooting import scales

# Distance of the neighbour that measures a Lyapunov exponent, per size of the motion.
_NEIGHBOUR = 1e-6


def strobe(system: Periodic, state, count: int, rtol, engine="auto") -> tuple[Array, Array]:
    """Return the state after each of `count` periods, (count, n), and a reason code.

    A motion that fails stands still from there on; its states are NaN.
    """
    period = system.period()

    def step(carry, _):
        state, result = carry
        end = jnp.where(result == Reason.SUCCESS, period, 0.0)
        solution = solve_system(system, state, 0.0, end, rtol=rtol, engine=engine)
        result = jnp.where(result == Reason.SUCCESS, solution.result, result)
        return (solution.state, result), solution.state

    start = jnp.asarray(state, float), jnp.asarray(0, jnp.int32)
    (_, result), states = jax.lax.scan(step, start, length=count)
    return states, result


def recurrences(system: Periodic, states, longest: int) -> Float[Array, " longest"]:
    """Return how far the last state is from the one 1, ..., `longest` periods before.

    In units of the motion's own size; small where it has settled on a period.
    """
    units = scales(system, states[-1])
    earlier = states[-1 - longest : -1][::-1]
    return jnp.max(jnp.abs(states[-1:] - earlier) / units[None], axis=-1)


def settle(
    system: Periodic, state, longest: int, most: int, close: float, rtol
) -> tuple[Array, Array, Array]:
    """Run a transient out until a state recurs within `longest` periods.

    **Returns:** the last state, its `recurrences`, and a reason code; after `most`
    periods it gives up, and the recurrences tell how near it came.
    """

    def go_on(carry):
        _, nearest, periods, result = carry
        unsettled = ~(jnp.min(nearest) < close)
        return unsettled & (periods < most) & (result == Reason.SUCCESS)

    def segment(carry):
        states, _, periods, _ = carry
        states, result = strobe(system, states[-1], 2 * longest, rtol)
        return states, recurrences(system, states, longest), periods + 2 * longest, result

    start = jnp.broadcast_to(jnp.asarray(state, float), (2 * longest, state.shape[0]))
    first = start, jnp.full(longest, jnp.inf), 0, jnp.asarray(0, jnp.int32)
    states, nearest, _, result = jax.lax.while_loop(go_on, segment, first)
    return states[-1], nearest, result


class Wandering(NamedTuple):
    """A motion that is not periodic, watched over many periods.

    The largest Lyapunov `exponent` (1/s) and its standard error; the mean number of
    contacts a period; the largest contact force (N); highest and lowest displacement.
    """

    exponent: Float[Array, ""]
    exponent_error: Float[Array, ""]
    contacts_per_period: Float[Array, ""]
    max_contact_force: Float[Array, ""]
    amplitude: Float[Array, " freedoms"]
    state: Float[Array, " n"]
    result: Int[Array, ""]


def wander(
    system: Periodic, state, periods: int, rtol, grazing, engine="auto"
) -> Wandering:
    r"""Watch a motion over `periods` periods and return its largest Lyapunov exponent.

    $$\lambda = \frac{1}{nT} \sum_k \ln\frac{\lVert\varphi^T(s_k + \epsilon v_k) -
      \varphi^T(s_k)\rVert}{\epsilon},$$

    with a neighbour that each period brings back to the distance $\epsilon$ (1e-6 of
    the motion's size) along the direction in which it has gone; the standard error is
    that of the means of eight blocks. In rigid contact two states cost far less than a
    state with a column, whose rates are not smooth at onset.
    **Source:** Benettin, Galgani and Strelcyn, *Phys. Rev. A* 14 (1976) 2338.
    """
    period = system.period()
    equation = system.equation()
    units = scales(system, state)
    size = state.shape[0]

    def step(carry, _):
        state, direction, result = carry
        end = jnp.where(result == Reason.SUCCESS, period, 0.0)
        neighbour = state + _NEIGHBOUR * units * direction
        there = solve_system(system, neighbour, 0.0, end, rtol=rtol, engine=engine).state
        image, watched, code = watch(
            system, state, 0.0, end, rtol=rtol, grazing=grazing, engine=engine
        )
        result = jnp.where(result == Reason.SUCCESS, code, result)
        apart = (there - image) / units
        distance = jnp.linalg.norm(apart)
        force = jnp.max(equation.contact_forces(watched.deepest), initial=0.0)
        report = (
            jnp.log(distance / _NEIGHBOUR),
            jnp.sum(watched.onsets),
            force,
            watched.highest,
            watched.lowest,
        )
        return (image, apart / distance, result), report

    start = (
        jnp.asarray(state, float),
        jnp.ones(size) / jnp.sqrt(size),
        jnp.asarray(0, jnp.int32),
    )
    (last, _, result), (growth, onsets, force, high, low) = jax.lax.scan(
        step, start, length=periods
    )
    blocks = jnp.mean(growth.reshape(8, -1), axis=1) / period
    return Wandering(
        jnp.mean(blocks),
        jnp.std(blocks, ddof=1) / jnp.sqrt(8.0),
        jnp.mean(onsets.astype(float)),
        jnp.max(force),
        (jnp.max(high, axis=0) - jnp.min(low, axis=0)) / 2,
        last,
        result,
    )
