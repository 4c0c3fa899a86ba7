"""Derivatives of responses, from those of the states at their extremes."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..dynamics.extremes import top
from ..dynamics.observables import times_of_largest_forces
from ..dynamics.sensitivities import MOST_SENSITIVITIES, basis_of, contract_tangents


def with_slopes(found: Callable, smooth: Callable, arrays: Any):
    """Return `found(arrays)`, a result and its `stops`, with a custom JVP rule.

    `smooth(arrays, stops)`: the differentiable fields of the result, by name; only its
    forward-mode tangents are used. Works in forward and reverse mode.
    """

    @jax.custom_jvp
    def run(arrays):
        return found(arrays)

    def rule(primals, tangents):
        (arrays,), (changes,) = primals, tangents
        result, stops = run(arrays)
        still = jax.tree.map(_still, (result, stops))
        basis, weights = basis_of((), arrays, (), changes)
        if basis is None:
            return (result, stops), still

        def sensitivities_along(rows):
            def sensitivity(row):
                return jax.jvp(lambda a: smooth(a, stops), (arrays,), (row,))[1]

            return jax.vmap(sensitivity)(rows[1])

        if len(weights) <= MOST_SENSITIVITIES:
            moved = jax.tree.map(
                lambda sensitivity: jnp.tensordot(weights, sensitivity, 1),
                sensitivities_along(basis),
            )
        else:
            moved = contract_tangents(sensitivities_along, basis, weights)
        names = list(moved)
        changed = eqx.tree_at(
            lambda each: [getattr(each, name) for name in names],
            still[0],
            [moved[name] for name in names],
        )
        return (result, stops), (changed, still[1])

    run.defjvp(rule, symbolic_zeros=True)
    return run(arrays)


def _still(leaf):
    if jnp.issubdtype(leaf.dtype, jnp.inexact):
        return jnp.zeros_like(leaf)
    return np.zeros(leaf.shape, jax.dtypes.float0)


def stops_of(equation, watched) -> Array:
    """Return the times of a response's extremes and passages, s, see `at_stops`."""
    parts = [watched.highest_time, watched.lowest_time]
    parts += [times_of_largest_forces(equation, watched), watched.first_touch]
    return jnp.concatenate(parts)


def at_stops(equation, states, stops, t0, t1):
    """Return extremes and passages as functions of the states at their times.

    **Returns:** highest and lowest displacement of each degree of freedom with times,
    and depth, force and first touch of each contact, including thresholds.
    """
    size, count = states.shape[1] // 2, len(equation.contacts)
    rates = jax.vmap(equation.vector_field)(stops, states)
    # An extreme at an end of the motion has nonzero velocity.
    inside = (stops > t0) & (stops < t1)
    sides = []
    for side in range(2):
        rows = slice(side * size, (side + 1) * size)
        place, speed = (
            jnp.diagonal(part) for part in (states[rows, :size], states[rows, size:])
        )
        push, within = jnp.diagonal(rates[rows, size:]), inside[rows]
        sides.append((
            jnp.where(within, top(place, speed, push), place),
            stops[rows] - jnp.where(within, _moved(speed, push), 0.0),
        ))  # fmt: skip
    rows = slice(2 * size, 2 * size + count)
    damped = np.asarray(equation.damped_contacts(), bool)
    depths, forces = [], []
    for j, (state, rate) in enumerate(zip(states[rows], rates[rows], strict=True)):
        motion = [part[j] for part in equation.contact_motion(state, rate)]
        depth = jnp.where(inside[2 * size + j], top(*motion), motion[0])
        depths.append(depth)
        law = equation.contacts[j].law
        force = law.force(*motion[:2]) if damped[j] else law.force(depth)
        forces.append(force)
    touches = []
    for j in range(count):
        at = 2 * size + count + j
        motion = equation.contact_motion(states[at], rates[at])
        later = _moved(motion[0][j], motion[1][j])
        known = jnp.isfinite(stops[at]) & inside[at]
        touches.append(stops[at] - jnp.where(known, later, 0.0))
    found = [jnp.stack(each) if count else jnp.zeros(0) for each in
             (depths, forces, touches)]  # fmt: skip
    return sides, found


def _moved(value, rate):
    """Return 0, with the derivative of minus the time at which a value is passed."""
    known = rate != 0
    pace = jax.lax.stop_gradient(jnp.where(known, rate, 1.0))
    return jnp.where(known, (value - jax.lax.stop_gradient(value)) / pace, 0.0)
