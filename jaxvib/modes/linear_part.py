"""What natural modes are of: the linear part of a system, if nothing in it flutters."""

import jax
import jax.numpy as jnp

from .._environment import require_float64
from ..systems.roles import Linear
from ..systems.symmetry import check_mass, check_symmetric, lopsided
from ..systems.system import System

_ADVICE = "; it has no natural modes, but may have those of `damped_modes`"


def linear_part(system) -> Linear:
    """Return the system whose `matrices()` are a system's linear part.

    **Raises:** `ValueError` for a system that has none.
    """
    require_float64()
    linear = system.linear_part() if isinstance(system, System | Linear) else None
    if linear is None:
        raise ValueError(
            f"{type(system).__name__} has no mass, damping and stiffness matrices; "
            "allowed: an assembled system, a chain, a LinearSystem, or one with contacts"
        )
    return linear


def check_natural(mass, stiffness) -> None:
    """Raise `ValueError` unless both matrices are symmetric and the mass is positive."""
    check_mass(mass)
    check_symmetric("stiffness is not a symmetric matrix", stiffness, mass, _ADVICE)


def nan_unless_natural(mass, stiffness, values):
    """Return values, or NaN where traced matrices are not symmetric."""
    if not any(isinstance(m, jax.core.Tracer) for m in (mass, stiffness)):
        return values
    symmetric = ~(jnp.any(lopsided(mass, mass)) | jnp.any(lopsided(stiffness, mass)))
    return jax.tree.map(lambda leaf: jnp.where(symmetric, leaf, jnp.nan), values)
