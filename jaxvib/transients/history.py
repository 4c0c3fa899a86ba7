"""Displacements from rest, and states of elements, at given times."""

import equinox as eqx
from jaxtyping import Array, Float

from ..dynamics import simulate
from ..foundation.quantity import result_field
from ..systems.system import System
from .limits import freedoms_of


class History(eqx.Module):
    """Displacements from rest, and states of elements, at given times."""

    instants: Float[Array, " time"] = result_field("times", "s", ("time",))
    displacements: Float[Array, "time freedom"] = result_field(
        "displacements from rest", "m", ("time", "freedom")
    )
    further_states: Float[Array, "time further"] = result_field(
        "states of elements", "", ("time", "further")
    )


def history(system: System, times: Float[Array, " time"], rtol: float) -> History:
    """Return the motion of a system from rest at some times (s), NaN where it fails."""
    start, count = system.rest(), freedoms_of(system)
    change = simulate(system, start, times, rtol, throw=False).states - start[None]
    # states of elements are behind the velocities, and 0 at rest
    return History(times, change[:, :count], change[:, 2 * count :])
