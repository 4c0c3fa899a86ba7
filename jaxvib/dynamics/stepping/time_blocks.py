"""Motions sampled at any number of times, with a kernel of a fixed number."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from ...kernels import Kernel
from ..motion import Motion, Want

BLOCK = 64  # sampling intervals of one kernel call


def sampled(kernel: Kernel, state: Array, parameters: Any, want: Want) -> Motion:
    """Return states and forces at the times of `want`, all of which are concrete.

    By a kernel of (state, parameters, t0, t1, want).
    """

    def go_on(state, span):
        asked = Want(want.rtol, span)
        found = kernel.on_host(state, parameters, span[0], span[-1], asked)
        return found.states, found.forces, found.result

    found = map_time_blocks(go_on, np.asarray(state), np.asarray(want.times))
    states, forces, result = found
    return jax.device_put(Motion(states[-1], result, states=states, forces=forces))


def map_time_blocks(
    go_on: Callable, state: np.ndarray, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return states and forces at times (..., count), and the first failure's code.

    `go_on(state, span)` returns the same at the BLOCK + 1 times of a span, from a state
    (..., n) at the first of them. The last block is padded with the last time.
    """
    count = times.shape[-1]
    last = np.repeat(times[..., -1:], -(count - 1) % BLOCK, axis=-1)
    extended = np.concatenate([times, last], axis=-1)
    states, forces, result = [], [], np.zeros((), np.int32)
    for first in range(0, count - 1, BLOCK):
        seen, force, code = go_on(state, extended[..., first : first + BLOCK + 1])
        new = slice(bool(first), None)  # a block starts where the previous one ends
        states.append(seen[..., new, :])
        forces.append(force[..., new, :])
        state, result = seen[..., -1, :], np.where(result, result, code)
    return _joined(states, count), _joined(forces, count), result


def _joined(parts, count: int) -> np.ndarray:
    return np.concatenate(parts, axis=-2)[..., :count, :]
