r"""Confidence intervals from several records, some of unknown deviation.

Linearised at the best parameters, a record of n numbers with slopes $J_r$ and the sum of
squares $S_r$ about its own best fit tells $\sigma_r^2 = S_r / \chi^2_\nu$, with the
degrees of freedom $\nu = n - \mathrm{rank} J_r$. Given all deviations, the parameters are
those of weighted least squares; over the deviations they are a mixture of normals
(generalised inference). With few data such a mixture is too sure of the record that
happens to scatter least: its quantiles are taken at the level that holds the truth in
95 % of records simulated with deviations of these distributions, halfway between them
and those with which all records tell as much, where it is least sure.

**Source:** Krishnamoorthy and Lu, *Biometrics* 59 (2003) 237; Beran, *Journal of the
American Statistical Association* 83 (1988) 687 (prepivoting).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy  # loads submodules lazily

_LEVEL = 0.05  # share of records whose interval does not hold the truth
_DRAWS = 128  # deviations drawn of a mixture of normals
_SIMULATED = 11  # power of two of sets of records: 2048 hold 5 % to 0.2 % (see below)
_AT_ONCE = 128  # sets: their arrays stay in the cache
_HALVINGS = 60  # of the brackets of quantiles
_WIDE = 40.0  # deviations of a normal beyond which nothing is
_INDEPENDENT = 1e-10  # relative singular value of slopes
_TINY = 1e-24  # of the squares of data: a record that is fitted exactly


class Piece(NamedTuple):
    """A record at the best fit: slopes (n, p), residuals (n,), known deviations or None."""

    slopes: np.ndarray
    residuals: np.ndarray
    deviations: np.ndarray | None
    scale: float


def joint_intervals(pieces: Sequence[Piece], best: np.ndarray) -> np.ndarray:
    """Return 95 % intervals of the parameters, (p, 2); NaN where data are too few."""
    records = [own for piece in pieces if (own := _own(piece)) is not None]
    parameters = len(best)
    every = sum((record.normal for record in records), np.zeros((parameters,) * 2))
    if np.linalg.matrix_rank(every, _INDEPENDENT * np.max(np.abs(every))) < parameters:
        return np.full((parameters, 2), np.nan)
    random = np.random.default_rng(0)
    ranks = (np.arange(_DRAWS) + 0.5) / _DRAWS
    chi_squares = np.stack(
        [
            scipy.stats.chi2.ppf(random.permutation(ranks), record.freedom)
            if record.freedom
            else np.ones(_DRAWS)
            for record in records
        ]
    )[:, None]
    squares = np.array([record.squares for record in records])
    pulls = np.stack([record.pull for record in records])
    normals = np.stack([record.normal for record in records])
    weights = chi_squares / squares[:, None, None]
    means, spreads = _mixture(weights, normals, pulls[:, None])
    # Points that fill the cube evenly: as many at random would hold 5 % to 0.5 %.
    size = 1 + len(records) * (1 + parameters)
    points = scipy.stats.qmc.Sobol(size, rng=random).random_base2(_SIMULATED)
    which, chi_square, noise = np.split(points, [1, 1 + len(records)], axis=1)
    simulated = _simulated_weights(which[:, 0], weights[:, 0], normals)
    truth = _simulated(chi_square, noise, simulated, chi_squares, records)
    levels = np.quantile(truth, _LEVEL, axis=1)
    ends = [_quantiles(means[:, 0], spreads[:, 0], p) for p in (levels / 2, 1 - levels / 2)]
    return best[:, None] + np.stack(ends, axis=1)


class _Own(NamedTuple):
    """A record: J^T J, its root, J^T r, the squares left by its own fit, and freedom.

    With known deviations, both sides are weighted by these, and `freedom` is 0.
    """

    normal: np.ndarray
    root: np.ndarray
    pull: np.ndarray
    squares: float
    freedom: int


def _own(piece: Piece) -> _Own | None:
    """Return a record's own fit; None if it tells nothing of its unknown deviation."""
    slopes, residuals = piece.slopes, piece.residuals
    if piece.deviations is not None:
        slopes = slopes / piece.deviations[:, None]
        residuals = residuals / piece.deviations
    left, sizes, _ = np.linalg.svd(slopes, full_matrices=False)
    left = left[:, sizes > _INDEPENDENT * np.max(sizes)]
    freedom = len(residuals) - left.shape[1]
    if piece.deviations is None and not freedom:
        return None
    rest = residuals - left @ (left.T @ residuals)
    squares = max(float(rest @ rest), _TINY * piece.scale**2)
    known = piece.deviations is not None
    root = np.asarray(np.linalg.qr(slopes, "r"))
    if known:
        squares, freedom = 1.0, 0
    return _Own(slopes.T @ slopes, root, -slopes.T @ residuals, squares, freedom)


