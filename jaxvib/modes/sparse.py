"""Lowest natural frequencies of large assemblies from sparse matrices."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.sparse import csc_array, diags_array

from ..foundation.arrays import require_concrete
from ..foundation.quantity import Range, check_range
from ..systems.chain import BeamChain
from ..systems.linear_part import linear_part
from ..systems.roles import Linear
from .modal import natural_frequencies
from .natural import check_natural, check_not_gyroscopic
from .slicing import lowest_from

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
