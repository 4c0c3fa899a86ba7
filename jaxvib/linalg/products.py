"""Products of vectors and matrices in a fixed order of summation."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..foundation.arrays import HOST, array_namespace
from .small import is_small


class Parts(NamedTuple):
    """Complex numbers as real and imaginary parts, as kernels have none."""

    real: Float[Any, "*n"]
    imag: Float[Any, "*n"]


def dot(one: Float[Any, "*one n"], other: Float[Any, "*other n"]) -> Float[Any, "..."]:
    """Return the products of vectors along the last axis.

    Other axes are broadcast: a matrix and a vector give the matrix-vector product.
    """
    return array_namespace(one, other).sum(one * other, axis=-1)


def norm(vector: Float[Any, "*lanes n"]) -> Float[Any, "*lanes"]:
    """Return the lengths of vectors along the last axis."""
    return array_namespace(vector).sqrt(dot(vector, vector))


def product(
    one: Float[Any, "*one m n"], other: Float[Any, "*other n k"]
) -> Float[Any, "..."]:
    """Return the products of matrices; for small NumPy arrays without BLAS."""
    if array_namespace(one, other) is HOST and is_small(one, other):
        return dot(one[..., :, None, :], np.swapaxes(other, -1, -2)[..., None, :, :])
    return one @ other


def complex_product(one: Parts, other: Parts) -> Parts:
    """Return the products of complex matrices."""
    return Parts(
        product(one.real, other.real) - product(one.imag, other.imag),
        product(one.real, other.imag) + product(one.imag, other.real),
    )


def modulus(parts: Parts) -> Float[Any, "*n"]:
    """Return the moduli of complex numbers."""
    xp = array_namespace(parts.real)
    return xp.sqrt(parts.real * parts.real + parts.imag * parts.imag)
