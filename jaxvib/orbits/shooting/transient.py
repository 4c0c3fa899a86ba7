"""Transients from rest, integrated until they recur."""

from typing import Any, NamedTuple

from jaxtyping import Array, Float, Int

from ...dynamics.modal import ModalForm
from ...ensemble import Reason
from ...foundation.arrays import (
    array_namespace,
    as_array,
    is_concrete,
    partition_arrays,
    to_numpy,
    while_loop,
)
from ...linalg import kernel_of
from ...systems.base.system import System
from .linear_steady_state import never_touches, stays_apart, transient_periods
from .motion_kernels import beginning, beginning_kernel, poincare_kernel, poincare_samples

# Load periods in one of a motion: three period doublings.
LONGEST_PERIOD = 8
LEAST_TRANSIENT = 512  # periods: 12 decay times at a damping ratio of 0.4 %
CONVERGED = 1e-5  # recurrence of a converged motion, relative to its size
PLAUSIBLE = 1e-2  # recurrence required to try a period


class _Transient(NamedTuple):
    """A transient: state, closest recurrences, periods and reason code."""

    state: Float[Array, " n"]
    nearest: Float[Array, " longest"]
    periods: Int[Array, ""] | int
    result: Int[Array, ""]


def run_transient(system: System, periods: Any = 0) -> tuple[Any, Any, Any]:
    """Integrate a transient from rest until it recurs within 8 periods of the load.

    A linear system with contacts is followed for 12 of its slowest decay times, at
    least 512 periods; once no gap closes any more it is in its steady state. That is
    also the answer if a motion of `periods` = 1 is sought, in which no gap closes, and
    the transient leads to none. With concrete values only kernels and NumPy are used.

    **Returns:** the last state, its recurrences, and a reason code; after the longest
    transient the recurrences show how nearly it converged.
    """
    leaves, static = partition_arrays(system)
    concrete, count = is_concrete(system), 2 * LONGEST_PERIOD
    kernels = concrete or not isinstance(system, ModalForm)
    leaves = to_numpy(leaves) if concrete else leaves

    def found(kernel, *arguments):
        return kernel.on_host(*arguments) if concrete else kernel(*arguments)

    begin = found(beginning_kernel(static), leaves) if concrete else beginning(system)
    end, most = begin.end, LEAST_TRANSIENT
    if end is not None:
        least = as_array(LEAST_TRANSIENT, float)
        most = found(kernel_of(transient_periods), end, begin.period, least)
    stage = poincare_kernel(static, count, LONGEST_PERIOD, "auto")
    xp = array_namespace(begin)

    def segment(state):
        if kernels:
            return found(stage, (leaves, state))
        return poincare_samples(system, state, count, LONGEST_PERIOD, "auto")

    def arrived(state, nearest):
        """Return the linear steady state if no gap closes any more."""
        if end is None:
            return state, nearest
        apart = found(kernel_of(stays_apart), end, state)
        return xp.where(apart, end.state, state), xp.where(apart, 0.0, nearest)

    def go_on(last: _Transient):
        unconverged = ~(xp.min(last.nearest) < CONVERGED)
        return unconverged & (last.periods < most) & (last.result == Reason.SUCCESS)

    def step(last: _Transient) -> _Transient:
        state, nearest, result = segment(last.state)
        return _Transient(*arrived(state, nearest), last.periods + count, result)

    begun = arrived(begin.rest, xp.full(LONGEST_PERIOD, xp.inf))
    last = while_loop(go_on, step, _Transient(*begun, 0, xp.asarray(0, xp.int32)))
    state, nearest, result = last.state, last.nearest, last.result
    if end is not None:
        lost = ~(nearest[0] < PLAUSIBLE) | (result != Reason.SUCCESS)
        apart = lost & (periods == 1) & found(kernel_of(never_touches), end)
        state, nearest = xp.where(apart, end.state, state), xp.where(apart, 0.0, nearest)
        result = xp.where(apart, Reason.SUCCESS, result).astype(xp.int32)
    return state, nearest, result
