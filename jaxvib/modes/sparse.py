"""The lowest natural frequencies of large assemblies, from sparse matrices."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import eigsh

from .._quantity import Range, check_range
from ..systems.assembly import Assembled


def lowest_frequencies(
    system: Assembled, count: int, *, shift: float = 0.0
) -> Float[Array, " count"]:
    r"""Return the natural frequencies nearest above `shift` (rad/s), ascending.

    Lanczos iteration on $(C - \sigma M)^{-1} M$ by one sparse factorisation, $\sigma$ a
    little below `shift` squared so that a free system has an inverse too: for many
    thousands of freedoms. Motions without strain are 0. On the host. **Raises:**
    `ValueError` for a count that is not in [1, n - 1).
    """
    size = len(system.names)
    check_range("count", count, "", Range(at_least=1, below=size - 1))
    check_range("shift", shift, "rad/s", Range(at_least=0.0))
    mass, _, stiffness = system.sparse_matrices()
    # Scaled by the masses, so that light bodies and heavy ones count alike.
    scale = diags_array(1 / np.sqrt(mass.diagonal()))
    mass, stiffness = csc_array(scale @ mass @ scale), csc_array(scale @ stiffness @ scale)
    largest = abs(stiffness).sum(0).max()
    below = shift**2 - 1e-6 * largest
    start = np.ones(size)  # not random: the same call gives the same bits
    start[::2] = 0.5
    squares = eigsh(
        stiffness, count, mass, sigma=below, v0=start, return_eigenvectors=False, tol=1e-14
    )
    squares = np.sort(squares)
    still = np.abs(squares) < 1e-13 * largest
    roots = np.sqrt(np.where(still, 0.0, squares), out=np.full(count, np.nan),
                    where=still | (squares > 0))  # fmt: skip
    return jnp.asarray(roots)
