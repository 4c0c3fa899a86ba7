"""Convergence of motions: Poincaré samples, transients and growth of perturbations."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...dynamics.engines.choice import engine_of
from ...dynamics.flow import checked_state, end_of
from ...dynamics.motion import Want
from ...dynamics.observables import Observables, init_observables, largest_forces
from ...ensemble import Reason
from ...foundation.arrays import combine_arrays
from ...foundation.types import AnyArray, Number
from ...systems.base.system import System
from ...systems.drift import across_drift, modulo_drift
from ...systems.lane_kernel import lane_kernel
from ...systems.periods import period_of
from .linear_steady_state import (
    linear_but_for_contacts,
    linear_steady_state,
    stays_apart,
    transient_periods,
)
from .orbit_shooting import no_period, scales

# A touch shallower than this part of the amplitude is not counted.
GRAZING = 1e-9
# A transient only needs to approach an orbit; Newton iteration uses the given
# tolerance.
TRANSIENT_RTOL = 1e-7
# Distance of the neighbour for a Lyapunov exponent, relative to the motion's size:
# small enough for a curvature error of 1e-6, large enough for ten digits of the
# difference.
_NEIGHBOUR = 1e-6
# A neighbour that comes closer than this in a period, relatively, is lost: in the
# rounding of a difference, or held by a stop, where the distance is 0.
CLOSEST = 1e-10


class _Transient(NamedTuple):
    """A transient after some periods, and its reason code."""

    state: Float[Array, " n"]
    periods: Int[Array, ""] | int
    result: Int[Array, ""]


def poincare_map(
    system: System, state: AnyArray, count: int, rtol: Number, engine: str = "auto"
) -> tuple[Array, Array]:
    """Return the Poincaré samples of `count` periods, (count, n), and a reason code.

    A failed motion is not continued; its states are NaN from there on. Those of a system
    with a drift are shifted back to its zero, see `drifting`.
    """
    period, chosen = period_of(system), engine_of(system, engine)
    state = checked_state(system, state)
    found = chosen.integrate(system, state, 0.0, period, Want(rtol, periods=count))
    return modulo_drift(system, found.states), no_period(system, period, found.result)


def recurrences(system: System, states: Array, longest: int) -> Float[Array, " longest"]:
    """Return the distance of the last state from that 1, ..., `longest` periods before.

    In units of the motion's own size; small if it has converged to a period.
    """
    units = scales(system, states[-1])
    earlier = modulo_drift(system, states[-1 - longest : -1][::-1], states[-1])
    return jnp.max(jnp.abs(states[-1:] - earlier) / units[None], axis=-1)


class PoincareSamples(NamedTuple):
    """A motion over some periods: its state after each, NaN after a failure.

    `nearest`: the recurrences of the last state; `period` of the load, s.
    """

    trail: Float[Any, "points n"]
    nearest: Float[Any, " longest"]
    period: Float[Any, ""]
    result: Int[Any, ""]


@lane_kernel
def samples_kernel(
    lane: Any, static: System, count: int, longest: int, engine: str, transient: int = 0
) -> PoincareSamples:
    """Return the kernel of lanes (leaves, state, rtol) to the samples of `count` periods.

    These follow `transient` periods, or more, see `run_transients`.
    """
    leaves, state, rtol = lane
    system = combine_arrays(leaves, static)
    code = jnp.asarray(Reason.SUCCESS, jnp.int32)
    if transient:
        state, code = run_transients(system, state, transient, rtol, engine)
    trail, result = poincare_map(system, state, count, rtol, engine)
    nearest = recurrences(system, trail, longest)
    result = jnp.where(code == Reason.SUCCESS, result, code)
    return PoincareSamples(trail, nearest, system.period(), result)


def run_transients(
    system: System, state: AnyArray, least: int, rtol: Number, engine: str = "auto"
) -> tuple[Array, Array]:
    """Return the state and a reason code after a transient of `least` periods or more.

    For a linear system with contacts at least 12 of its slowest decay times, or until
    no gap closes any more: it is then in its steady state.
    """
    period = system.period()
    end = linear_steady_state(system) if linear_but_for_contacts(system) else None
    most = least if end is None else transient_periods(end, period, least)

    def go_on(last: _Transient):
        apart = False if end is None else stays_apart(end, last.state)
        within = (last.periods < most) & (last.result == Reason.SUCCESS)
        return within & jnp.logical_not(apart)

    def step(last: _Transient) -> _Transient:
        solution = end_of(system, last.state, 0.0, period, rtol, engine)
        state = modulo_drift(system, solution.state)
        return _Transient(state, last.periods + 1, solution.result)

    first = _Transient(jnp.asarray(state, float), 0, jnp.asarray(0, jnp.int32))
    last = jax.lax.while_loop(go_on, step, first)
    if end is None:
        return last.state, last.result
    return jnp.where(stays_apart(end, last.state), end.state, last.state), last.result


class Records(NamedTuple):
    """Observables of a motion over some periods.

    `states` at the end of each period; `growth`: logarithm of the growth of the
    neighbour's distance in each; number of `onsets` of contact; the largest `force` (N)
    in contact; `highest` and `lowest` displacement; `progress`: the shift along a drift in
    each period, else None.
    """

    states: Float[Any, "periods n"]
    growth: Float[Array, " periods"]
    onsets: Float[Array, ""]
    force: Float[Array, ""]
    highest: Float[Array, " freedoms"]
    lowest: Float[Array, " freedoms"]
    progress: Any = None


class Window(NamedTuple):
    """A motion observed over some periods: its end, and its records.

    `direction` of the neighbour, of length 1 in units of the motion.
    """

    state: Float[Array, " n"]
    direction: Float[Array, " n"]
    records: Records
    result: Int[Array, ""]


class _Pair(NamedTuple):
    """A motion, the direction of its neighbour, its observables and reason code."""

    state: Float[Array, " n"]
    direction: Float[Array, " n"]
    observables: Observables
    result: Int[Array, ""]


def track_aperiodic(
    system: System,
    state: Array,
    direction: Array,
    periods: int,
    rtol: Number,
    engine: str = "auto",
) -> Window:
    r"""Observe a motion and a neighbour of it over `periods` periods.

    The largest Lyapunov exponent is the average of the neighbour's growth,

    $$g_k = \ln\frac{\lVert\varphi^T(s_k + \epsilon v_k) -
      \varphi^T(s_k)\rVert}{\epsilon},$$

    where after each period the distance is reset to $\epsilon$ (1e-6 of the motion's
    size) in the current direction. Event-driven engines use an infinitesimal neighbour:
    a sensitivity of the motion (see `Want.along`), of which a reset after a
    few periods is enough.
    **Source:** Benettin, Galgani and Strelcyn, *Phys. Rev. A* 14 (1976) 2338.
    """
    period, chosen = period_of(system), engine_of(system, engine)
    equation = system.equation()
    units = scales(system, state)
    at_once = max(k for k in range(1, chosen.at_once + 1) if periods % k == 0)

    def step(last: _Pair, _) -> tuple[_Pair, tuple]:
        end = jnp.where(last.result == Reason.SUCCESS, period, 0.0)
        want = Want(
            rtol,
            grazing=GRAZING * units[0],
            observables=last.observables,
            along=_NEIGHBOUR * units * last.direction,
            periods=at_once,
        )
        found = chosen.integrate(system, last.state, 0.0, end, want)
        states, observables = found.states, found.observables
        result = jnp.where(last.result == Reason.SUCCESS, found.result, last.result)
        apart = across_drift(system, found.along) / units[None]
        distances = jnp.linalg.norm(apart, axis=1)
        before = jnp.concatenate([jnp.full(1, _NEIGHBOUR), distances[:-1]])
        ratios = distances / jnp.where(before > 0, before, 1.0)
        growth = jnp.log(jnp.maximum(ratios, CLOSEST))
        # Neighbours held by a hard contact coincide: their direction is lost.
        met = distances[-1] == 0.0
        direction = apart[-1] / jnp.where(met, 1.0, distances[-1])
        direction = jnp.where(met, last.direction, direction)
        state, lead = states[-1], None
        if system.drift is not None:
            places = jnp.concatenate([last.state[None], states])
            lead = jnp.diff(system.drift.coordinate(places))
            states = modulo_drift(system, states)
        state = modulo_drift(system, state)
        return _Pair(state, direction, observables, result), (states, growth, lead)

    state = jnp.asarray(state, float)
    if system.drift is not None:
        direction = across_drift(system, direction * units) / units
    observables = init_observables(jnp.zeros(()), state, equation)
    start = _Pair(state, direction, observables, jnp.asarray(0, jnp.int32))
    last, (states, growth, leads) = jax.lax.scan(step, start, length=periods // at_once)
    seen = last.observables
    records = Records(
        states.reshape(periods, -1),
        growth.reshape(periods),
        jnp.sum(seen.onsets).astype(float),
        jnp.max(largest_forces(equation, seen), initial=0.0),
        seen.highest,
        seen.lowest,
        None if leads is None else leads.reshape(periods),
    )
    return Window(last.state, last.direction, records, last.result)
