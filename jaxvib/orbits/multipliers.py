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


def multiplier_error(monodromy: Float[Array, "n n"], error) -> Float[Array, ""]:
    r"""Return the first-order bound on the error of every multiplier.

    $|\delta\mu_i| \le \kappa_i \lVert\delta M\rVert$ with $\kappa_i = \lVert y_i\rVert
    \lVert x_i\rVert / |y_i^H x_i|$ of left and right eigenvectors; `error` is
    $\lVert\delta M\rVert$. It grows without bound at a defective pair. **Source:**
    Golub and Van Loan, *Matrix Computations*, section 7.2.2.
    """
    finite = jnp.all(jnp.isfinite(monodromy))
    safe = jnp.where(finite, monodromy, jnp.eye(monodromy.shape[0]))
    _, right = jnp.linalg.eig(safe)
    left = jnp.linalg.inv(right)
    condition = jnp.linalg.norm(right, axis=0) * jnp.linalg.norm(left, axis=1)
    return jnp.where(finite, jnp.max(condition) * error, jnp.nan)


def verdict(largest: Float[Array, ""], error: Float[Array, ""]) -> Int[Array, ""]:
    """Return 1 (stable), 0 (unstable) or -1 (undecided).

    Stable if the largest modulus is below 1 by more than its error, unstable if above
    by more; anything else, NaN included, is undecided.
    """
    stable = largest + error < 1
    unstable = largest - error > 1
    decided = jnp.where(unstable, UNSTABLE, UNDECIDED)
    return jnp.where(stable, STABLE, decided).astype(jnp.int8)
