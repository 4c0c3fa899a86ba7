"""Derivatives of responses, from those of the states at their extremes."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..dynamics.observables import (
    Observables,
    times_of_largest_forces,
    top,
    tracked_contacts,
)
from ..dynamics.sensitivities import basis_of, contract_tangents, perturbed
from ..foundation.zero_tangents import symbolic_zero, zero_tangent
from ..kernels.calls.derivative_rule import with_rule
from ..systems.base.law import force_of
from ..systems.variation import at_time
from .limits import Moving


def with_slopes(found: Callable, smooth: Callable, arrays: Any) -> tuple[Any, Any]:
    """Return `found(arrays)`, a result and its `stops`, with a custom JVP rule.

    `smooth(arrays, stops)`: the differentiable fields of the result, by name; only its
    forward-mode tangents are used. Works in forward and reverse mode, for derivatives
    of any order.
    """

    def rule(primals, tangents):
        result, stops = run(*primals)
        still = jax.tree.map(zero_tangent, (result, stops))
        # Symbolic zeros: numerical ones would be differentiated, and some times are inf.
        stops = jax.lax.stop_gradient(stops)
        moved = _change(smooth, (*primals, stops), (*tangents, symbolic_zero(stops)))
        if moved is None:
            return (result, stops), still
        names = list(moved)
        changed = eqx.tree_at(
            lambda each: [getattr(each, name) for name in names],
            still[0],
            [moved[name] for name in names],
        )
        return (result, stops), (changed, still[1])

    run = with_rule(found, rule)
    return run(arrays)


def _change(function: Callable, primals: tuple, tangents: tuple):
    """Return the tangent of a function's result, from forward-mode sensitivities.

    It is a linear combination of sensitivities, which JAX transposes for reverse mode;
    these have the same JVP rule. None if all tangents are symbolic zeros.
    """
    moving, changes, others = perturbed(primals, tangents)
    basis, weights = basis_of((), moving, (), changes)
    if basis is None:
        return None

    def along(moving, rows, others):
        def of(moving):
            return function(*eqx.combine(moving, others))

        return jax.vmap(lambda row: jax.jvp(of, (moving,), (row,))[1])(rows)

    def rule(primals, tangents):
        value, moved = sensitivities(*primals), _change(along, primals, tangents)
        return value, jax.tree.map(jnp.zeros_like, value) if moved is None else moved

    sensitivities = with_rule(along, rule)
    return contract_tangents(
        lambda rows: sensitivities(moving, rows, others), basis[1], weights
    )


# Evaluation time ahead of a contact: relative to the duration, and to the time.
_AHEAD, _ROUNDINGS = 1e-12, 64 * jnp.finfo(float).eps


def stops_of(equation: Moving, observables: Observables, t0: Array, t1: Array) -> Array:
    """Return the times of a response's extremes and passages, s, see `at_stops`.

    At a contact derivatives are one-sided, so the motion is evaluated shortly before it;
    so too for the largest force of a damped or varying contact and for extremes between
    hard stops, which may coincide with a contact.
    """

    def ahead_of(times):
        ahead = _lead_time(times, t0, t1)
        return jnp.where(jnp.isfinite(times), times - ahead, times)

    forces, first = times_of_largest_forces(equation, observables), observables.first_touch
    forces = jnp.where(tracked_contacts(equation), ahead_of(forces), forces)
    sides = [observables.highest_time, observables.lowest_time]
    if any(equation.hard_contacts()):
        sides = [ahead_of(times) for times in sides]
    return jnp.concatenate([*sides, forces, ahead_of(first)])


def _lead_time(times, t0, t1):
    """Return the time before a contact at which the motion is evaluated, s."""
    return jnp.maximum(_AHEAD * (t1 - t0), _ROUNDINGS * jnp.abs(times))


def at_stops(
    equation: Moving, states: Array, stops: Array, t0: Array, t1: Array
) -> tuple[list[tuple[Array, ...]], list[Array]]:
    """Return extremes and passages as functions of the states at their times.

    **Returns:** highest and lowest displacement of each degree of freedom with times,
    and depth, force and first touch of each contact, including thresholds.
    """
    size, count = equation.offset.shape[0], len(equation.contacts)
    moving = slice(size, 2 * size)  # the velocities; states of elements follow them
    rates, jerks = jax.vmap(lambda t, y: _rate_and_change(equation, t, y))(stops, states)
    # An extreme at an end of the motion has nonzero velocity.
    inside = (stops > t0) & (stops < t1)
    sides = []
    for side in range(2):
        rows = slice(side * size, (side + 1) * size)
        place, speed = (
            jnp.diagonal(part) for part in (states[rows, :size], states[rows, moving])
        )
        push, jerk = (jnp.diagonal(part[rows, moving]) for part in (rates, jerks))
        within = inside[rows]
        turned = top(place, speed, push), -_moved(speed, push, jerk)
        if any(equation.hard_contacts()):
            struck, later = _until_impacts(equation, states[rows], rates[rows],
                                           2 * _lead_time(stops[rows], t0, t1))  # fmt: skip
            reached = place + speed * later + push * later**2 / 2
            turned = (jnp.where(struck, x, y)
                      for x, y in zip((reached, later), turned, strict=True))  # fmt: skip
        extreme, later = turned
        sides.append((
            jnp.where(within, extreme, place),
            stops[rows] + jnp.where(within, later, 0.0),
        ))  # fmt: skip
    rows = slice(2 * size, 2 * size + count)
    tracked = tracked_contacts(equation)
    depths, forces = [], []
    each = zip(states[rows], rates[rows], jerks[rows], strict=True)
    for j, (state, rate, jerk) in enumerate(each):
        motion = [part[j] for part in equation.contact_motion(state, rate)]
        within, time = inside[2 * size + j], stops[2 * size + j]
        depth = jnp.where(within, top(*motion), motion[0])
        depths.append(depth)
        if tracked[j]:
            jolt = _jerks(equation, state, rate, jerk)[j]
            force = _largest_force(equation.contacts[j], time, within, *motion, jolt)
        else:
            force = force_of(equation.contacts[j].law, depth)
        forces.append(force)
    touches = []
    for j in range(count):
        at = 2 * size + count + j
        motion = equation.contact_motion(states[at], rates[at])
        later = _moved(*(part[j] for part in motion))
        known = jnp.isfinite(stops[at]) & inside[at]
        touches.append(stops[at] - jnp.where(known, later, 0.0))
    found = [jnp.stack(each) if count else jnp.zeros(0) for each in
             (depths, forces, touches)]  # fmt: skip
    return sides, found


def _until_impacts(equation, states, rates, soon):
    """Return whether an impact at a hard stop occurs within `soon` (s), and its delay.

    The delay is 0, with the derivatives of the time of the impact.
    """
    hard = np.asarray(equation.hard_contacts(), bool)

    def until(state, rate, soon):
        depth, closing, push = equation.contact_motion(state, rate)
        meets = hard & (depth <= 0) & (-depth <= soon * closing)
        first = jnp.argmax(meets)
        return jnp.any(meets), -_moved(depth[first], closing[first], push[first])

    return jax.vmap(until)(states, rates, soon)


def _largest_force(contact, moment, within, depth, rate, push, jerk):
    """Return the force of a tracked contact at its maximum, or at onset."""
    begins = within & (depth <= 0)
    faster = push * _moved(depth, rate, push)

    def force_at(time, depth, speed):
        (now,) = at_time((contact,), moment + time)
        return force_of(now.law, depth, speed)

    def later(time):
        speed = rate + push * time + jerk * time**2 / 2
        return force_at(time, depth + rate * time + push * time**2 / 2, speed)

    def grows(time):
        return jax.jvp(later, (time,), (jnp.ones_like(time),))

    now = jnp.zeros_like(depth)
    (force, growth), (_, bend) = jax.jvp(grows, (now,), (jnp.ones_like(now),))
    force = jnp.where(within, top(force, growth, bend), force)
    onset = force_at(now, jnp.full_like(depth, jnp.finfo(float).tiny), rate - faster)
    return jnp.where(begins, onset, force)


def _jerks(equation, state, rate, jerk):
    """Return the third time derivative of each contact's penetration, m/s^3."""

    def push(state, rate):
        return equation.contact_motion(state, rate)[2]

    return jax.jvp(push, (state, rate), (rate, jerk))[1]


def _rate_and_change(equation, time, state):
    """Return a state's rate and its time derivative."""
    rate = equation.vector_field(time, state)
    along = jnp.ones_like(time), jax.lax.stop_gradient(rate)
    return jax.jvp(equation.vector_field, (time, state), along)


def _moved(value, rate, bend):
    """Return 0, with first and second derivatives of minus the time of a crossing.

    The `value` crosses a fixed level; `rate`, `bend`: its time derivatives.
    """
    known = rate != 0
    pace = jnp.where(known, rate, 1.0)
    first = (value - jax.lax.stop_gradient(value)) / pace
    return jnp.where(known, first + bend / pace * first**2 / 2, 0.0)
