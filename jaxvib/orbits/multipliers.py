"""Floquet multipliers of a periodic motion, their errors and what they decide."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Int

STABLE, UNSTABLE, UNDECIDED = 1, 0, -1


def floquet_multipliers(monodromy: Float[Array, "n n"]) -> Complex[Array, " n"]:
    """Return the eigenvalues of a monodromy matrix, largest modulus first.

    Of a conjugate pair the one with positive imaginary part comes first. NaN where
    the matrix is not finite.
    """
    finite = jnp.all(jnp.isfinite(monodromy))
    # LAPACK never returns from some matrices of NaN.
    safe = jnp.where(finite, monodromy, jnp.eye(monodromy.shape[0]))
    values = jnp.linalg.eigvals(safe)
    order = jnp.lexsort((-values.imag, -jnp.abs(values)))
    return jnp.where(finite, values[jax.lax.stop_gradient(order)], jnp.nan)


def multiplier_error(
    monodromy: Float[Array, "n n"], change: Float[Array, "n n"]
) -> Float[Array, ""]:
    r"""Return how far any multiplier moves if M changes by $\delta M$, to second order.

    $$|\delta\mu_i| \le |E_{ii}| + \sum_{j \ne i} \frac{|E_{ij} E_{ji}|}{|\mu_i -
      \mu_j|}, \qquad E = X^{-1} \delta M X,$$

    with the eigenvectors in X. A motion that touches at t = 0 has a monodromy matrix of
    condition 1e10, and a bound by $\lVert\delta M\rVert$ and the condition of X is then
    larger than the truth by as much; where two multipliers meet it is the better one,
    so that the smaller of the two is returned. **Source:** Golub and Van Loan, *Matrix
    Computations*, section 7.2.
    """
    finite = jnp.all(jnp.isfinite(monodromy)) & jnp.all(jnp.isfinite(change))
    identity = jnp.eye(monodromy.shape[0])
    values, right = jnp.linalg.eig(jnp.where(finite, monodromy, identity))
    left = jnp.linalg.inv(right)
    moved = jnp.abs(left @ change.astype(right.dtype) @ right)
    gaps = jnp.abs(values[:, None] - values[None, :]) + jnp.where(
        identity > 0, jnp.inf, 0.0
    )
    second = jnp.sum(moved * moved.T / gaps, axis=1)
    close = jnp.max(jnp.diagonal(moved) + second)
    condition = jnp.linalg.norm(right, axis=0) * jnp.linalg.norm(left, axis=1)
    wide = jnp.max(condition) * jnp.linalg.norm(change, 2)
    return jnp.where(finite, jnp.fmin(close, wide), jnp.nan)


def verdict(largest: Float[Array, ""], error: Float[Array, ""]) -> Int[Array, ""]:
    """Return 1 (stable), 0 (unstable) or -1 (undecided).

    Stable if the largest modulus is below 1 by more than its error, unstable if above
    by more; anything else, NaN included, is undecided.
    """
    stable = largest + error < 1
    unstable = largest - error > 1
    decided = jnp.where(unstable, UNSTABLE, UNDECIDED)
    return jnp.where(stable, STABLE, decided).astype(jnp.int8)
