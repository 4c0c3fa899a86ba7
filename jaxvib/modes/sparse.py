"""The lowest natural frequencies of large assemblies, from sparse matrices."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.sparse import csc_array, diags_array

from .._quantity import Range, check_range
from ..systems.chain import BeamChain
from ..systems.linear_part import linear_part
from ..systems.roles import Linear
from .modal import natural_frequencies
from .natural import check_natural, check_not_gyroscopic
from .slicing import lowest_from

_DENSE = 500  # degrees of freedom; up to here LAPACK is as fast
_SAME = 1e-12  # a frequency this near below a shift is at it: a thousand roundings


def lowest_frequencies(
    system: Linear, count: int, *, shift: float = 0.0
) -> Float[Array, " count"]:
    r"""Return the natural frequencies nearest above `shift` (rad/s), ascending.

    Those of `natural_frequencies` that are not below `shift`, for many thousands of degrees
    of freedom: from sparse factors of $C - \sigma M$, whose pivots count how many there are
    (`modes.slicing`), so that none is missed, however often it repeats. Motions without
    strain are 0; those that fall over are NaN and come first where `shift` is 0. NaN also
    ends the list where there are fewer above `shift`. On the host.

    **Raises:** `ValueError` for a count that is not in [1, n], a shift below 0, or matrices
    that are not symmetric; `RuntimeError` where rounding leaves the count open.

    >>> jv.modes.lowest_frequencies(tower, 1).round(4).tolist()
    [12.2474]
    """
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
    # Scaled by the masses, so that light bodies and heavy ones count alike.
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
        # Strains keep what the stiffness matrix has lost to rounding: slow motions of
        # long assemblies come from them in full.
        weights, rows = strains
        strained = rows @ (scale @ found.vectors[:, ~still])
        speeds = np.linalg.svd(np.sqrt(weights)[:, None] * strained, compute_uv=False)
        frequencies[~still] = np.sort(speeds)
    return np.append(np.full(falling, np.nan), frequencies)
