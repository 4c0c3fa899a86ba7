"""An order of eigenvalues that is robust to rounding."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..foundation.arrays import array_namespace

# Relative (to each number) and absolute (to the largest) tolerances of equality: above
# rounding errors, below differences that matter.
_ALIKE, _SMALL = 1e-9, 1e-14


def order_of(
    real: Float[Any, "*lanes n"], imag: Float[Any, "*lanes n"], first: str = "largest"
) -> Int[Any, "*lanes n"]:
    r"""Return the permutation that sorts complex numbers.

    `first`: "largest" or "smallest" modulus, or largest "real part". Equal moduli are
    sorted by descending real part, equal real parts by descending modulus, and numbers
    equal in both by descending imaginary part, so that a conjugate pair begins above
    the real axis. Two keys are equal if they differ by at most $10^{-9}$ of themselves
    plus $10^{-14}$ of the largest modulus, or if a chain of such pairs connects them:
    rounding changes the order only at differences of that size.
    """
    xp = array_namespace(real, imag)
    modulus = xp.sqrt(real * real + imag * imag)
    keys = {
        "largest": (modulus, real, imag),
        "smallest": (-modulus, real, imag),
        "real part": (real, modulus, imag),
    }[first]
    smallest = _SMALL * xp.max(modulus, axis=-1)[..., None]
    group = xp.zeros(np.shape(real), np.int32)
    order = xp.zeros(np.shape(real), int) + np.arange(np.shape(real)[-1])
    for key in keys:
        key = xp.take_along_axis(key, order, axis=-1)
        moved = xp.lexsort((-key, group), axis=-1)
        order, group, key = (
            xp.take_along_axis(array, moved, axis=-1) for array in (order, group, key)
        )
        below = key[..., :-1] - key[..., 1:]
        apart = below > _ALIKE * xp.abs(key[..., :-1]) + smallest
        apart = apart | (group[..., 1:] != group[..., :-1])
        begins = xp.zeros((*np.shape(real)[:-1], 1), np.int32)
        numbers = xp.cumsum(apart, axis=-1, dtype=np.int32)
        group = xp.concatenate([begins, numbers], axis=-1)
    return order
