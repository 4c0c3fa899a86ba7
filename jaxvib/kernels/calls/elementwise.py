"""Elementary functions of NumPy arrays, with the same bits on every processor.

NumPy selects implementations by the processor's instructions, which changes the last
bit of some results.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...foundation.machine import usable_cores
from .kernel_cache import cached_kernel


def _of_arrays(function: Any) -> Callable:
    kernel, name = cached_kernel(function), function.__name__

    def of_arrays(*values):
        arrays = np.broadcast_arrays(*(np.asarray(value, float) for value in values))
        if not arrays[0].size:
            return np.zeros(arrays[0].shape)
        # Copies to a GPU would take longer than these functions.
        flat = [array.reshape(-1) for array in arrays]
        found = kernel.map(*flat, threads=usable_cores())
        return found.reshape(arrays[0].shape)

    of_arrays.__name__ = name
    of_arrays.__doc__ = f"Return `numpy.{name}` of broadcast arrays, as float64."
    return of_arrays


log, power = _of_arrays(jnp.log), _of_arrays(jnp.power)
log_of_number = cached_kernel(jnp.log)  # one lane, also under JAX's transformations
