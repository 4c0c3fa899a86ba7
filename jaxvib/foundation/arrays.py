"""Helpers for small arrays: NumPy for concrete values, JAX otherwise.

Each JAX operation outside `jit` compiles a program of its own: 20 ms in every process
for what NumPy does in a microsecond.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, PyTree

from .machine import map_in_threads

HOST = np
_LARGE = 1 << 22  # bytes that take longer to gather than threads to start


def array_namespace(*values: Any) -> Any:
    """Return the array namespace: `HOST` if all leaves are NumPy's, else `jax.numpy`.

    For linear algebra, in which the two differ, use `jaxvib.linalg`.
    """
    leaves = jax.tree.leaves(values)
    host = all(isinstance(leaf, np.ndarray | np.generic | int | float) for leaf in leaves)
    return HOST if host else jnp


def as_array(value: ArrayLike, kind: type) -> Any:
    """Return an array of dtype `kind`, NumPy's unless `value` is JAX's already."""
    return (
        jnp.asarray(value, kind)
        if array_namespace(value) is jnp
        else np.asarray(value, kind)
    )


def is_concrete(*values: Any) -> bool:
    """Return whether all leaves are concrete (no tracers)."""
    return not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(values))


def host_namespace(*values: Any) -> Any:
    """Return the array namespace: NumPy unless a leaf is traced."""
    return HOST if is_concrete(values) else jnp


def require_concrete(verb: str, *values: Any) -> None:
    """Raise `ValueError`, naming the function, for traced values."""
    if not is_concrete(values):
        raise ValueError(
            f"{verb} of traced values, but it computes on the host; allowed: concrete "
            "ones, outside of jit, vmap and derivatives"
        )


def has_tangents(*values: Any) -> bool:
    """Return whether any leaf is being differentiated."""
    return any(map(_has_tangent, jax.tree.leaves(values)))


def _has_tangent(leaf) -> bool:
    if not isinstance(leaf, jax.core.Tracer):
        return False
    # `jvp` and `linearize` use different tracers, one of which has no public name.
    if type(leaf).__name__ in ("JVPTracer", "LinearizeTracer"):
        return True
    return _has_tangent(getattr(leaf, "val", None))  # under vmap


def to_numpy(tree: PyTree) -> Any:
    """Convert the concrete JAX arrays of a pytree to NumPy arrays."""

    def there(leaf):
        return (
            np.asarray(leaf) if isinstance(leaf, jax.Array) and is_concrete(leaf) else leaf
        )

    return jax.tree.map(there, tree)


def to_jax(tree: PyTree) -> Any:
    """Convert the leaves of a pytree to JAX arrays without compiling `asarray`.

    Dictionaries keep the order of their keys, which JAX sorts.
    """
    leaves, structure = jax.tree.flatten(tree)
    here = [i for i, leaf in enumerate(leaves) if not isinstance(leaf, jax.Array)]
    if not here:  # an empty `device_put` would be traced too
        return tree
    # One transfer for all takes a third less time.
    sent = jax.device_put([np.asarray(leaves[i]) for i in here])
    for i, leaf in zip(here, sent, strict=True):
        leaves[i] = leaf
    return _in_order(tree, jax.tree.unflatten(structure, leaves))


def _in_order(tree: Any, converted: Any) -> Any:
    if not isinstance(tree, dict):
        return converted
    return {key: _in_order(tree[key], converted[key]) for key in tree}


def while_loop(goes_on: Callable, step: Callable, first: PyTree) -> Any:
    """Run a while loop: in Python for NumPy states, else `jax.lax.while_loop`."""
    if array_namespace(first) is jnp:
        return jax.lax.while_loop(goes_on, step, first)
    state = first
    while goes_on(state):
        state = step(state)
    return state


def partition_arrays(tree: PyTree) -> tuple[Any, Any]:
    """Partition a pytree into its real arrays and a hashable rest.

    Systems with equal rests share compiled programs. A concrete integer array belongs
    to the rest, like a static field.
    """

    def moves(leaf):
        return eqx.is_inexact_array(leaf) or isinstance(leaf, jax.core.Tracer)

    def fixed(leaf):
        return _HashableArray(leaf) if isinstance(leaf, np.ndarray | jax.Array) else leaf

    numbers, rest = eqx.partition(tree, moves)
    return numbers, jax.tree.map(fixed, rest)


def combine_arrays(numbers: PyTree, rest: PyTree) -> Any:
    """Combine the two parts that `partition_arrays` returned."""
    return eqx.combine(
        numbers,
        jax.tree.map(
            lambda leaf: leaf.array if isinstance(leaf, _HashableArray) else leaf, rest
        ),
    )


class _HashableArray:
    """An array that is compared and hashed by its content."""

    def __init__(self, array):
        self.array, known = array, np.asarray(array)
        self._told = known.dtype.str, known.shape, known.tobytes()

    def __eq__(self, other) -> bool:
        return isinstance(other, _HashableArray) and self._told == other._told

    def __hash__(self) -> int:
        return hash(self._told)

    def __reduce__(self):
        return _HashableArray, (np.asarray(self.array),)


def expand_to_lanes(value: ArrayLike, like: ArrayLike) -> Any:
    """Append axes to per-lane numbers so that they broadcast against `like`."""
    more = np.ndim(like) - np.ndim(value)
    return array_namespace(value).expand_dims(value, tuple(range(-more, 0)))


def stop_gradient(value: Any) -> Any:
    """Apply `stop_gradient`; NumPy values pass through."""
    return value if array_namespace(value) is HOST else jax.lax.stop_gradient(value)


def stop_gradient_tree(tree: PyTree) -> Any:
    """Apply `stop_gradient` to the inexact leaves of a pytree."""

    def stopped(leaf):
        return jax.lax.stop_gradient(leaf) if eqx.is_inexact_array(leaf) else leaf

    return jax.tree.map(stopped, tree)


def gather_lanes(tree: PyTree, lanes: np.ndarray | slice) -> Any:
    """Return lanes of a tree of arrays, which keep their order in memory."""
    if isinstance(lanes, slice):
        return jax.tree.map(lambda leaf: np.asarray(leaf)[lanes], tree)
    places = np.flatnonzero(lanes) if lanes.dtype == bool else lanes

    def gathered(leaf):
        last = leaf.transpose(*range(1, leaf.ndim), 0)
        if not last.flags.c_contiguous:
            return leaf[places]
        # As kernels write them: in a quarter of the time, and not reordered again.
        return last.take(places, axis=-1).transpose(-1, *range(leaf.ndim - 1))

    leaves, structure = jax.tree.flatten(tree)
    leaves = list(map(np.asarray, leaves))
    share = len(places) / max(1, *map(len, leaves))
    many = share * sum(leaf.nbytes for leaf in leaves) > _LARGE
    taken = map_in_threads(gathered, leaves) if many else map(gathered, leaves)
    return jax.tree.unflatten(structure, taken)


def stack_lanes(trees: Sequence[PyTree]) -> Any:
    """Stack trees of arrays along a new first axis, as NumPy arrays."""
    return jax.tree.map(lambda *leaves: np.stack(list(map(np.asarray, leaves))), *trees)


def concatenate_lanes(trees: Sequence[PyTree]) -> Any:
    """Concatenate trees of arrays along their first axis, as NumPy arrays in C order."""

    def joined(*leaves):
        shape = sum(map(len, leaves)), *leaves[0].shape[1:]
        return np.concatenate(leaves, out=np.empty(shape, np.result_type(*leaves)))

    return jax.tree.map(joined, *trees)


def one_lane(tree: PyTree) -> Any:
    """Return a tree of arrays with a first axis of length 1, as NumPy arrays."""
    return equal_lanes(tree, 1)


def equal_lanes(tree: PyTree, number: int) -> Any:
    """Return a tree of NumPy arrays with a first axis of equal entries."""
    return jax.tree.map(lambda leaf: np.stack([np.asarray(leaf)] * number), tree)


def put_lanes(tree: PyTree, lanes: np.ndarray, values: PyTree) -> None:
    """Replace the lanes of a tree of NumPy arrays."""

    def put(leaf, new):
        leaf[lanes] = new

    jax.tree.map(put, tree, values)
