r"""Spectrum slicing for large sparse symmetric pencils $(C, M)$.

Eigenvalues around a shift $\sigma$ come from block Krylov spaces of
$(C - \sigma M)^{-1} M$, each orthogonal to the vectors found before, so that multiple
eigenvalues are complete. By Sylvester's law of inertia, the number of eigenvalues below
$\sigma$ is the number of negative pivots in $C - \sigma M = L D L^T$.
**Source:** Parlett, *The Symmetric Eigenvalue Problem*, chapters 3 and 13; Grimes,
Lewis and Simon, *SIAM J. Matrix Anal. Appl.* 15 (1994) 228.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy  # loads submodules lazily: .sparse.linalg takes 0.2 s
from jaxtyping import Array, Float
from scipy.sparse import csc_array, diags_array

from ..ensemble.blas import one_blas_thread
from ..foundation.arrays import require_concrete
from ..foundation.quantity import Range, check_range
from ..systems.base.roles import Linear
from ..systems.linear_part import linear_part
from ..systems.structures.chain import BeamChain
from .modal import natural_frequencies
from .natural import check_natural, check_not_gyroscopic

_BLOCK = 8  # vectors; higher multiplicities take another round
_LEAST_BASIS = 120  # vectors: 15 blocks before a restart from the best ones
# Safeguard against pencils that never converge: each round finds at least one
# eigenvalue or restarts with a better block.
_ROUNDS = 300
_CONVERGED = 1e-10  # relative residual of 1/(value - shift); values err by its square
_SPAN = 1e-5  # relative 1/(value - shift) below which digits are lost to the largest
_CLEAR = 50.0  # required ratio of the distance to an eigenvalue and a pivot's rounding
# Shifts tried around the first one: a pivot is bad near an eigenvalue of a leading
# minor.
_TRIES = 12


class Slice(NamedTuple):
    """Ascending eigenvalues above a floor, their vectors, and the number below it."""

    values: np.ndarray
    vectors: np.ndarray
    below: int


class _Factor(NamedTuple):
    """Factors of C - shift M and the number of eigenvalues below the shift."""

    lu: Any
    shift: float
    below: int


@one_blas_thread()  # a second thread does not pay for matrices this narrow
def lowest_from(stiffness: Any, mass: Any, floor: float, count: int) -> Slice:
    """Return the `count` lowest eigenvalues of (C, M) that are not below a floor.

    Fewer if there are no more. The mass matrix has a unit diagonal. **Raises:**
    `RuntimeError` if rounding errors make the count ambiguous.
    """
    size = mass.shape[0]
    largest = float(abs(stiffness).sum(0).max())
    step = 1e-8 * largest + 1e-7 * abs(floor)
    base = _factor(stiffness, mass, floor - step, -step, step)
    near, sought = base, count
    rng = np.random.default_rng(0)  # fixed seed: reproducible results
    values, vectors = np.zeros(0), np.zeros((size, 0))
    for _ in range(_ROUNDS):
        above = np.sort(values[values > base.shift])
        between = int(np.sum(above < floor))
        number = min(count + between, size - base.below)
        if len(above) >= number:
            missing = _missing(stiffness, mass, base, above, number)
            if not missing:
                order = np.argsort(values)
                order = order[values[order] >= floor][:count]
                return _slice(stiffness, vectors[:, order], base.below + between)
        else:
            missing = number - len(above)
        if near is base and np.sum(values < base.shift) > 2 * sought + 40:
            near = _nearer(stiffness, mass, base, sought, step)
        found, new = _leading(near, mass, vectors, missing, rng)
        values, vectors = np.append(values, found), np.hstack([vectors, new])
    raise RuntimeError(f"{len(values)} eigenvalues were found, but not the {count} wanted")


def _slice(stiffness, vectors, below: int) -> Slice:
    """Return Rayleigh-Ritz pairs: errors of values are those of vectors squared."""
    values, turn = np.linalg.eigh(vectors.T @ (stiffness @ vectors))
    return Slice(values, vectors @ turn, below)


def _missing(stiffness, mass, base: _Factor, above, wanted: int) -> int:
    """Return the number of eigenvalues missed below the last wanted one.

    Counted in the last gap below it; copies of a multiple eigenvalue are not needed.
    """
    if wanted == mass.shape[0] - base.below:
        return 0  # there are no more
    edges = np.append(base.shift, above[:wanted])
    gaps = np.diff(edges)
    clear = 1e-11 * max(float(abs(stiffness).sum(0).max()), abs(edges[-1]))
    for last in range(wanted - 1, -1, -1):
        if gaps[last] < clear:
            continue
        between = _factor(
            stiffness, mass, edges[last] + gaps[last] / 2, gaps[last] / 30, gaps[last] / 2
        )
        passed = between.below - base.below - int(np.sum(above < between.shift))
        if passed < 0:
            raise RuntimeError(f"eigenvalues near {base.shift:g} cannot be counted")
        return passed
    raise RuntimeError(f"eigenvalues near {edges[-1]:g} cannot be separated")


def _factor(stiffness, mass, shift: float, step: float, distance: float) -> _Factor:
    """Return factors at a shift, which is moved by `step` until they are stable.

    Their rounding error must be far below the `distance` to the next eigenvalue.
    """
    for number in range(_TRIES):
        # Alternating within a gap; downwards below the floor.
        here = shift + step * (number if step < 0 else (-1) ** number * ((number + 1) // 2))
        try:
            lu = scipy.sparse.linalg.splu(
                csc_array(stiffness - here * mass),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True, "Equil": False},
            )
        except RuntimeError:
            continue  # singular: the shift is an eigenvalue
        # These are the pivots of L D L^T only if rows and columns have the same order.
        if not np.array_equal(lu.perm_r, lu.perm_c):
            continue
        grown = (abs(lu.L) @ (abs(lu.U) @ np.ones(mass.shape[0]))).max()
        if _CLEAR * np.finfo(float).eps * grown < distance:
            return _Factor(lu, here, int(np.sum(lu.U.diagonal() < 0)))
    raise RuntimeError(f"C - s M has no stable factors near s = {shift:g}")


def _nearer(stiffness, mass, base: _Factor, count: int, step: float) -> _Factor:
    """Return factors at a shift among the first `count` eigenvalues above `base`."""

    def at(shift):
        return _factor(stiffness, mass, shift, 1e-6 * step, step)

    reach = step
    high = at(base.shift + reach)
    while high.below == base.below:
        reach *= 2
        high = at(base.shift + reach)
    low = base
    while high.below - base.below > count and high.shift - low.shift > 4 * step:
        middle = at((low.shift + high.shift) / 2)
        low, high = (middle, high) if middle.below == base.below else (low, middle)
    return high


def _leading(factor: _Factor, mass, known, wanted: int, rng):
    """Return new eigenvalues around a shift and vectors orthogonal to the known ones.

    At least one, and `wanted` of them above the shift if that many converge in one
    space.
    """
    size = mass.shape[0]
    free = size - known.shape[1]
    most = min(free, max(_LEAST_BASIS, 3 * wanted + 60))
    width = min(_BLOCK, free)
    basis = np.empty((size, most))
    projected = np.zeros((most, most))
    block = rng.standard_normal((size, width))
    for _ in range(_ROUNDS):
        block, _ = _orthogonal_basis(block, mass, known)
        used = 0
        while True:
            here = slice(used, used + block.shape[1])
            basis[:, here], used = block, here.stop
            image = factor.lu.solve(mass @ block)
            rest, weights = _orthogonal_basis(image, mass, known, basis[:, :used])
            projected[:used, here] = basis[:, :used].T @ (mass @ image)
            inverses, turn = np.linalg.eigh(projected[:used, :used], UPLO="U")
            order = np.argsort(-np.abs(inverses))
            inverses, turn = inverses[order], turn[:, order]
            left = np.linalg.norm(weights @ turn[here], axis=0)
            size_of = np.abs(inverses)
            fine = (left <= _CONVERGED * size_of) & (size_of > _SPAN * size_of[0])
            good = len(fine) if fine.all() else int(np.argmin(fine))
            if not rest.shape[1]:  # invariant subspace
                rest, _ = _orthogonal_basis(
                    rng.standard_normal((size, width)), mass, known, basis[:, :used]
                )
            ends = used + rest.shape[1] > most or not rest.shape[1]
            if good and (ends or np.sum(inverses[:good] > 0) >= wanted):
                found = _inverse_iteration(factor, mass, basis[:, :used] @ turn[:, :good])
                return factor.shift + 1 / inverses[:good], _orthogonal_basis(
                    found, mass, known
                )[0]
            if ends:
                break
            block = rest
        block = basis[:, :used] @ turn[:, :width]
    raise RuntimeError(f"no eigenvalue near {factor.shift:g} converges")


def _inverse_iteration(factor: _Factor, mass, vectors):
    """Return normalised vectors after a step of inverse iteration.

    It removes components of eigenvalues farther from the shift, which would grow again
    in the later searches orthogonal to these vectors.
    """
    nearer = factor.lu.solve(mass @ vectors)
    return nearer / np.sqrt(np.sum(nearer * (mass @ nearer), 0))


def _orthogonal_basis(block, mass, *others):
    """Return an M-orthonormal basis orthogonal to `others`, and coordinates."""
    longest = np.sqrt(np.max(np.sum(block * (mass @ block), 0), initial=0.0))
    for _ in range(2):
        for other in others:
            block = block - other @ (other.T @ (mass @ block))
    width = block.shape[1]
    norms = np.sqrt(np.sum(block * (mass @ block), 0))
    basis, images = np.empty_like(block), np.empty_like(block)
    weights = np.zeros((width, width))
    used = 0
    for column in range(width):
        vector = block[:, column]
        for again in range(2):
            # A small remainder may have components along the others again.
            small = again and np.linalg.norm(vector) < 0.1 * norms[column]
            for other in others if small else ():
                vector = vector - other @ (other.T @ (mass @ vector))
            share = images[:, :used].T @ vector
            vector = vector - basis[:, :used] @ share
            weights[:used, column] += share
        image = mass @ vector
        norm = np.sqrt(vector @ image)
        if norm > 1e-14 * longest:  # otherwise linearly dependent
            basis[:, used], images[:, used] = vector / norm, image / norm
            weights[used, column] = norm
            used += 1
    return basis[:, :used], weights[:used]


_DENSE = 500  # degrees of freedom up to which dense LAPACK is as fast
_SAME = 1e-12  # relative tolerance of `shift`


def lowest_frequencies(
    system: Linear, count: int, *, shift: float = 0.0
) -> Float[Array, " count"]:
    r"""Return the natural frequencies nearest above `shift` (rad/s), ascending.

    The values of `natural_frequencies` that are not below `shift`, for many thousands
    of degrees of freedom. The pivots of sparse factors of $C - \sigma M$ count the
    eigenvalues (`modes.slicing`), so that none is missed, including repeated ones.
    Rigid-body modes are 0; statically unstable modes are NaN and come first if `shift`
    is 0. The list is padded with NaN if there are fewer above `shift`. Computed on the
    host.

    **Raises:** `ValueError` for a count that is not in [1, n], a shift below 0, or matrices
    that are not symmetric; `RuntimeError` if rounding errors make the count ambiguous.

    >>> jv.modes.lowest_frequencies(tower, 1).round(4).tolist()
    [12.2474]
    """
    require_concrete("lowest_frequencies", system, count, shift)
    system = linear_part(system)
    size = len(system.freedom_names or system.matrices()[0])
    check_range("count", count, "", Range(at_least=1, at_most=size))
    if count != int(count):
        raise ValueError(f"count = {count} is not a whole number")
    check_range("shift", shift, "rad/s", Range(at_least=0.0))
    count = int(count)
    if size <= _DENSE:
        every = np.asarray(natural_frequencies(system))
        found = every[every >= shift * (1 - _SAME)] if shift > 0 else every
    else:
        found = _by_counting(system, count, float(shift))
    listed = np.full(count, np.nan)
    listed[: len(found)] = found[:count]
    return jnp.asarray(listed)


def _by_counting(system, count: int, shift: float) -> np.ndarray:
    system = system.assembled() if isinstance(system, BeamChain) else system
    sparse = system.sparse_matrices()
    if sparse is not None:
        mass, damping, stiffness = sparse
    else:
        mass, damping, stiffness = (np.asarray(matrix) for matrix in system.matrices())
        check_natural(mass, stiffness)
    check_not_gyroscopic(damping, mass)
    # Scaled to a unit mass diagonal.
    scale = diags_array(1 / np.sqrt(mass.diagonal()))
    mass, stiffness = (csc_array(scale @ csc_array(m) @ scale) for m in (mass, stiffness))
    noise = 1e-13 * abs(stiffness).sum(0).max()
    floor = (shift * (1 - _SAME)) ** 2 if shift > 0 else -noise
    found = lowest_from(stiffness, mass, floor, count)
    falling = min(found.below, count) if shift == 0 else 0
    strains = system.sparse_strains()
    still = np.abs(found.values) <= noise
    frequencies = np.sqrt(np.where(still, 0.0, found.values))
    if strains is not None:
        # Strains keep digits that the stiffness matrix loses to rounding, which matter
        # for slow modes of long assemblies.
        weights, rows = strains
        strained = rows @ (scale @ found.vectors[:, ~still])
        speeds = np.linalg.svd(np.sqrt(weights)[:, None] * strained, compute_uv=False)
        frequencies[~still] = np.sort(speeds)
    return np.append(np.full(falling, np.nan), frequencies)
