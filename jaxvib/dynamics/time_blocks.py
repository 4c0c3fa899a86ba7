"""Motions sampled at any number of times, with a kernel of a fixed number."""

from collections.abc import Callable

import numpy as np

BLOCK = 64  # sampling intervals of one kernel call


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
