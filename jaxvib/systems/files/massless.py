"""Degrees of freedom without mass, condensed exactly."""

from typing import NamedTuple

import numpy as np
import scipy  # loads submodules lazily: .linalg takes 0.1 s

from ..symmetry import SINGULAR


class Condensed(NamedTuple):
    r"""A system without its motions of no mass, which follow the others statically.

    With $M N = 0$ and $F = N (N^T C N)^{-1} N^T$ the displacements are
    $q = T z + F f$ under forces $f$, with $T$ such that $N^T C T = 0$ and $z$ those of
    the `kept` degrees of freedom: exact, as $N$ has neither mass nor damping.

    **Fields:** `kept`: their places; `shapes` $T$ (n, kept), None if all are kept;
    `flexibility` $F$ (n, n), m/N.
    """

    kept: np.ndarray
    shapes: np.ndarray | None
    flexibility: np.ndarray | None

    def reduced(self, matrix: np.ndarray) -> np.ndarray:
        """Return a matrix in the kept degrees of freedom."""
        if self.shapes is None:
            return matrix
        found = self.shapes.T @ matrix @ self.shapes
        return (found + found.T) / 2 if np.array_equal(matrix, matrix.T) else found


def condensed(
    mass: np.ndarray, damping: np.ndarray, stiffness: np.ndarray, names: tuple[str, ...]
) -> Condensed:
    """Return the condensation of a system whose mass may be singular, but not indefinite.

    `mass`, `damping`, `stiffness`: (n, n), the first of no negative eigenvalue, see
    `check_kinetic_energy`. **Raises:** `ValueError` for a row of a mass of 0 with other
    entries, motions without mass that are damped, or ones without stiffness too, by name.
    """
    own = np.diagonal(mass)
    massless = own == 0
    if np.any(mass[massless]):
        place = int(np.argmax(massless & np.any(mass != 0, axis=1)))
        raise ValueError(
            f"mass has [{place}, {place}] = 0 beside other entries of its row; allowed: "
            "no motion of negative kinetic energy"
        )
    scale = 1 / np.sqrt(np.where(own > 0, own, 1.0))
    energies, motions = np.linalg.eigh(mass * scale * scale[:, None])
    still = energies <= SINGULAR
    if not np.any(still):
        return Condensed(np.arange(len(mass)), None, None)
    none = scale[:, None] * motions[:, still]
    held = none.T @ stiffness @ none
    units = 1 / np.sqrt(np.maximum(np.diagonal(held), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(held * units * units[:, None])
    if np.any(np.diagonal(held) <= 0) or values[0] <= SINGULAR:
        free = np.abs(none @ (units * vectors[:, 0]))
        raise ValueError(
            f"{names[int(np.argmax(free))]} can move without mass and stiffness: the "
            "condensation of freedoms without mass is singular; fix or remove it"
        )
    if np.any(np.abs(damping @ none) > 1e-12 * (np.abs(damping) @ np.abs(none))):
        raise ValueError(
            "damping acts on motions without mass; allowed: none, or a small mass there"
        )
    flexibility = none @ _inverse(held) @ none.T
    shapes = -flexibility @ stiffness
    shapes[np.diag_indices_from(shapes)] += 1.0  # onto motions that strain none of N
    kept = np.flatnonzero(~massless)
    if len(kept) + np.sum(still) > len(mass):  # motions without mass of several freedoms
        count = len(mass) - int(np.sum(still))
        kept = np.sort(scipy.linalg.qr(shapes.T, mode="r", pivoting=True)[1][:count])
    shapes = np.linalg.solve(shapes[np.ix_(kept, kept)].T, shapes[:, kept].T).T
    return Condensed(kept, shapes, (flexibility + flexibility.T) / 2)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    return scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix), np.eye(len(matrix)))