def _mixture(weights, normals, pulls):
    """Return means and deviations of the parameters, (p, sets, draws).

    `weights`: (records, sets, draws); `pulls`: (records, sets, p).
    """
    inverse = _inverse(np.einsum("r...,rij->ij...", weights, normals))
    pull = np.einsum("rsk,rsi->isk", weights, pulls)
    means = np.einsum("ijsk,jsk->isk", inverse, pull)
    return means, np.sqrt(np.einsum("iisk->isk", inverse))


def _inverse(matrices):
    """Return the inverses of positive definite matrices, (p, p, ...).

    By elimination without pivots, of all matrices at once: LAPACK takes one by one, in
    five times as long for two parameters.
    """
    found = np.array(matrices)
    for k in range(len(found)):
        column, row = found[:, k].copy(), found[k] / found[k, k]
        row[k] = 1 / found[k, k]
        found[:, k] = 0.0
        found -= column[:, None] * row
        found[k] = row
    return found


def _simulated_weights(which, weights, normals):
    """Return weights 1/sigma^2 of simulated records, (records, sets)."""
    drawn = weights[:, (which * weights.shape[1]).astype(int)]
    inverse = _inverse(np.einsum("rs,rij->ijs", drawn, normals))
    told = np.log(np.maximum(np.einsum("ijs,rji->rs", inverse, normals) * drawn, 1e-300))
    unknown = np.ptp(weights, axis=1, keepdims=True) > 0
    mean = np.mean(told, axis=0)
    return drawn * np.exp(np.where(unknown, (mean - told) / 2, 0.0))


def _simulated(chi_square, noise, weights, chi_squares, records):
    """Return two-sided probabilities of the truth, (parameters, sets)."""
    pulls, squares = [], []
    noise = scipy.special.ndtri(noise).reshape(len(noise), len(records), -1)
    for j, (record, weight) in enumerate(zip(records, weights, strict=True)):
        own = noise[:, j, : len(record.root)]
        pulls.append(own @ record.root / np.sqrt(weight)[:, None])
        size = scipy.stats.chi2.ppf(chi_square[:, j], record.freedom or 1) / weight
        squares.append(size if record.freedom else np.ones(len(weight)))
    pulls, squares = np.stack(pulls), np.stack(squares)[:, :, None]
    normals = np.stack([record.normal for record in records])
    below = []
    for start in range(0, len(noise), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        given = chi_squares / squares[:, some]
        means, spreads = _mixture(given, normals, pulls[:, some])
        below.append(np.mean(scipy.special.ndtr(-means / spreads), axis=2))
    below = np.concatenate(below, axis=1)
    return 2 * np.minimum(below, 1 - below)


def _quantiles(means, spreads, probability):
    """Return quantiles of mixtures of normals, one for each parameter."""
    low = np.min(means - _WIDE * spreads, axis=1)
    high = np.max(means + _WIDE * spreads, axis=1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        parts = scipy.special.ndtr((middle[:, None] - means) / spreads)
        below = np.mean(parts, axis=1)
        low = np.where(below < probability, middle, low)
        high = np.where(below < probability, high, middle)
    return (low + high) / 2
