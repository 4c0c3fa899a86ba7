"""Travels from event to event as functions that can be differentiated."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..columns import MOST_COLUMNS, basis_of, contracted, is_zero
from ..solve import Solution
from .engine import travel


def travel_problem(prepare, state, parameters, t0, t1, rtol) -> Solution:
    """Return the end of a travel of the equation `prepare(parameters)`, differentiable.

    Each event's time depends on state and parameters as its last Newton step does, so
    that the columns, all taken at once by `jax.jvp`, are exact for the steps taken.
    Forward and reverse; second derivatives too, but with Hertz contacts these take
    minutes to compile.
    """

    def go(state, others, rtol, one=None, steady=False):
        parameters, t0, t1 = others
        found = travel(prepare(parameters), state, t0, t1, rtol, one=one, steady=steady)
        return found.state, (found.result, found.steps)

    @jax.custom_jvp
    def run(state, parameters, t0, t1):
        end, (result, steps) = go(state, (parameters, t0, t1), rtol)
        return Solution(end, result, steps)

    def rule(primals, tangents):
        state, *others = primals
        d_state, *d_others = tangents
        basis, weights = basis_of(state, tuple(others), d_state, tuple(d_others))
        if basis is None:
            return run(*primals), _unmoved(jnp.zeros_like(state))
        leaves, tree = jax.tree.flatten((state, tuple(others)))
        changes = jax.tree.leaves((d_state, tuple(d_others)), is_leaf=is_zero)
        moves = [not is_zero(change) for change in changes]

        # The tolerance is given, not closed over: lanes may have each its own.
        def from_leaves(moving, others, one, steady):
            moving, others, rtol = iter(moving), iter(others[0]), others[1]
            both = [next(moving if move else others) for move in moves]
            return go(*jax.tree.unflatten(tree, both), rtol, one, steady)

        def columns_along(rows):
            return _side_by_side(from_leaves)(
                [leaf for leaf, move in zip(leaves, moves, strict=True) if move],
                rows,
                (
                    [leaf for leaf, move in zip(leaves, moves, strict=True) if not move],
                    jnp.asarray(rtol, float),
                ),
                jnp.ones(()),
            )

        rows = jax.tree.leaves(basis)
        rows = [row for row, move in zip(rows, moves, strict=True) if move]
        if len(weights) > MOST_COLUMNS:
            moved = contracted(lambda rows: columns_along(rows)[1], rows, weights)
            return run(*primals), _unmoved(moved)
        end, columns, (result, steps) = columns_along(rows)
        moved = jnp.tensordot(weights, columns, 1)
        return Solution(end, result, steps), _unmoved(moved)

    run.defjvp(rule, symbolic_zeros=True)
    start = jax.tree.map(jnp.asarray, (state, parameters))
    return run(*start, jnp.asarray(t0, float), jnp.asarray(t1, float))


def travel_columns(equation, state, t0, t1, rtol, grazing, watched=None):
    """Return a travel with what is watched, and its columns by the state (n, n)."""
    arrays, static = eqx.partition((equation, t0, t1, rtol, grazing), eqx.is_array)

    def go(state, others, one, steady):
        arrays, watched = others
        equation, t0, t1, rtol, grazing = eqx.combine(arrays, static)
        found = travel(
            equation,
            state,
            t0,
            t1,
            rtol,
            grazing=grazing,
            watched=watched,
            one=one,
            steady=steady,
        )
        return found.state, found

    _, columns, found = _side_by_side(go)(
        state, jnp.eye(state.shape[0]), (arrays, watched), jnp.ones(())
    )
    return columns.T, found


def _side_by_side(go):
    """Return the columns of `go(moving, others, one, steady)` along changes of `moving`.

    `go` returns a value and more. Mapped over lanes, columns stay the outer axis and
    lanes the inner one: a CPU takes neighbours in memory together, and lanes are many.
    Higher derivatives leave the axes where they are: traced once for each order and each
    axis, they would take minutes. They also need what a `steady` pace leaves out.
    **Returns:** a function of (moving, rows, others, one) to the value, its columns
    (rows, ...), and the rest.
    """

    def as_they_are(moving, rows, others, one, steady):
        # A 1 for each column, see `Barrier`.
        count = jax.tree.leaves(rows)[0].shape[0]
        ones = jnp.where(jnp.isfinite(one), jnp.ones((count, *jnp.shape(one))), jnp.nan)

        def column(row, change):
            return jax.jvp(
                lambda moving, one: go(moving, others, one, steady),
                (moving, one),
                (row, change),
                has_aux=True,
            )

        return jax.vmap(column, out_axes=(None, 0, None))(rows, ones)

    side_by_side = jax.custom_batching.custom_vmap(
        functools.partial(as_they_are, steady=True)
    )

    @side_by_side.def_vmap
    def in_lanes(lanes, batched, moving, rows, others, one):
        def spread(leaf, is_batched):
            return leaf if is_batched else jnp.broadcast_to(leaf, (lanes, *leaf.shape))

        moving, rows, one = jax.tree.map(
            spread, (moving, rows, one), (batched[0], batched[1], batched[3])
        )
        axes = jax.tree.map(lambda is_batched: 0 if is_batched else None, batched[2])
        rows = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 1), rows)

        def mapped(moving, others, one, steady):
            def each(moving, others, one):
                return go(moving, others, one, steady)

            return jax.vmap(each, in_axes=(0, axes, 0))(moving, others, one)

        end, found, rest = _side_by_side(mapped)(moving, rows, others, one)
        result = end, jnp.moveaxis(found, 1, 0), rest
        return result, jax.tree.map(lambda _: True, result)

    @jax.custom_jvp
    def columns(moving, rows, others, one):
        return side_by_side(moving, rows, others, one)

    @columns.defjvp
    def rule(primals, tangents):
        *known, one = primals  # a tangent of this 1 would be 0, see `Barrier`
        return jax.jvp(
            lambda *known: as_they_are(*known, one, steady=False),
            known,
            list(tangents[:-1]),
        )

    return columns


def _unmoved(change) -> Solution:
    no_change = np.zeros((), jax.dtypes.float0)
    return Solution(change, no_change, no_change)
