"""Small arrays of one system: by numpy where they are numpy's, else by JAX.

Each operation that JAX is asked for outside a program is a program of its own to compile:
twenty milliseconds, in every process, for what takes numpy a microsecond.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

HOST = np


def library_of(*values) -> Any:
    """Return what computes with arrays: `jax.numpy`, or `HOST` where all are numpy's.

    Linear algebra, in which the two differ, is that of `jaxvib.linalg`.
    """
    leaves = jax.tree.leaves(values)
    host = all(isinstance(leaf, np.ndarray | np.generic | int | float) for leaf in leaves)
    return HOST if host else jnp


def as_array(value, kind):
    """Return a number as an array of a kind: numpy's unless it is JAX's already."""
    return jnp.asarray(value, kind) if library_of(value) is jnp else np.asarray(value, kind)


def is_known(*values) -> bool:
    """Return whether no array among the leaves is traced."""
    return not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(values))


def is_differentiated(*values) -> bool:
    """Return whether JAX takes a derivative by an array among the leaves just now."""
    return any(map(_has_tangent, jax.tree.leaves(values)))


def _has_tangent(leaf) -> bool:
    if not isinstance(leaf, jax.core.Tracer):
        return False
    # `jvp` and `linearize` have a tracer each, one of which has no public name.
    if type(leaf).__name__ in ("JVPTracer", "LinearizeTracer"):
        return True
    return _has_tangent(getattr(leaf, "val", None))  # under vmap


def on_host(tree):
    """Return a pytree with numpy's arrays instead of those of JAX's that are known."""

    def there(leaf):
        return np.asarray(leaf) if isinstance(leaf, jax.Array) and is_known(leaf) else leaf

    return jax.tree.map(there, tree)


def on_device(tree):
    """Return a pytree of JAX's arrays, without the program that each `asarray` is."""
    leaves, structure = jax.tree.flatten(tree)
    here = [i for i, leaf in enumerate(leaves) if not isinstance(leaf, jax.Array)]
    if not here:  # sending nothing is an operation too where it is traced
        return tree
    # All at once takes a third less time.
    sent = jax.device_put([np.asarray(leaves[i]) for i in here])
    for i, leaf in zip(here, sent, strict=True):
        leaves[i] = leaf
    return jax.tree.unflatten(structure, leaves)


def loop(goes_on: Callable, step: Callable, first):
    """Return the first state that does not go on: Python's, of traced states JAX's."""
    if library_of(first) is jnp:
        return jax.lax.while_loop(goes_on, step, first)
    state = first
    while goes_on(state):
        state = step(state)
    return state


def parted(tree):
    """Return the real numbers of a tree, and the rest of it, which can be looked up.

    Systems with the same rest have the same programs. A table of whole numbers that is
    known belongs to it, like a name.
    """

    def moves(leaf):
        return eqx.is_inexact_array(leaf) or isinstance(leaf, jax.core.Tracer)

    def fixed(leaf):
        return _Fixed(leaf) if isinstance(leaf, np.ndarray | jax.Array) else leaf

    numbers, rest = eqx.partition(tree, moves)
    return numbers, jax.tree.map(fixed, rest)


def rejoined(numbers, rest):
    """Return the tree of which these are what is `parted`."""
    return eqx.combine(
        numbers,
        jax.tree.map(lambda leaf: leaf.array if isinstance(leaf, _Fixed) else leaf, rest),
    )


class _Fixed:
    """An array that is told from others by what it holds."""

    def __init__(self, array):
        self.array, known = array, np.asarray(array)
        self._told = known.dtype.str, known.shape, known.tobytes()

    def __eq__(self, other) -> bool:
        return isinstance(other, _Fixed) and self._told == other._told

    def __hash__(self) -> int:
        return hash(self._told)

    def __reduce__(self):
        return _Fixed, (np.asarray(self.array),)


def per_lane(value, like):
    """Return numbers of lanes with as many axes as an array of each of them has."""
    more = np.ndim(like) - np.ndim(value)
    return library_of(value).expand_dims(value, tuple(range(-more, 0)))


def frozen(value):
    """Return a value without derivatives."""
    return value if library_of(value) is HOST else jax.lax.stop_gradient(value)


def frozen_tree(tree):
    """Return a pytree whose real numbers have no derivatives."""

    def stopped(leaf):
        return jax.lax.stop_gradient(leaf) if eqx.is_inexact_array(leaf) else leaf

    return jax.tree.map(stopped, tree)
