"""Transients from rest, integrated until they recur."""

from typing import Any, NamedTuple

from jaxtyping import Array, Float, Int

from ..dynamics.modal import ModalForm
from ..ensemble import Reason
from ..foundation.arrays import (
    array_namespace,
    as_array,
    is_concrete,
    partition_arrays,
    to_numpy,
    while_loop,
)
from ..linalg import kernel_of
from ..systems.system import System
from .linear_steady_state import stays_apart, transient_periods
from .motion_kernels import beginning, beginning_kernel, poincare_kernel, poincare_samples

# Load periods in one of a motion: three period doublings.
LONGEST_PERIOD = 8
LEAST_TRANSIENT = 512  # periods: 12 decay times at a damping ratio of 0.4 %
SETTLED = 1e-5  # recurrence of a converged motion, relative to its size


class _Settling(NamedTuple):
    """A transient: state, closest recurrences, periods and reason code."""

    state: Float[Array, " n"]
    nearest: Float[Array, " longest"]
    periods: Int[Array, ""] | int
    result: Int[Array, ""]


def run_transient(system: System) -> tuple[Any, Any, Any]:
    """Integrate a transient from rest until it recurs within 8 periods of the load.

    A linear system with contacts is followed for 12 of its slowest decay times, at
    least 512 periods; once no gap closes any more it is in its steady state. With
    concrete values only kernels and NumPy are used.

    **Returns:** the last state, its recurrences, and a reason code; after the longest
    transient the recurrences show how nearly it converged.
    """
    leaves, static = partition_arrays(system)
    kernels, count = not isinstance(system, ModalForm), 2 * LONGEST_PERIOD
    if kernels and is_concrete(system):
        begin = to_numpy(beginning_kernel(static)(leaves))
    else:
        begin = beginning(system)
    end, most = begin.end, LEAST_TRANSIENT
    if end is not None:
        least = as_array(LEAST_TRANSIENT, float)
        most = to_numpy(kernel_of(transient_periods)(end, begin.period, least))
    stage = poincare_kernel(static, count, LONGEST_PERIOD, "auto")
    xp = array_namespace(begin)

    def segment(state):
        if kernels:
            return to_numpy(stage((leaves, state)))
        return poincare_samples(system, state, count, LONGEST_PERIOD, "auto")

    def arrived(state, nearest):
        """Return the linear steady state if no gap closes any more."""
        if end is None:
            return state, nearest
        apart = to_numpy(kernel_of(stays_apart)(end, state))
        return xp.where(apart, end.state, state), xp.where(apart, 0.0, nearest)

    def go_on(last: _Settling):
        unsettled = ~(xp.min(last.nearest) < SETTLED)
        return unsettled & (last.periods < most) & (last.result == Reason.SUCCESS)

    def step(last: _Settling) -> _Settling:
        state, nearest, result = segment(last.state)
        return _Settling(*arrived(state, nearest), last.periods + count, result)

    begun = arrived(begin.rest, xp.full(LONGEST_PERIOD, xp.inf))
    last = while_loop(go_on, step, _Settling(*begun, 0, xp.asarray(0, xp.int32)))
    return last.state, last.nearest, last.result
