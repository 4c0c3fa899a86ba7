"""Computation of responses by events, piece by piece, and by time stepping."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..dynamics.engines.choice import ENGINES
from ..dynamics.events import event_problem, motion_kernel
from ..dynamics.measures import Squares
from ..dynamics.motion import Motion, Want
from ..dynamics.observables import init_observables
from ..ensemble import Reason
from ..systems.base.around import AroundSystem
from ..systems.base.system import System
from ..systems.impact import EquationOfMotion
from ..systems.loads import as_load
from .limits import Limit, Moving, with_limits

# Safeguard: more pieces than any load of reasonable duration.
_MOST_TURNS = 10_000_000


def observe_by_events(
    equation: EquationOfMotion, state: Array, t0: Array, t1: Array, rtol: Array
) -> Motion:
    """Return a motion with its observables and the integral of `Squares`."""
    at = _pieces_at(equation, t1)
    go = motion_kernel(_Ready(_parts(at(t0)[0])[1]))

    def advance(lane):
        time, (state, observables, total), _ = lane
        now, end = at(time)
        arrays, _ = _parts(now)
        want = Want(rtol, grazing=0.0, observables=observables, measure=Squares)
        found = go(state, _Ready(arrays), time, end, want)
        total = total + found.integral
        return end, (found.state, found.observables, total), found.result

    nothing = jnp.zeros(3 * (state.shape[0] // 2))
    start = state, init_observables(t0, state, equation), nothing
    (state, observables, total), result = _iterate(advance, start, t0, t1)
    return Motion(state, result, observables=observables, integral=total)


def states_by_events(
    equation: EquationOfMotion,
    state: Array,
    t0: Array,
    t1: Array,
    rtol: Array,
    stops: Array,
) -> tuple[Array, Array, Array]:
    """Return the states at `stops`, the final state, and the integral of `Squares`.

    Forward-mode differentiable. Stops outside of (`t0`, `t1`] give the initial state.
    """
    at = _pieces_at(equation, t1)
    static = _parts(at(t0)[0])[1]
    ready = _Ready(static)

    def advance(lane):
        time, (state, total, seen), _ = lane
        now, end = at(time)
        later = jnp.min(jnp.where(stops > time, stops, jnp.inf))
        end = jnp.where(later < end, later, end)
        arrays, _ = _parts(now)
        given = ready, state, _Ready(arrays), time, end, rtol
        found = event_problem(*given, measure=Squares)
        state, part = jnp.split(found.state, [state.shape[0]])
        seen = jnp.where((stops == end)[:, None], state[None], seen)
        return end, (state, total + part, seen), found.result

    nothing = jnp.zeros(3 * (state.shape[0] // 2))
    start = state, nothing, jnp.repeat(state[None], stops.shape[0], axis=0)
    (state, total, seen), _ = _iterate(advance, start, t0, t1)
    return seen, state, total


class _Ready(eqx.Module):
    """A system that wraps a prepared equation of motion."""

    ready: EquationOfMotion

    def equation(self) -> EquationOfMotion:
        """Return the equation of motion."""
        return self.ready


def _parts(equation):
    return eqx.partition(equation, eqx.is_array)


def _pieces_at(equation, t1):
    """Return a function from time to the equation with its pieces and their end."""
    laws = [as_load(load.law) for load in equation.loads]
    tables = [None if law is None else law.pieces() for law in laws]
    if not tables:
        return lambda time: (equation, t1)

    def at(time):
        laws, ends = [], [t1]
        for load, table in zip(equation.loads, tables, strict=True):
            piece, end = (load.law, t1) if table is None else table.at(time)
            laws.append(piece)
            ends.append(jnp.asarray(end, float))
        now = eqx.tree_at(lambda e: [load.law for load in e.loads], equation, laws)
        return now, functools.reduce(lambda a, b: jnp.where(b < a, b, a), ends)

    return at


def _iterate(advance, start, t0, t1):
    """Iterate `advance` from `t0` to `t1`; return the final values and a reason code."""

    def unfinished(lane):
        time, _, result, turns = lane
        return (time < t1) & (result == Reason.SUCCESS) & (turns < _MOST_TURNS)

    def counted(lane):
        *rest, turns = lane
        return *advance(tuple(rest)), turns + 1

    first = t0, start, jnp.asarray(0, jnp.int32), jnp.asarray(0)
    time, found, result, _ = jax.lax.while_loop(unfinished, counted, first)
    late = (result == Reason.SUCCESS) & (time < t1)
    return found, jnp.where(late, Reason.STEP_LIMIT, result).astype(jnp.int32)


class _Limited(AroundSystem):
    """A system whose equation has limits as thresholds in addition to its contacts."""

    limits: tuple

    has_contacts = True

    def equation(self):
        """Return the equation of motion with the thresholds."""
        equation = self.moved.equation()
        assert isinstance(equation, Moving)
        return with_limits(equation, self.limits)


def observe_by_steps(
    system: System,
    limits: tuple[Limit, ...],
    state: Array,
    t0: Array,
    t1: Array,
    rtol: Array,
    engine: str,
) -> Motion:
    """Return a motion with its observables and the integral of `Squares`."""
    observing = system.has_contacts or bool(limits)
    limited = _Limited(system, limits) if observing else system
    want = Want(rtol, grazing=0.0, measure=Squares)
    return ENGINES[engine].integrate(limited, state, t0, t1, want)


def states_by_steps(
    system: System,
    state: Array,
    t0: Array,
    t1: Array,
    rtol: Array,
    stops: Array,
    engine: str,
) -> tuple[Array, Array, Array]:
    """Return the states at `stops`, the final state, and the integral of `Squares`.

    Stops outside of (`t0`, `t1`] give states at the nearer end.
    """
    order = jnp.argsort(stops)
    times = jnp.concatenate([t0[None], jnp.clip(stops[order], t0, t1), t1[None]])
    want = Want(rtol, times, measure=Squares)
    found = ENGINES[engine].integrate(system, state, t0, t1, want)
    states = found.states[1:-1]
    seen = jnp.zeros_like(states).at[order].set(states)
    return seen, found.states[-1], found.integral[-1]
