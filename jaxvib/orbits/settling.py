"""Where a motion settles: its states once a period, and how fast neighbours part."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..dynamics.flow import solve_system, watch
from ..ensemble import Reason
from ..systems.periods import period_of
from ..systems.system import System
from .linear_end import (
    linear_but_for_contacts,
    linear_end,
    stays_apart,
    transient_periods,
)
from .shooting import no_period, scales

# A touch that is shallower than this part of the amplitude is not counted.
GRAZING = 1e-9
# Distance of the neighbour that measures a Lyapunov exponent, per size of the motion.
_NEIGHBOUR = 1e-6
_MET = 1e-16


def strobe(system: System, state, count: int, rtol, engine="auto") -> tuple[Array, Array]:
    """Return the state after each of `count` periods, (count, n), and a reason code.

    A motion that fails stands still from there on; its states are NaN.
    """
    period = period_of(system)

    def step(carry, _):
        state, result = carry
        end = jnp.where(result == Reason.SUCCESS, period, 0.0)
        solution = solve_system(system, state, 0.0, end, rtol=rtol, engine=engine)
        result = jnp.where(result == Reason.SUCCESS, solution.result, result)
        return (solution.state, result), solution.state

    start = jnp.asarray(state, float), jnp.asarray(0, jnp.int32)
    (_, result), states = jax.lax.scan(step, start, length=count)
    return states, no_period(system, period, result)


def recurrences(system: System, states, longest: int) -> Float[Array, " longest"]:
    """Return how far the last state is from the one 1, ..., `longest` periods before.

    In units of the motion's own size; small where it has settled on a period.
    """
    units = scales(system, states[-1])
    earlier = states[-1 - longest : -1][::-1]
    return jnp.max(jnp.abs(states[-1:] - earlier) / units[None], axis=-1)


def run_out(system: System, state, least: int, rtol, engine="auto"):
    """Return the state, and a reason code, after a transient of `least` periods or more.

    A linear system with contacts is followed for 12 of its slowest decay times at least,
    or until no gap closes any more: it is then in its steady state.
    """
    period = system.period()
    end = linear_end(system) if linear_but_for_contacts(system) else None
    most = least if end is None else transient_periods(end, period, least)

    def go_on(carry):
        state, periods, result = carry
        apart = False if end is None else stays_apart(end, state)
        return (periods < most) & (result == Reason.SUCCESS) & jnp.logical_not(apart)

    def step(carry):
        state, periods, _ = carry
        solution = solve_system(system, state, 0.0, period, rtol=rtol, engine=engine)
        return solution.state, periods + 1, solution.result

    first = jnp.asarray(state, float), 0, jnp.asarray(0, jnp.int32)
    last, _, result = jax.lax.while_loop(go_on, step, first)
    if end is not None:
        last = jnp.where(stays_apart(end, last), end.state, last)
    return last, result


def settle(
    system: System, state, longest: int, least: int, close: float, rtol
) -> tuple[Array, Array, Array]:
    """Run a transient out until a state recurs within `longest` periods.

    A linear system with contacts is followed for 12 of its slowest decay times, `least`
    periods at least; from where no gap closes any more it is in its steady state.

    **Returns:** the last state, its `recurrences`, and a reason code; where the transient
    was too long the recurrences tell how near it came.
    """
    start = jnp.asarray(state, float)
    count = 2 * longest
    end = linear_end(system) if linear_but_for_contacts(system) else None
    most = least if end is None else transient_periods(end, system.period(), least)

    def arrived(state, nearest):
        """Return the steady state where nothing else is to come."""
        if end is None:
            return state, nearest
        apart = stays_apart(end, state)
        return jnp.where(apart, end.state, state), jnp.where(apart, 0.0, nearest)

    def go_on(carry):
        _, nearest, periods, result = carry
        unsettled = ~(jnp.min(nearest) < close)
        return unsettled & (periods < most) & (result == Reason.SUCCESS)

    def segment(carry):
        state, _, periods, _ = carry
        states, result = strobe(system, state, count, rtol)
        state, nearest = arrived(states[-1], recurrences(system, states, longest))
        return state, nearest, periods + count, result

    first = *arrived(start, jnp.full(longest, jnp.inf)), 0, jnp.asarray(0, jnp.int32)
    state, nearest, _, result = jax.lax.while_loop(go_on, segment, first)
    return state, nearest, result


class Window(NamedTuple):
    """A motion watched over some periods: where it ends, and the records of each period.

    `direction` of the neighbour, of length 1 in units of the motion. `records`: states at
    the end of each period, growth of the neighbour's distance (its logarithm), onsets of
    contact, the largest contact force (N), highest and lowest displacement.
    """

    state: Float[Array, " n"]
    direction: Float[Array, " n"]
    records: tuple[Array, ...]
    result: Int[Array, ""]


def wander(system: System, state, direction, periods: int, rtol, engine="auto") -> Window:
    r"""Watch a motion, and a neighbour of it, over `periods` periods.

    The largest Lyapunov exponent is the average of the neighbour's growth,

    $$g_k = \ln\frac{\lVert\varphi^T(s_k + \epsilon v_k) -
      \varphi^T(s_k)\rVert}{\epsilon},$$

    which each period brings back to the distance $\epsilon$ (1e-6 of the motion's size)
    along the direction in which it has gone. In rigid contact two states cost far less
    than a state with a column, whose rates are not smooth at onset.
    **Source:** Benettin, Galgani and Strelcyn, *Phys. Rev. A* 14 (1976) 2338.
    """
    period = period_of(system)
    equation = system.equation()
    units = scales(system, state)
    grazing = GRAZING * units[0]

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
        # Neighbours that a hard contact holds have met: their direction is lost.
        met = distance < _MET
        direction = jnp.where(met, direction, apart / jnp.where(met, 1.0, distance))
        force = jnp.max(equation.contact_forces(watched.deepest), initial=0.0)
        records = (
            image,
            jnp.log(jnp.maximum(distance, _MET) / _NEIGHBOUR),
            jnp.sum(watched.onsets).astype(float),
            force,
            watched.highest,
            watched.lowest,
        )
        return (image, direction, result), records

    start = jnp.asarray(state, float), direction, jnp.asarray(0, jnp.int32)
    (last, turned, result), records = jax.lax.scan(step, start, length=periods)
    return Window(last, turned, records, result)
