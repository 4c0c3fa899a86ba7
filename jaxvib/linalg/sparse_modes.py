"""The lowest modes of large sparse models, by shift-and-invert Lanczos iteration."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads submodules lazily: .sparse.linalg takes 0.2 s
import threadpoolctl

_FAR = 1e-7  # first shift, of the mean of diag C / diag M: below most elastic modes


class SparseModes(NamedTuple):
    """Undamped modes of unit modal mass of a sparse system.

    **Fields:** `frequencies` (modes,), rad/s, 0 for rigid-body modes, which come first;
    `shapes` (n, modes); `next_frequency`: above these, rad/s; `solve`: from forces
    (n, k), less what moves the rigid body, to static displacements without rigid motion.
    """

    frequencies: np.ndarray
    shapes: np.ndarray
    next_frequency: float
    solve: Callable[[np.ndarray], np.ndarray]


def sparse_modes(mass: Any, stiffness: Any, modes: int) -> SparseModes:
    """Return the lowest modes, rigid-body ones included, of a sparse symmetric system.

    A mass may be singular: motions without mass follow statically. **Raises:**
    `ValueError` for negative eigenvalues, motions without mass and stiffness, or as many
    modes as degrees of freedom.

    **Source:** Ericsson and Ruhe, Mathematics of Computation 35 (1980) 1251; ARPACK.
    """
    size = mass.shape[0]
    if modes >= size - 1:
        raise ValueError(
            f"modes = {modes}; allowed: below {size - 1} of {size} sparse ones"
        )
    own = mass.diagonal()
    mean = float(np.mean(stiffness.diagonal()[own > 0] / own[own > 0]))
    shift, count = _FAR * mean, min(modes + 7, size - 1)  # up to 6 rigid-body modes and one
    for _ in range(3):
        values, shapes = _lowest(mass, stiffness, shift, count)
        rigid = _without_strain(stiffness, values, shapes)
        elastic = values[~rigid]
        # Near the lowest elastic eigenvalue Lanczos converges fast, and 0 is exact.
        if not elastic.size or elastic[0] > 0.1 * shift:
            break
        shift = max(float(abs(elastic[0])), 1e-16 * mean)
    if elastic.size and elastic[0] < 0:
        raise ValueError(
            f"stiffness has the eigenvalue {elastic[0]:g} 1/s^2 relative to the mass; "
            "allowed: none below 0, up to rounding"
        )
    frequencies = np.where(rigid, 0.0, np.sqrt(np.maximum(values, 0.0)))
    order = np.argsort(frequencies, kind="stable")
    frequencies, shapes = frequencies[order], shapes[:, order]
    free = shapes[:, frequencies == 0]
    solve = _static(mass, stiffness, free)
    kept = frequencies[:modes], shapes[:, :modes]
    return SparseModes(*kept, float(frequencies[modes]), solve)


def _lowest(mass, stiffness, shift: float, count: int):
    """Return the lowest eigenvalues and vectors of unit mass, from below by a shift."""
    inverse = _factor(stiffness + shift * mass, "natural")
    size = mass.shape[0]
    operator = scipy.sparse.linalg.LinearOperator((size, size), inverse, dtype=float)
    start = np.random.default_rng(0).normal(size=size)
    # With more threads products of a few columns take five times as long on two cores.
    with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
        values, vectors = scipy.sparse.linalg.eigsh(
            stiffness, count, mass, -shift, OPinv=operator, v0=inverse(mass @ start)
        )
    vectors = inverse(mass @ vectors)  # without what ARPACK leaves where there is no mass
    vectors = vectors / np.sqrt(np.sum(vectors * (mass @ vectors), axis=0))
    return values, vectors


def _factor(matrix, words: str) -> Callable[[np.ndarray], np.ndarray]:
    try:
        factor = scipy.sparse.linalg.splu(
            matrix.tocsc(), "MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )  # fmt: skip
    except RuntimeError:
        raise ValueError(
            f"the {words} problem is singular: a degree of freedom has neither mass nor "
            "stiffness; fix or remove it"
        ) from None
    return factor.solve


def _without_strain(stiffness, values, shapes) -> np.ndarray:
    """Return which modes are rigid-body motions, within the rounding of their strain."""
    terms = np.sum(np.abs(shapes) * (abs(stiffness) @ np.abs(shapes)), axis=0)
    noise = 8 * np.finfo(float).eps * terms
    return np.abs(values) <= np.maximum(noise, -10 * values.min(initial=0.0))


def _static(mass, stiffness, free: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the static displacements under forces, in free motions without inertia."""
    if not free.shape[1]:
        return _factor(stiffness, "static")
    carried = scipy.sparse.csc_array(mass @ free)
    bordered = scipy.sparse.block_array([[stiffness, carried], [carried.T, None]])
    factor = scipy.sparse.linalg.splu(bordered.tocsc())

    def solve(forces: np.ndarray) -> np.ndarray:
        balanced = forces - (mass @ free) @ (free.T @ forces)
        none = np.zeros((free.shape[1], forces.shape[1]))
        return factor.solve(np.concatenate([balanced, none]))[: len(forces)]

    return solve
