"""Sensitivities of a flow in a basis of perturbations, and their contraction."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..foundation.arrays import array_namespace, stop_gradient, to_jax, to_numpy
from ..foundation.zero_tangents import is_zero

# Sensitivities integrated with one state. Above about this number, integrating only the
# requested direction is faster than a whole basis.
MOST_SENSITIVITIES = 30


def perturbed(primals: PyTree, tangents: PyTree) -> tuple[PyTree, PyTree, PyTree]:
    """Return the perturbed leaves of a tree, their tangents, and its other leaves.

    As trees with None for all others; `eqx.combine` joins the first and the last.
    """
    moves = jax.tree.map(lambda tangent: not is_zero(tangent), tangents)
    moving, others = eqx.partition(primals, moves)
    return moving, eqx.filter(tangents, moves), others


def value_and_tangent(function: Callable, primals: tuple, tangents: tuple) -> Any:
    """Return a function's result and its tangent, as `jax.jvp` along symbolic zeros."""
    moving, changes, others = perturbed(primals, tangents)

    def of(moving):
        return function(*eqx.combine(moving, others))

    return jax.jvp(of, (moving,), (changes,))


def basis_of(
    state: PyTree, parameters: PyTree, d_state: PyTree, d_parameters: PyTree
) -> tuple[Any, Any]:
    """Return a basis of the perturbed inputs, and the weights of the tangents in it.

    Takes trees of arrays and of their tangents, symbolic zeros where unperturbed. A
    parameter's row is scaled by the parameter, so that its sensitivity is of the size
    of the state and one tolerance fits all. **Returns:** the pair (state, parameters)
    with a leading axis of rows, and weights (rows,); None and None if all tangents are
    zero.
    """
    leaves, tree = jax.tree.flatten((state, parameters))
    changes = jax.tree.leaves((d_state, d_parameters), is_leaf=is_zero)
    count = sum(change.size for change in changes if not is_zero(change))
    if count == 0:
        return None, None
    rows, weights, first = [], [], 0
    for i, (leaf, change) in enumerate(zip(leaves, changes, strict=True)):
        row = np.zeros((count, leaf.size))
        if not is_zero(change):
            known = to_numpy(leaf)  # concrete values as NumPy rows: nothing is compiled
            xp, scale = array_namespace(known), np.ones(leaf.size)
            if i >= len(jax.tree.leaves(state)):
                size = stop_gradient(xp.abs(known).reshape(-1))
                scale = xp.where(size > 0, size, 1.0)
            last = first + leaf.size
            row = xp.concatenate([row[:first], xp.diag(scale), row[last:]])
            weights.append(change.reshape(-1) / scale)
            first = last
        rows.append(to_jax(row.reshape(count, *leaf.shape)))
    return jax.tree.unflatten(tree, rows), jnp.concatenate(weights)


def contract_tangents(
    sensitivities_along: Callable, basis: PyTree, weights: Array
) -> PyTree:
    r"""Return the sum of weight times sensitivity over the rows of a basis.

    `sensitivities_along(rows)` returns the sensitivities $Y_k$ of a stack of rows. Of
    more than `MOST_SENSITIVITIES` only the direction $d = \sum_k w_k b_k$ is integrated
    in forward mode. In reverse, $w_k$ has the cotangent $Y_k\cdot\bar y$, computed from
    `MOST_SENSITIVITIES` sensitivities at a time. For JAX it is the solution of

    $$u = w, \qquad y - \sum_k u_k Y_k = 0,$$

    a linear system with a custom solver, which can be mapped and differentiated.
    """
    rows = weights.shape[0]
    if rows <= MOST_SENSITIVITIES:
        return jax.tree.map(
            lambda sensitivity: jnp.tensordot(weights, sensitivity, 1),
            sensitivities_along(basis),
        )

    def along(weights):
        size = jnp.max(jnp.abs(weights))
        size = jnp.where(size > 0, size, 1.0)
        direction = jax.tree.map(
            lambda row: jnp.tensordot(weights / size, row, 1)[None], basis
        )
        return jax.tree.map(
            lambda sensitivity: size * sensitivity[0], sensitivities_along(direction)
        )

    def sensitivities():
        chunks = -(-rows // MOST_SENSITIVITIES)

        def padded(row):
            rest = jnp.zeros((chunks * MOST_SENSITIVITIES - rows, *row.shape[1:]))
            return jnp.concatenate([row, rest]).reshape(
                chunks, MOST_SENSITIVITIES, *row.shape[1:]
            )

        found = jax.lax.map(sensitivities_along, jax.tree.map(padded, basis))
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:rows], found)

    def system(unknowns):
        weights, moved = unknowns
        return weights, jax.tree.map(
            lambda y, sensitivity: y - jnp.tensordot(weights, sensitivity, 1),
            moved,
            sensitivities(),
        )

    def solve(_, right):
        weights, rest = right
        return weights, jax.tree.map(jnp.add, along(weights), rest)

    def solve_transposed(_, right):
        weights, rest = right
        products = jax.tree.map(
            lambda sensitivity, y: jnp.tensordot(sensitivity, y, y.ndim),
            sensitivities(),
            rest,
        )
        return weights + sum(jax.tree.leaves(products)), rest

    # JAX transposes if the whole right-hand side is unknown: this 0 must be so too.
    nothing = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype) * weights[0],
        jax.eval_shape(along, weights),
    )
    _, moved = jax.lax.custom_linear_solve(
        system, (weights, nothing), solve, solve_transposed
    )
    return moved
