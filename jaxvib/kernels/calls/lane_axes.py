"""Arrays of lanes: the lanes as first or last axis, and a number of lanes filled up."""

import jax
import numpy as np
from jaxtyping import Array


def lanes_last(array: np.ndarray) -> np.ndarray:
    """Move the first axis to the end."""
    return array.transpose(*range(1, array.ndim), 0)


def lanes_first(array: np.ndarray) -> np.ndarray:
    """Move the last axis to the front."""
    return array.transpose(-1, *range(array.ndim - 1))


def padded(array: np.ndarray, lanes: int) -> np.ndarray:
    """Pad an array to a number of lanes by repeating the last one."""
    more = lanes - array.shape[-1]
    if not more:
        return array
    if array.shape[-1] == 1:
        return array.repeat(lanes, -1)
    return np.concatenate([array, np.repeat(array[..., -1:], more, -1)], -1)


# The same for JAX arrays, each a single operation: `jnp` functions compile programs.


def transposed(array: Array, steps: int) -> Array:
    """Rotate the axes of an array by `steps`."""
    axes = range(array.ndim)
    return jax.lax.transpose(array, [(axis + steps) % array.ndim for axis in axes])


def filled(array: Array, lanes: int) -> Array:
    """Fill up an array to a number of lanes by repeating the last one."""
    more, last = lanes - array.shape[-1], array.ndim - 1
    if not more:
        return array
    one = jax.lax.slice_in_dim(array, -1, None, axis=last)
    repeated = jax.lax.broadcast_in_dim(one, (*array.shape[:-1], more), range(array.ndim))
    return jax.lax.concatenate([array, repeated], last)
