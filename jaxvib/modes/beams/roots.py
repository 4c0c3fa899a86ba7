r"""Simultaneous computation of roots by the Ehrlich-Aberth method.

$$z_i \leftarrow z_i - \Big[\frac{f'(z_i)}{f(z_i)} - \sum_{j \ne i}
  \frac{1}{z_i - z_j}\Big]^{-1}.$$

Newton's method on f with all other known roots divided out: no two approximations
converge to the same simple root; double, defective and nearly coincident roots need no
special treatment. **Sources:** Ehrlich (1967), Aberth (1973).
"""

from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Complex

from ...foundation.arrays import concatenate_lanes, gather_lanes
from ...foundation.types import AnyArray
from .characteristic import Dimensionless, Probe, probe

# A step is at most half of the modulus: 60 steps cover 18 powers of ten.
_SWEEPS = 60
_PATIENCE = 3  # sweeps without a smaller step after which a multiple root is accepted
# Batch sizes of `evaluate`: for the roots of a spectrum, and for the nodes of a long
# circle. Each size is compiled once.
_WIDTHS = (32, 512)
AT_ZERO = 1e-9  # bound of power sums of roots at 0, relative to the circle's radius
_PRESENT = 1e-8  # smallest nonzero coefficient, with roots in units of the radius
_INTEGER = 1e-6  # deviation from an integer of a reliable count
_SPOILED = 1e-3  # deviation from an integer of a useless count
_GAP = 2.0  # smallest ratio of moduli of starts for a circle about 0
# Radius of the circle about 0, relative to the next root and to the dimensionless unit:
# with 12 nodes the next root contributes 0.03^12, below rounding.
SMALL_CIRCLE = 0.03


def deflated_step(
    roots: AnyArray, rates: AnyArray, known: AnyArray, others: AnyArray
) -> AnyArray:
    """Return the step of each root, with the known roots flagged by `others` divided out.

    **Arguments:** `roots` (r,); `rates` f'/f there; `known` (k,); `others` (r, k): 0
    for the row's own root, otherwise 1.
    """
    apart = roots[:, None] - known + (1.0 - others)
    # in real arithmetic: complex division is ten times as expensive
    share = others / (apart.real**2 + apart.imag**2)
    real, imaginary = (share * apart.real).sum(axis=1), (share * apart.imag).sum(axis=1)
    return 1.0 / (rates - (real - 1j * imaginary))


_probe_all = jax.jit(jax.vmap(probe, (None, 0)))


def evaluate(system: Dimensionless, values: np.ndarray) -> Probe:
    """Return the probes at many values, as NumPy arrays.

    Chunks have only two sizes, to limit compilations.
    """
    values = np.asarray(values, complex)
    width = _WIDTHS[len(values) > 4 * _WIDTHS[0]]
    parts = []
    for start in range(0, max(1, len(values)), width):
        chunk = values[start : start + width]
        padded = np.concatenate([chunk, np.full(width - len(chunk), 1j)])
        parts.append(jax.tree.map(np.asarray, _probe_all(system, padded)))
    return gather_lanes(concatenate_lanes(parts), slice(len(values)))


def polish(
    system: Dimensionless,
    starts: Complex[np.ndarray, " active"],
    passive: Complex[np.ndarray, " passive"],
) -> Complex[np.ndarray, " active"]:
    """Return the roots found simultaneously from starts in the whole plane.

    `passive` values are divided out but not moved. A root is accepted if its step is at
    rounding level, or small and no longer decreasing (a multiple root).
    """
    roots = starts.astype(complex)
    known_others = np.ones((len(roots), len(roots) + len(passive)))
    np.fill_diagonal(known_others, 0.0)
    best, stalled = np.full(len(roots), np.inf), np.zeros(len(roots), int)
    moving = np.ones(len(roots), bool)
    for _ in range(_SWEEPS):
        index = np.flatnonzero(moving)
        if not index.size:
            break
        rates = evaluate(system, roots[index]).rate
        known = np.concatenate([roots, passive])
        with np.errstate(all="ignore"):
            steps = deflated_step(roots[index], rates, known, known_others[index])
        # an infinite rate: the determinant is exactly 0
        steps = np.where(np.isfinite(steps), steps, 0.0)
        limit = 0.5 * np.abs(roots[index]) + 1e-3
        steps = steps * np.minimum(1.0, limit / np.maximum(np.abs(steps), 1e-300))
        roots[index] -= steps
        size = np.abs(steps) / np.maximum(np.abs(roots[index]), 1e-12)
        stalled[index] = np.where(size < 0.5 * best[index], 0, stalled[index] + 1)
        best[index] = np.minimum(size, best[index])
        rests = (size < 2e-15) | ((size < 1e-6) & (stalled[index] >= _PATIENCE))
        moving[index[rests]] = False
    return roots


