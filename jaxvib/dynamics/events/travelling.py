"""Travels from event to event as functions that can be differentiated."""

import jax
import jax.numpy as jnp
import numpy as np

from ..solve import Solution, columns_of
from .engine import travel


def travel_problem(prepare, state, parameters, t0, t1, rtol) -> Solution:
    """Return the end of a travel of the equation `prepare(parameters)`, differentiable.

    Each event's time depends on state and parameters as its last Newton step does, so
    that the columns, all taken at once by `jax.jvp`, are exact for the steps taken.
    Forward and reverse, first derivatives.
    """

    def go(state, others, one):
        parameters, t0, t1 = others
        found = travel(prepare(parameters), state, t0, t1, rtol, one=one)
        return found.state, (found.result, found.steps)

    @jax.custom_jvp
    def run(state, parameters, t0, t1):
        end, (result, steps) = go(state, (parameters, t0, t1), jnp.ones(()))
        return Solution(end, result, steps)

    def rule(primals, tangents):
        state, *others = primals
        d_state, *d_others = tangents
        starts, directions, weights = columns_of(
            state, tuple(others), d_state, tuple(d_others)
        )
        if not starts:
            return run(*primals), _unmoved(jnp.zeros_like(state))
        weight = jnp.concatenate(weights)
        # A 1 for each column, see `settled`.
        ones = jnp.where(jnp.isfinite(jnp.sum(state)), jnp.ones_like(weight), jnp.nan)

        def column(start, direction, one):
            return jax.jvp(
                go,
                (state, tuple(others), jnp.ones(())),
                (start, direction, one),
                has_aux=True,
            )

        end, columns, (result, steps) = jax.vmap(column, out_axes=(None, 0, None))(
            starts[0], directions[0], ones
        )
        return Solution(end, result, steps), _unmoved(jnp.tensordot(weight, columns, 1))

    run.defjvp(rule, symbolic_zeros=True)
    start = jax.tree.map(jnp.asarray, (state, parameters))
    return run(*start, jnp.asarray(t0, float), jnp.asarray(t1, float))


def travel_columns(equation, state, t0, t1, rtol, grazing, watched=None):
    """Return a travel with what is watched, and its columns by the state (n, n)."""

    def go(state, one):
        found = travel(
            equation, state, t0, t1, rtol, grazing=grazing, watched=watched, one=one
        )
        return found.state, found

    size = state.shape[0]
    # A 1 for each column, see `settled`.
    ones = jnp.where(jnp.isfinite(jnp.sum(state)), jnp.ones(size), jnp.nan)

    def column(direction, one):
        _, column, found = jax.jvp(
            go, (state, jnp.ones(())), (direction, one), has_aux=True
        )
        return column, found

    return jax.vmap(column, out_axes=(1, None))(jnp.eye(size), ones)


def _unmoved(change) -> Solution:
    no_change = np.zeros((), jax.dtypes.float0)
    return Solution(change, no_change, no_change)
