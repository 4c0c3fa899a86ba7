"""Floquet multipliers of a periodic motion, their errors and what they decide."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float, Int

from .._arrays import HOST, frozen, library_of, per_lane

STABLE, UNSTABLE, UNDECIDED = 1, 0, -1  # verdicts as numbers, as studies store them
VERDICTS = {STABLE: "stable", UNSTABLE: "unstable", UNDECIDED: "undecided"}
# Of a revolution of some hundred steps, in units of a double's: of 300 orbits one is off
# by more than 64.
ROUNDING = 64 * float(jnp.finfo(float).eps)
# Sweeps that balance: of 200 random matrices whose units differ by up to 1e8, rows and
# columns then differ by 12 % at most.
_SWEEPS = 8


def floquet_multipliers(monodromy: Float[Any, "*lanes n n"]) -> Complex[Any, "*lanes n"]:
    """Return the eigenvalues of a monodromy matrix, or of each of many, largest first.

    Of a conjugate pair the one with positive imaginary part comes first. NaN where
    the matrix is not finite. First derivatives only: a second one is a `TypeError`.
    """
    xp = library_of(monodromy)
    values = eigenvalues(monodromy)
    order = xp.lexsort((-values.imag, -xp.abs(values)))
    return xp.take_along_axis(values, frozen(order), axis=-1)


def eigenvalues(matrix: Float[Any, "*lanes n n"]) -> Complex[Any, "*lanes n"]:
    """Return the eigenvalues of each matrix in no order, NaN where it is not finite.

    First derivatives only: a second one is a `TypeError`.
    """
    xp = library_of(matrix)
    finite = xp.all(xp.isfinite(matrix), axis=(-2, -1))
    # LAPACK never returns from some matrices of NaN.
    safe = xp.where(per_lane(finite, matrix), matrix, xp.eye(matrix.shape[-1]))
    values = xp.linalg.eigvals(safe) if xp is HOST else _eigenvalues(safe)
    return xp.where(per_lane(finite, values), values, xp.nan)


def modulus(multipliers):
    """Return the modulus of the largest multiplier."""
    # |mu| has no derivative where mu = 0, as after a hard contact.
    xp = library_of(multipliers)
    largest = multipliers[..., 0]
    squared = largest.real**2 + largest.imag**2
    modulus = xp.sqrt(xp.where(squared > 0, squared, 1.0))
    return xp.where(squared > 0, modulus, 0.0)


@jax.custom_jvp
def _eigenvalues(matrix):
    return jnp.linalg.eigvals(matrix)


@_eigenvalues.defjvp
def _eigenvalues_rule(primals, tangents):
    (matrix,), (change,) = primals, tangents
    values, vectors = _eigen(matrix)
    moved = jnp.linalg.solve(vectors, change.astype(vectors.dtype) @ vectors)
    return values, jnp.diagonal(moved)


@jax.custom_jvp
def _eigen(matrix):
    return tuple(jnp.linalg.eig(matrix))


@_eigen.defjvp
def _eigen_rule(primals, tangents):
    raise TypeError(
        "second derivatives of a periodic orbit: take differences of first ones, which "
        "jax.jacfwd, jax.jacrev and jax.grad give"
    )


def multiplier_error(
    monodromy: Float[Any, "*lanes n n"], change: Float[Any, "*lanes n n"], noise=0.0
) -> Float[Any, "*lanes"]:
    r"""Return how far any multiplier moves if M changes by $\delta M$, and by rounding.

    `noise`: what else M may be wrong by, relative to its norm.

    With the eigenvectors of the balanced M in X, $E = X^{-1} \delta M X$, the gap
    $g_{ij} = |\mu_i - \mu_j|$ and $p_{ij} = |E_{ij} E_{ji}|$,

    $$|\delta\mu_i| \le |E_{ii}| + \sum_{j \ne i} \begin{cases}
      2 p_{ij} / (g_{ij} + \sqrt{g_{ij}^2 - 4 p_{ij}}) & 4 p_{ij} < g_{ij}^2 \\
      \sqrt{p_{ij}} & \text{else} \end{cases}
      + 64 \epsilon \lVert M \rVert \kappa_i,$$

    what each pair of multipliers moves as if it were alone, and what rounding moves one
    of condition $\kappa_i$. As $\delta M$ is a sample of what M may be wrong by, whose
    $E_{ii}$ may happen to be small, the largest $\sqrt{p_{ij}}$ is added to the largest
    of these. A motion that touches at t = 0 has a monodromy matrix of condition 1e10, and
    a bound by norms alone would be larger than the truth by as much.
    **Source:** Golub and Van Loan, *Matrix Computations*, section 7.2.
    """
    xp = library_of(monodromy, change, noise)
    finite = xp.all(xp.isfinite(monodromy) & xp.isfinite(change), axis=(-2, -1))
    identity = xp.eye(monodromy.shape[-1])
    safe = xp.where(per_lane(finite, monodromy), monodromy, identity)
    weights = balance(safe)
    ratio = weights[..., None, :] / weights[..., :, None]
    safe, change = safe * ratio, change * ratio
    values, right = xp.linalg.eig(safe)
    left = xp.linalg.inv(right)
    moved = xp.abs(left @ change.astype(right.dtype) @ right)
    gaps = xp.abs(values[..., :, None] - values[..., None, :])
    products = xp.where(identity > 0, 0.0, moved * xp.swapaxes(moved, -1, -2))
    apart = xp.sqrt(xp.maximum(gaps**2 - 4 * products, 0.0))
    alone = 2 * products / xp.where(gaps > 0, gaps + apart, 1.0)
    pairs = xp.where(4 * products < gaps**2, alone, xp.sqrt(products))
    condition = xp.linalg.norm(right, axis=-2) * xp.linalg.norm(left, axis=-1)
    every = safe.reshape(*safe.shape[:-2], -1)
    relative = (ROUNDING + noise) * xp.sqrt(xp.vecdot(every, every))
    own = xp.diagonal(moved, axis1=-2, axis2=-1)
    total = own + xp.sum(pairs, axis=-1) + relative[..., None] * condition
    sample = xp.sqrt(xp.max(products, axis=(-2, -1)))
    return xp.where(finite, xp.max(total, axis=-1) + sample, xp.nan)


def state_rounding(monodromy, units) -> Float[Any, "*lanes n"]:
    r"""Return how far rounding moves each component of a periodic motion's state.

    $|(I - M)^{-1}|\,\rho$ with what one revolution is rounded by,
    $\rho = 64 \epsilon (1 + |M|) u$, u the `units` of the motion.
    """
    xp = library_of(monodromy, units)
    size = (xp.abs(monodromy) @ units[..., None])[..., 0] + units
    away = xp.abs(xp.linalg.inv(xp.eye(units.shape[-1]) - monodromy))
    return (away @ (ROUNDING * size)[..., None])[..., 0]


def balance(matrix: Float[Any, "*lanes n n"]) -> Float[Any, "*lanes n"]:
    """Return weights w for which rows and columns of w_j M_ij / w_i are as large.

    **Source:** Parlett and Reinsch, *Balancing a matrix* (1969).
    """
    xp = library_of(matrix)
    apart = xp.abs(matrix) * (1 - xp.eye(matrix.shape[-1]))
    tiny = np.finfo(float).eps * xp.max(xp.abs(matrix), axis=(-2, -1))[..., None]
    tiny = tiny + np.finfo(float).tiny  # the matrix of a motion that a stop holds is 0
    weights = xp.ones(matrix.shape[:-1])
    for _ in range(_SWEEPS):
        scaled = apart * weights[..., None, :] / weights[..., :, None]
        rows, columns = xp.sum(scaled, axis=-1), xp.sum(scaled, axis=-2)
        weights = weights * ((rows + tiny) / (columns + tiny)) ** 0.25
    return weights


def verdict(largest: Float[Any, "*n"], error: Float[Any, "*n"]) -> Int[Any, "*n"]:
    """Return 1 (stable), 0 (unstable) or -1 (undecided).

    Stable if the largest modulus is below 1 by more than its error, unstable if above
    by more; anything else, NaN included, is undecided.
    """
    xp = library_of(largest, error)
    stable = largest + error < 1
    unstable = largest - error > 1
    decided = xp.where(unstable, UNSTABLE, UNDECIDED)
    return xp.where(stable, STABLE, decided).astype(np.int8)