def unsymmetric(starts: np.ndarray) -> np.ndarray:
    """Move starts off the real axis, so that conjugate pairs can form or split."""
    near_axis = np.abs(starts.imag) < 1e-2 * np.abs(starts)
    shift = 1e-5 * np.exp(2.4j * np.arange(len(starts))) * np.abs(starts)
    return np.where(near_axis, starts + shift, starts).astype(complex)


def vectors(
    system: Dimensionless, roots: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return per root its null vector, backward error, condition and singular values.

    Backward error: smallest over largest singular value of the equilibrated M.
    Condition: relative change of lambda per relative change of M.
    """
    found = evaluate(system, np.where(roots.imag < 0, roots.conj(), roots))
    left, singular, right = np.linalg.svd(found.matrix)
    null = right[:, ::-1].conj()  # smallest singular value first
    rate = np.abs(np.einsum("ri,rij,rj->r", left[:, :, -1].conj(), found.slope, null[:, 0]))
    backward = singular[:, -1] / singular[:, 0]
    with np.errstate(all="ignore"):
        condition = singular[:, 0] / (np.abs(roots) * rate)
    return null * found.columns[:, None], backward, condition, singular[:, ::-1]


def clusters(roots: np.ndarray, errors: np.ndarray) -> list[list[int]]:
    """Return groups of indices of roots that are equal within their errors."""
    apart = np.abs(roots[:, None] - roots)
    near = (apart <= 30 * np.maximum(errors[:, None], errors)).tolist()
    groups: list[list[int]] = []
    for i in np.argsort(np.abs(roots), kind="stable").tolist():
        for group in groups:
            if any(near[i][j] for j in group):
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def zeros_at_origin(system: Dimensionless, starts: np.ndarray) -> tuple[int, bool]:
    """Return the number of roots exactly at 0 (rigid motions), and its reliability.

    If M(0) is singular to rounding, the roots in a circle that separates the starts
    near 0 from the others are counted and their power sums computed. The polynomial
    with these roots has one vanishing trailing coefficient per zero root; the others
    are slow motions. Rounding errors are estimated by the count's deviation from an
    integer.
    """
    m = evaluate(system, np.zeros(1)).matrix[0]
    singular = np.linalg.svd(m, compute_uv=False)
    if singular[-1] > 1e-13 * singular[0]:
        return 0, True
    # the innermost gap between starts where rounding errors allow it: in a wide circle
    # two slow motions and a zero look like two zeros
    moduli = np.concatenate([[1e-3], np.clip(np.sort(np.abs(starts)), 1e-3, 10.0), [10.0]])
    # the upper half of 64 nodes
    unit = np.exp(1j * np.pi * (np.arange(32) + 0.5) / 32)
    least, sums = np.inf, []
    for gap in np.flatnonzero(moduli[1:] > _GAP * moduli[:-1]):
        radius = np.sqrt(moduli[gap] * moduli[gap + 1])
        turns = radius * unit * evaluate(system, radius * unit).rate
        number = round(np.mean(turns.real))
        off = np.abs(np.mean(turns.real) - number)
        if off < least:
            powers = range(1, number + 1)
            least, sums = off, [np.mean((unit**k * turns).real) for k in powers]
        if least < _INTEGER:
            break
    ending = np.abs(coefficients(sums)[::-1])
    zeros = np.argmax(np.append(ending > max(_PRESENT, 10 * least), True))
    return int(zeros), bool(least < _SPOILED)


def coefficients(sums: Sequence[float]) -> np.ndarray:
    """Return the coefficients of the monic polynomial with given power sums of roots.

    By Newton's identities, highest power first.
    """
    found = [1.0 + 0j]
    for k in range(1, len(sums) + 1):
        found.append(-sum(found[k - j] * sums[j - 1] for j in range(1, k + 1)) / k)
    return np.array(found)
