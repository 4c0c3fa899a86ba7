"""A transient from rest, run out until it recurs."""

from typing import Any, NamedTuple

from jaxtyping import Array, Float, Int

from .._arrays import as_array, is_known, library_of, loop, on_host, parted
from ..dynamics.exponential import Decoupled
from ..ensemble import Reason
from ..linalg import kernel_of
from ..systems.system import System
from .linear_steady_state import stays_apart, transient_periods
from .motion_kernels import beginning, beginning_kernel, strobe_kernel, strobed

# Of the load's periods in one of a motion: three doublings.
LONGEST_PERIOD = 8
LEAST_TRANSIENT = 512  # periods: 12 decay times at a damping ratio of 0.4 %
SETTLED = 1e-5  # how closely a motion recurs that has settled, per size


class _Settling(NamedTuple):
    """A transient, how closely it recurs so far, its periods, and why it failed."""

    state: Float[Array, " n"]
    nearest: Float[Array, " longest"]
    periods: Int[Array, ""] | int
    result: Int[Array, ""]


def settle(system: System) -> tuple[Any, Any, Any]:
    """Run a transient from rest out until it recurs within 8 periods of the load.

    A linear system with contacts is followed for 12 of its slowest decay times, 512
    periods at least; from where no gap closes any more it is in its steady state. The
    motion of a system that is known is one of kernels and numpy.

    **Returns:** the last state, how closely it recurs, and a reason code; where the
    transient was too long the recurrences tell how near it came.
    """
    leaves, static = parted(system)
    kernels, count = not isinstance(system, Decoupled), 2 * LONGEST_PERIOD
    if kernels and is_known(system):
        begin = on_host(beginning_kernel(static)(leaves))
    else:
        begin = beginning(system)
    end, most = begin.end, LEAST_TRANSIENT
    if end is not None:
        least = as_array(LEAST_TRANSIENT, float)
        most = on_host(kernel_of(transient_periods)(end, begin.period, least))
    stage = strobe_kernel(static, count, LONGEST_PERIOD, "auto")
    xp = library_of(begin)

    def segment(state):
        if kernels:
            return on_host(stage((leaves, state)))
        return strobed(system, state, count, LONGEST_PERIOD, "auto")

    def arrived(state, nearest):
        """Return the steady state where nothing else is to come."""
        if end is None:
            return state, nearest
        apart = on_host(kernel_of(stays_apart)(end, state))
        return xp.where(apart, end.state, state), xp.where(apart, 0.0, nearest)

    def go_on(last: _Settling):
        unsettled = ~(xp.min(last.nearest) < SETTLED)
        return unsettled & (last.periods < most) & (last.result == Reason.SUCCESS)

    def step(last: _Settling) -> _Settling:
        state, nearest, result = segment(last.state)
        return _Settling(*arrived(state, nearest), last.periods + count, result)

    begun = arrived(begin.rest, xp.full(LONGEST_PERIOD, xp.inf))
    last = loop(go_on, step, _Settling(*begun, 0, xp.asarray(0, xp.int32)))
    return last.state, last.nearest, last.result
