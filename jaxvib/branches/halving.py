r"""Period halving: a branch of 2k-periodic motions ends at a flip of k-periodic ones.

Beyond it the branch repeats the same motions, shifted by k periods. With $\varphi^{kT}$
the flow over half of the motion, $d = s - \varphi^{kT}(s)$ changes sign there.
"""

import functools

import numpy as np

from .. import linalg
from ..dynamics.flow import flow
from ..ensemble import Reason, map_samples
from ..foundation.arrays import equal_lanes
from ..kernels import Kernel
from ..kernels.calls.kernel_cache import cached_kernel
from ..systems.autonomous import state_size
from ..systems.drift import modulo_drift
from ..systems.system import System
from .bifurcation import bifurcation_point
from .bifurcation_results import BifurcationPoint
from .corrector import LaneData, system_of
from .point import at

# A branch that ends at a grazing of motions of fewer periods ends nearer to it, scaled.
_NEAR_GRAZING = 1e-2


@functools.lru_cache(maxsize=32)
def _kernel(static, path: str) -> Kernel:
    """Return the kernel from a lane (data, x) to d, scaled."""

    def halves_apart(lane):
        data, x = lane
        system = system_of(data, static)
        size = state_size(system)
        units = data.units[:size]
        there = at(system, path, x[-1] * data.units[-1])
        half = data.periods.astype(float) * there.period() / 2
        state = x[:size] * units
        image = flow(there, state, 0.0, half, rtol=data.tight)
        return (state - modulo_drift(there, image, state)) / units

    return cached_kernel(halves_apart, static, path)


def halves_apart(static: System, path: str, data: LaneData, x: np.ndarray) -> np.ndarray:
    """Return d, scaled, of motions at scaled points (points, unknowns)."""
    return map_samples(_kernel(static, path), (equal_lanes(data, len(x)), x), chunk=8)


def parent_doubling(
    static: System, path: str, data: LaneData, chord: tuple[np.ndarray, np.ndarray]
) -> BifurcationPoint | None:
    """Return the period doubling of motions of half the period, near a branch's chord.

    Both branches cross there, and a plane across the chord contains points of both: the
    point is located on the branch of half the period. None if Newton's method does not
    converge to a point near the chord.
    """
    first, last = chord
    one, other = halves_apart(static, path, data, np.array(chord))
    difference = one - other
    share = linalg.dot(one, difference) / linalg.dot(difference, difference)
    guess = first + share * (last - first)
    unscaled = guess * data.units
    system = at(system_of(data, static), path, unscaled[-1])
    size, half = len(one), int(data.periods) // 2
    kind = "period_doubling"
    found = bifurcation_point(system, unscaled[:size], kind, path, half, throw=False)
    own = [*range(size), -1]  # of one segment
    off = np.append(found.state, found.parameter) / data.units[own] - guess[own]
    near = linalg.norm(off) < linalg.norm(last - first)
    return found if int(found.result) == Reason.SUCCESS and near else None


def parent_grazing(
    static: System, path: str, data: LaneData, x: np.ndarray
) -> BifurcationPoint | None:
    """Return the grazing at which a branch ends, of as many periods or fewer, or None.

    An impact in several periods begins there: at that grazing the motion touches the stop
    several times in as many periods, and near it no step follows the branch. Nor does one
    if the contact that begins is so stiff that the branch turns within the last step.
    """
    unscaled, periods = x * data.units, int(data.periods)
    system = at(system_of(data, static), path, unscaled[-1])
    size = state_size(system)
    own = [*range(size), -1]  # of one segment
    for fewer in range(1, periods + 1):
        if periods % fewer:
            continue
        found = bifurcation_point(
            system, unscaled[:size], "grazing", path, fewer, throw=False
        )
        off = np.append(found.state, found.parameter) / data.units[own] - x[own]
        if int(found.result) == Reason.SUCCESS and linalg.norm(off) < _NEAR_GRAZING:
            return found
    return None
