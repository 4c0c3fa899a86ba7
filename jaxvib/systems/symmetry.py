r"""Checks that a matrix is symmetric, and that a mass matrix is positive definite.

Tested in mass-normalised coordinates, $m_{ij} / \sqrt{m_{ii} m_{jj}}$, so that neither
the units nor the kinds of the degrees of freedom matter.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..foundation.arrays import is_concrete
from ..foundation.types import AnyArray

# Asymmetry that sums of some thousand terms may leave by rounding.
_ROUNDING = 1e-12
SINGULAR = 1e-13  # smallest eigenvalue of a mass matrix scaled to a unit diagonal


def asymmetry(matrix: AnyArray, mass: AnyArray) -> Any:
    """Return where a matrix is asymmetric by more than rounding, (n, n).

    Rounding errors of the pair itself and of symmetric eigenvalues are tolerated.
    """
    traced = not is_concrete(matrix, mass)
    xp = jnp if traced else np
    matrix = xp.asarray(matrix)
    masses: Any = xp.diagonal(xp.asarray(mass))
    units = xp.sqrt(xp.where(masses > 0, masses, 1.0))
    scaled = matrix / units[:, None] / units[None, :]
    size = xp.abs(scaled)
    own = xp.sqrt(xp.diagonal(size))
    pair = xp.maximum(xp.maximum(size, size.T), own[:, None] * own[None, :])
    noise = 4 * xp.finfo(scaled.dtype).eps * len(masses) * xp.max(size, initial=0.0)
    return ~(xp.abs(scaled - scaled.T) <= _ROUNDING * pair + noise)


def check_symmetric(name: str, matrix: AnyArray, mass: AnyArray, advice: str = "") -> None:
    """Raise `ValueError` with the first asymmetric pair of entries, and advice."""
    if not is_concrete(matrix, mass):
        return  # no concrete values under jit or vmap
    places = np.argwhere(asymmetry(matrix, mass))
    if len(places):
        i, j = places[0]
        pair = f"[{i}, {j}] = {matrix[i, j]:g} and [{j}, {i}] = {matrix[j, i]:g}"
        raise ValueError(f"{name}: {pair}{advice}")


def check_mass(mass: AnyArray) -> None:
    """Raise `ValueError` unless a mass matrix is symmetric and positive definite."""
    if isinstance(mass, jax.core.Tracer):
        return
    mass = np.asarray(mass)
    bad = "mass is not a symmetric positive definite matrix"
    masses = np.diagonal(mass)
    if not np.all(masses > 0):
        place = int(np.argmin(masses > 0))
        raise ValueError(f"{bad}: [{place}, {place}] = {masses[place]:g}")
    check_symmetric(bad, mass, mass)
    scale = 1 / np.sqrt(masses)
    if np.linalg.eigvalsh(mass * scale * scale[:, None])[0] <= SINGULAR:
        raise ValueError(f"{bad}: it is singular")


def lacks_mass(masses: np.ndarray) -> np.ndarray:
    """Return which matrices (samples, n, n) are not positive definite or symmetric.

    To rounding as in `check_mass`; equal matrices are not tested again.
    """
    if (masses == masses[:1]).all():
        return np.zeros(len(masses), bool)
    diagonal = np.diagonal(masses, axis1=1, axis2=2)
    wrong = ~(diagonal > 0).all(axis=1)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = masses * scale[:, :, None] * scale[:, None, :]
    skew = np.abs(scaled - np.swapaxes(scaled, 1, 2)).max(axis=(1, 2))
    return wrong | (skew > _ROUNDING) | (np.linalg.eigvalsh(scaled)[:, 0] <= SINGULAR)


def check_kinetic_energy(mass: AnyArray) -> None:
    """Raise `ValueError` if a motion of bodies has a negative kinetic energy."""
    if isinstance(mass, jax.core.Tracer):
        return
    mass = np.asarray(mass)
    masses = np.diagonal(mass)
    if np.any(masses < 0):
        place = int(np.argmax(masses < 0))
        raise ValueError(f"mass.{place}.{place} = {masses[place]:g} kg is not in [0, inf)")
    scale = 1 / np.sqrt(np.where(masses > 0, masses, 1.0))
    scaled = mass * scale * scale[:, None]
    energies = np.linalg.eigvalsh((scaled + scaled.T) / 2)
    if np.any(energies < -_ROUNDING * np.max(np.abs(energies), initial=0.0)):
        raise ValueError(
            "mass has a negative eigenvalue; allowed: no motion of negative kinetic energy"
        )
