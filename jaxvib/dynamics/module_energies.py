"""Energies of each module of an assembled system."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..foundation.quantity import result_field
from ..foundation.result_repr import ResultRepr
from ..systems.assembly import Assembled


class ModuleEnergies(ResultRepr):
    """Energies of each module, in the order of the system's `module_names()`."""

    kinetic: Float[Array, "*n module"] = result_field("kinetic energy of a module", "J")
    potential: Float[Array, "*n module"] = result_field("potential energy of a module", "J")
    dissipated: Float[Array, "*n module"] = result_field("power lost in a module", "W")


def module_energies(
    system: Assembled, states: Real[ArrayLike, "*n state"] | Sequence[Any]
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
