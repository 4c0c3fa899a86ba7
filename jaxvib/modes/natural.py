"""Checks that a linear system has natural modes: symmetric and not gyroscopic."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree
from scipy.sparse import issparse

from ..foundation.arrays import is_concrete
from ..foundation.types import AnyArray
from ..systems.symmetry import asymmetry, check_mass, check_symmetric

_ROUNDING = 1e-12  # relative, for sums of many terms
_ADVICE = "; it has no natural modes, but may have those of `damped_modes`"


def check_natural(mass: AnyArray, stiffness: AnyArray) -> None:
    """Raise `ValueError` unless both matrices are symmetric and the mass is positive."""
    check_mass(mass)
    check_symmetric("stiffness is not a symmetric matrix", stiffness, mass, _ADVICE)


def check_not_gyroscopic(damping: Any, mass: Any) -> None:
    """Raise `ValueError` for a skew-symmetric damping part, e.g. of a spinning rotor.

    Frequencies of M and C alone would be those of the rotor at rest.
    """
    what = "damping has a gyroscopic part"
    if issparse(damping):
        skew = abs(damping - damping.T)
        if skew.nnz and skew.max() > _ROUNDING * abs(damping).max():
            raise ValueError(f"{what}, up to {skew.max() / 2:g}{_ADVICE}")
    else:
        check_symmetric(what, damping, mass, _ADVICE)


def nan_unless_natural(
    mass: AnyArray, damping: AnyArray, stiffness: AnyArray, values: PyTree
) -> PyTree:
    """Return values, replaced by NaN if traced matrices are not symmetric."""
    matrices = mass, damping, stiffness
    if is_concrete(matrices):
        return values
    symmetric = ~jnp.any(jnp.stack([jnp.any(asymmetry(m, mass)) for m in matrices]))
    return jax.tree.map(lambda leaf: jnp.where(symmetric, leaf, jnp.nan), values)
