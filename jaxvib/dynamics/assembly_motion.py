"""Motion of an assembled system: displacements over time, and energies by module."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ..ensemble import Reason
from ..foundation.quantity import result_field
from ..systems.assembly import Assembled
from ..systems.impact import AppliedLoad, ImpactSystem
from .module_energies import module_energies
from .propagation import propagate


class AssemblyMotion(eqx.Module):
    """Displacements or rotations and their rates over time, and energies by module."""

    instants: Float[Array, " time"] = result_field("time", "s", ("time",))
    places: Float[Array, "time freedom"] = result_field(
        "displacement or rotation", "", ("time", "freedom")
    )
    rates: Float[Array, "time freedom"] = result_field(
        "its rate of change", "", ("time", "freedom")
    )
    kinetic: Float[Array, "time module"] = result_field(
        "kinetic energy of a module", "J", ("time", "module")
    )
    potential: Float[Array, "time module"] = result_field(
        "potential energy of a module", "J", ("time", "module")
    )
    dissipated: Float[Array, "time module"] = result_field(
        "power lost in a module", "W", ("time", "module")
    )
    rotations: Int[Array, " freedom"] = result_field(
        "1 where the degree of freedom is a rotation", "", ("freedom",)
    )
    result: Int[Array, ""] = result_field("reason code")


def assembly_motion(
    system: Assembled,
    state: Real[ArrayLike, " state"] | Sequence[Any],
    times: Real[ArrayLike, " times"] | Sequence[Any],
    *,
    loads: tuple[AppliedLoad, ...] = (),
) -> AssemblyMotion:
    r"""Return the exact motion from `state` $(q, \dot q)$ at `times` (s), under `loads`."""
    times = jnp.asarray(times, float)
    states = propagate(ImpactSystem(system, loads=loads), state, times)
    energies = module_energies(system, states)
    places, rates = jnp.split(states, 2, -1)
    finite = jnp.all(jnp.isfinite(states))
    code = jnp.where(finite, int(Reason.SUCCESS), int(Reason.BAD_PARAMETER))
    return AssemblyMotion(
        times, places, rates, energies.kinetic, energies.potential, energies.dissipated,
        jnp.asarray(system.rotations(), int), code.astype(jnp.int32),
    )  # fmt: skip
