"""Floquet multipliers of a periodic motion, their errors and what they decide."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float, Int

from .._arrays import HOST, frozen, library_of

STABLE, UNSTABLE, UNDECIDED = 1, 0, -1  # verdicts as numbers, as studies store them
VERDICTS = {STABLE: "stable", UNSTABLE: "unstable", UNDECIDED: "undecided"}
# Of a revolution of some hundred steps, in units of a double's: of 300 orbits one is off
# by more than 64.
_ROUNDING = 64 * float(jnp.finfo(float).eps)
# Sweeps that balance: of 200 random matrices whose units differ by up to 1e8, rows and
# columns then differ by 12 % at most.
_SWEEPS = 8


def floquet_multipliers(monodromy: Float[Any, "n n"]) -> Complex[Any, " n"]:
    """Return the eigenvalues of a monodromy matrix, largest modulus first.

    Of a conjugate pair the one with positive imaginary part comes first. NaN where
    the matrix is not finite. First derivatives only: a second one is a `TypeError`.
    """
    xp = library_of(monodromy)
    values = eigenvalues(monodromy)
    order = xp.lexsort((-values.imag, -xp.abs(values)))
    return values[frozen(order)]


def eigenvalues(matrix: Float[Any, "n n"]) -> Complex[Any, " n"]:
    """Return the eigenvalues of a matrix in no order, NaN where it is not finite.

    First derivatives only: a second one is a `TypeError`.
    """
    xp = library_of(matrix)
    finite = xp.all(xp.isfinite(matrix))
    # LAPACK never returns from some matrices of NaN.
    safe = xp.where(finite, matrix, xp.eye(matrix.shape[0]))
    values = xp.linalg.eigvals(safe) if xp is HOST else _eigenvalues(safe)
    return xp.where(finite, values, xp.nan)


def modulus(multipliers):
    """Return the modulus of the largest multiplier."""
    # |mu| has no derivative where mu = 0, as after a hard contact.
    xp = library_of(multipliers)
    squared = multipliers[0].real ** 2 + multipliers[0].imag ** 2
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
    monodromy: Float[Any, "n n"], change: Float[Any, "n n"], noise=0.0
) -> Float[Any, ""]:
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
    finite = xp.all(xp.isfinite(monodromy)) & xp.all(xp.isfinite(change))
    identity = xp.eye(monodromy.shape[0])
    safe = xp.where(finite, monodromy, identity)
    weights = balance(safe)
    ratio = weights[None] / weights[:, None]
    safe, change = safe * ratio, change * ratio
    values, right = xp.linalg.eig(safe)
    left = xp.linalg.inv(right)
    moved = xp.abs(left @ change.astype(right.dtype) @ right)
    gaps = xp.abs(values[:, None] - values[None, :])
    products = xp.where(identity > 0, 0.0, moved * moved.T)
    apart = xp.sqrt(xp.maximum(gaps**2 - 4 * products, 0.0))
    alone = 2 * products / xp.where(gaps > 0, gaps + apart, 1.0)
    pairs = xp.where(4 * products < gaps**2, alone, xp.sqrt(products))
    condition = xp.linalg.norm(right, axis=0) * xp.linalg.norm(left, axis=1)
    relative = _ROUNDING + noise
    rounding = relative * xp.linalg.norm(safe) * condition
    total = xp.diagonal(moved) + xp.sum(pairs, axis=1) + rounding
    sample = xp.sqrt(xp.max(products))
    return xp.where(finite, xp.max(total) + sample, xp.nan)


def state_rounding(monodromy, units) -> Float[Any, " n"]:
    r"""Return how far rounding moves each component of a periodic motion's state.

    $|(I - M)^{-1}|\,\rho$ with what one revolution is rounded by,
    $\rho = 64 \epsilon (1 + |M|) u$, u the `units` of the motion.
    """
    xp = library_of(monodromy, units)
    size = xp.abs(monodromy) @ units + units
    away = xp.abs(xp.linalg.inv(xp.eye(units.shape[0]) - monodromy))
    return away @ (_ROUNDING * size)


def balance(matrix: Float[Any, "n n"]) -> Float[Any, " n"]:
    """Return weights w for which rows and columns of w_j M_ij / w_i are as large.

    **Source:** Parlett and Reinsch, *Balancing a matrix* (1969).
    """
    xp = library_of(matrix)
    apart = xp.abs(matrix) * (1 - xp.eye(matrix.shape[0]))
    tiny = np.finfo(float).eps * xp.max(xp.abs(matrix))
    weights = xp.ones(matrix.shape[0])
    for _ in range(_SWEEPS):
        scaled = apart * weights[None] / weights[:, None]
        rows, columns = xp.sum(scaled, axis=1), xp.sum(scaled, axis=0)
        weights = weights * ((rows + tiny) / (columns + tiny)) ** 0.25
    return weights


def verdict(largest: Float[Any, ""], error: Float[Any, ""]) -> Int[Any, ""]:
    """Return 1 (stable), 0 (unstable) or -1 (undecided).

    Stable if the largest modulus is below 1 by more than its error, unstable if above
    by more; anything else, NaN included, is undecided.
    """
    xp = library_of(largest, error)
    stable = largest + error < 1
    unstable = largest - error > 1
    decided = xp.where(unstable, UNSTABLE, UNDECIDED)
    return xp.where(stable, STABLE, decided).astype(np.int8)
