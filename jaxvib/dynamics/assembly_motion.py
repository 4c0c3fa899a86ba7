"""Motion of an assembled system: displacements over time, and energies by module."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ..drawing import Plottable
from ..drawing.plottable import ResultRepr
from ..ensemble import Reason
from ..foundation.quantity import result_field
from ..systems.assembly import Assembled
from ..systems.impact import AppliedLoad, ImpactSystem
from .propagation import propagate


class AssemblyMotion(Plottable):
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


class ModuleEnergies(ResultRepr):
    """Energies of each module, in the order of the system's `module_names()`."""

    kinetic: Float[Array, "*n module"] = result_field("kinetic energy of a module", "J")
    potential: Float[Array, "*n module"] = result_field("potential energy of a module", "J")
    dissipated: Float[Array, "*n module"] = result_field("power lost in a module", "W")


def module_energies(
    system: Assembled, states: Real[ArrayLike, "*n state"] | Sequence
) -> ModuleEnergies:
    r"""Return the energies of each module at states $(q, \dot q)$; leading axes are kept.

    $$T = \tfrac12 \dot q^T m \dot q, \qquad V = \tfrac12 q^T c q, \qquad
      P = \dot q^T d \dot q$$

    with each module's own matrices. Along a free motion the sum of $T + V$ over the
    modules decreases at the rate of the sum of $P$. **Raises:** `ValueError` for states
    whose length is not 2n.

    >>> energies = jv.dynamics.module_energies(tower, [0.01, 0.02, 0.0, 0.0])
    >>> energies.potential.round(6).tolist()
    [0.03, 0.015]
    """
    states = jnp.asarray(states, float)
    size = len(system.names)
    if states.shape[-1:] != (2 * size,):
        raise ValueError(f"states have shape {states.shape}; allowed: (..., {2 * size})")
    position, velocity = jnp.split(states, 2, -1)
    return ModuleEnergies(
        _per_module(system, "kinetic", velocity) / 2,
        _per_module(system, "potential", position) / 2,
        _per_module(system, "dissipation", velocity),
    )


def _per_module(system, part, vector):
    weights, rows, owners = system.square_rows(part)
    found = jnp.zeros((*vector.shape[:-1], len(system.modules)))
    if not len(owners):
        return found
    squares = jnp.einsum("...n,sn->...s", vector, rows) ** 2
    shaped = weights.reshape((1,) * (vector.ndim - 1) + weights.shape)
    return found.at[..., owners].add(shaped * squares)
