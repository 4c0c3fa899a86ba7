r"""All roots of the characteristic function at once, by Ehrlich's and Aberth's method.

$$z_i \leftarrow z_i - \Big[\frac{f'(z_i)}{f(z_i)} - \sum_{j \ne i}
  \frac{1}{z_i - z_j}\Big]^{-1}.$$

Newton's method on f divided by all other known roots: no two approximations meet in one
simple root, and double, defective and nearly coincident ones fall out without further
care. **Sources:** Ehrlich (1967), Aberth (1973).
"""

import jax
import numpy as np
from jaxtyping import Complex

from .characteristic import Dimensionless, Probe, probe

# A step is half of the modulus at most: as many lead over 18 powers of ten.
_SWEEPS = 60
_PATIENCE = 3  # sweeps without a smaller step after which a multiple root rests
# Probes of one call: for the roots of a spectrum, and for the nodes of a long circle. Each
# width is a compilation.
_WIDTHS = (32, 512)
AT_ZERO = 1e-9  # sums of roots and of their squares, over the circle's radius
_PRESENT = 1e-8  # a coefficient, the roots in units of the circle's radius
_INTEGER = 1e-6  # a count this near to an integer is not spoiled by rounding
_SPOILED = 1e-3  # a count this far from one tells nothing
_GAP = 2.0  # between moduli of starts that a circle about 0 passes through
# About 0, in units of the next root and of the beam's own unit: of 12 nodes, 0.03^12 of the
# next root's share is left, and that is below rounding.
SMALL_CIRCLE = 0.03


def deflated_step(roots, rates, known, others):
    """Return the step of each root, with the known roots flagged by `others` divided out.

    **Arguments:** `roots` (r,); `rates` f'/f there; `known` (k,); `others` (r, k): 1
    where a known root is another one than the row's own, 0 where it is not.
    """
    apart = roots[:, None] - known + (1.0 - others)
    # in real numbers: a complex division costs ten times as much
    share = others / (apart.real**2 + apart.imag**2)
    real, imaginary = (share * apart.real).sum(axis=1), (share * apart.imag).sum(axis=1)
    return 1.0 / (rates - (real - 1j * imaginary))


_probe_all = jax.jit(jax.vmap(probe, (None, 0)))


def evaluate(system: Dimensionless, values) -> Probe:
    """Return the probes at many values, as numpy arrays.

    Values go in chunks of two widths only, so that little is ever compiled.
    """
    values = np.asarray(values, complex)
    width = _WIDTHS[len(values) > 4 * _WIDTHS[0]]
    parts = []
    for start in range(0, max(1, len(values)), width):
        chunk = values[start : start + width]
        padded = np.concatenate([chunk, np.full(width - len(chunk), 1j)])
        result = _probe_all(system, padded)
        parts.append(jax.tree.map(np.asarray, result))
    return jax.tree.map(lambda *x: np.concatenate(x)[: len(values)], *parts)


def polish(
    system: Dimensionless,
    starts: Complex[np.ndarray, " active"],
    passive: Complex[np.ndarray, " passive"],
) -> Complex[np.ndarray, " active"]:
    """Return the roots that starts over the whole plane lead to, all at once.

    `passive` values are divided out but not moved. A root rests when its step is down
    to rounding, or small and no longer shrinking (a multiple one).
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
        # an infinite rate: the determinant is exactly 0 here
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


def unsymmetric(starts):
    """Move starts near the real axis off it, so that pairs can form and part."""
    near_axis = np.abs(starts.imag) < 1e-2 * np.abs(starts)
    shift = 1e-5 * np.exp(2.4j * np.arange(len(starts))) * np.abs(starts)
    return np.where(near_axis, starts + shift, starts).astype(complex)


def vectors(system: Dimensionless, roots):
    """Return per root its null vector, backward error, condition and singular values.

    Backward error: smallest singular value of the equilibrated M by its largest one.
    Condition: relative change of lambda by relative change of M.
    """
    found = evaluate(system, np.where(roots.imag < 0, roots.conj(), roots))
    left, singular, right = np.linalg.svd(found.matrix)
    null = right[:, ::-1].conj()  # smallest singular value first
    rate = np.abs(np.einsum("ri,rij,rj->r", left[:, :, -1].conj(), found.slope, null[:, 0]))
    backward = singular[:, -1] / singular[:, 0]
    with np.errstate(all="ignore"):
        condition = singular[:, 0] / (np.abs(roots) * rate)
    return null * found.columns[:, None], backward, condition, singular[:, ::-1]


def clusters(roots, errors):
    """Return lists of positions of roots that their errors cannot tell apart."""
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


def zeros_at_origin(system: Dimensionless, starts) -> tuple[int, bool]:
    """Return how many roots are exactly 0 (rigid motions mostly), and if that is sure.

    If M(0) is singular to rounding, the roots in a circle that parts the starting values
    near 0 from the others are counted and their power sums taken. The
    polynomial with these roots has as many vanishing coefficients at its end as there
    are zeros among them; the others move slowly. Rounding is judged by how far the
    count is from an integer.
    """
    m = evaluate(system, np.zeros(1)).matrix[0]
    singular = np.linalg.svd(m, compute_uv=False)
    if singular[-1] > 1e-13 * singular[0]:
        return 0, True
    # the innermost gap between starts, where f is not all rounding: in a wide circle
    # two slow motions and a zero look like two zeros
    moduli = np.concatenate([[1e-3], np.clip(np.sort(np.abs(starts)), 1e-3, 10.0), [10.0]])
    # of 64 nodes, half of which mirror the others
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


def coefficients(sums):
    """Return 1 and the other coefficients of the polynomial with some power sums.

    Newton's identities, highest power first.
    """
    found = [1.0 + 0j]
    for k in range(1, len(sums) + 1):
        found.append(-sum(found[k - j] * sums[j - 1] for j in range(1, k + 1)) / k)
    return np.array(found)
