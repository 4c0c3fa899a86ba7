"""Floquet multipliers of a periodic motion, their errors and what they decide."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Int

STABLE, UNSTABLE, UNDECIDED = 1, 0, -1
VERDICTS = {STABLE: "stable", UNSTABLE: "unstable", UNDECIDED: "undecided"}
# Of a revolution of some hundred steps, in units of a double's: of 300 orbits one is off
# by more than 64. Sweeps that balance a matrix well enough.
_ROUNDING = 64 * float(jnp.finfo(float).eps)
_SWEEPS = 8


def floquet_multipliers(monodromy: Float[Array, "n n"]) -> Complex[Array, " n"]:
    """Return the eigenvalues of a monodromy matrix, largest modulus first.

    Of a conjugate pair the one with positive imaginary part comes first. NaN where
    the matrix is not finite. First derivatives only: a second one is a `TypeError`.
    """
    values = eigenvalues(monodromy)
    order = jnp.lexsort((-values.imag, -jnp.abs(values)))
    return values[jax.lax.stop_gradient(order)]


def eigenvalues(matrix: Float[Array, "n n"]) -> Complex[Array, " n"]:
    """Return the eigenvalues of a matrix in no order, NaN where it is not finite.

    First derivatives only: a second one is a `TypeError`.
    """
    finite = jnp.all(jnp.isfinite(matrix))
    # LAPACK never returns from some matrices of NaN.
    safe = jnp.where(finite, matrix, jnp.eye(matrix.shape[0]))
    return jnp.where(finite, _eigenvalues(safe), jnp.nan)


def modulus(multipliers):
    """Return the modulus of the largest multiplier."""
    # |mu| has no derivative where mu = 0, as after a hard contact.
    squared = multipliers[0].real ** 2 + multipliers[0].imag ** 2
    modulus = jnp.sqrt(jnp.where(squared > 0, squared, 1.0))
    return jnp.where(squared > 0, modulus, 0.0)


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
    monodromy: Float[Array, "n n"], change: Float[Array, "n n"], noise=0.0
) -> Float[Array, ""]:
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
    finite = jnp.all(jnp.isfinite(monodromy)) & jnp.all(jnp.isfinite(change))
    identity = jnp.eye(monodromy.shape[0])
    safe = jnp.where(finite, monodromy, identity)
    weights = balance(safe)
    ratio = weights[None] / weights[:, None]
    safe, change = safe * ratio, change * ratio
    values, right = jnp.linalg.eig(safe)
    left = jnp.linalg.inv(right)
    moved = jnp.abs(left @ change.astype(right.dtype) @ right)
    gaps = jnp.abs(values[:, None] - values[None, :])
    products = jnp.where(identity > 0, 0.0, moved * moved.T)
    apart = jnp.sqrt(jnp.maximum(gaps**2 - 4 * products, 0.0))
    alone = 2 * products / jnp.where(gaps > 0, gaps + apart, 1.0)
    pairs = jnp.where(4 * products < gaps**2, alone, jnp.sqrt(products))
    condition = jnp.linalg.norm(right, axis=0) * jnp.linalg.norm(left, axis=1)
    relative = _ROUNDING + noise
    rounding = relative * jnp.linalg.norm(safe) * condition
    total = jnp.diagonal(moved) + jnp.sum(pairs, axis=1) + rounding
    sample = jnp.sqrt(jnp.max(products))
    return jnp.where(finite, jnp.max(total) + sample, jnp.nan)


def state_rounding(monodromy, units) -> Float[Array, " n"]:
    r"""Return how far rounding moves each component of a periodic motion's state.

    $|(I - M)^{-1}|\,\rho$ with what one revolution is rounded by,
    $\rho = 64 \epsilon (1 + |M|) u$, u the `units` of the motion.
    """
    size = jnp.abs(monodromy) @ units + units
    away = jnp.abs(jnp.linalg.inv(jnp.eye(units.shape[0]) - monodromy))
    return away @ (_ROUNDING * size)


def balance(matrix: Float[Array, "n n"]) -> Float[Array, " n"]:
    """Return weights w for which rows and columns of w_j M_ij / w_i are as large.

    **Source:** Parlett and Reinsch, *Balancing a matrix* (1969).
    """
    apart = jnp.abs(matrix) * (1 - jnp.eye(matrix.shape[0]))
    tiny = jnp.finfo(float).eps * jnp.max(jnp.abs(matrix))
    weights = jnp.ones(matrix.shape[0])
    for _ in range(_SWEEPS):
        scaled = apart * weights[None] / weights[:, None]
        rows, columns = jnp.sum(scaled, axis=1), jnp.sum(scaled, axis=0)
        weights = weights * ((rows + tiny) / (columns + tiny)) ** 0.25
    return weights


def verdict(largest: Float[Array, ""], error: Float[Array, ""]) -> Int[Array, ""]:
    """Return 1 (stable), 0 (unstable) or -1 (undecided).

    Stable if the largest modulus is below 1 by more than its error, unstable if above
    by more; anything else, NaN included, is undecided.
    """
    stable = largest + error < 1
    unstable = largest - error > 1
    decided = jnp.where(unstable, UNSTABLE, UNDECIDED)
    return jnp.where(stable, STABLE, decided).astype(jnp.int8)
