r"""Inverses of positive definite matrices inside programs for CPUs and GPUs.

On a CPU and beyond `MOST_ROWS` they are those of XLA, which calls LAPACK. For a GPU, XLA
would call NVIDIA's library; small matrices are inverted there by elementwise operations,
which it joins with those around them: Gauss-Jordan elimination without pivoting, which is
stable for positive definite matrices.

**Source:** Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 14.4.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Float

from ..kernels.lower.tangents import is_lowering
from .small import is_small


def positive_inverse(matrix: Float[Array, "*lanes n n"]) -> Float[Array, "*lanes n n"]:
    """Return the inverses of positive definite matrices.

    Derivatives of any order are those of `jnp.linalg.inv`, on every platform.
    """
    traced = isinstance(matrix, jax.core.Tracer) and not is_lowering()
    return _INVERSE.bind(matrix) if traced and is_small(matrix) else jnp.linalg.inv(matrix)


def by_elimination(matrix: Float[Array, "*lanes n n"]) -> Float[Array, "*lanes n n"]:
    """Return the inverses by elementwise operations."""
    number = np.arange(matrix.shape[-1])
    for k in range(len(number)):
        column, row, pivot = (
            matrix[..., :, k : k + 1], matrix[..., k : k + 1, :],
            matrix[..., k : k + 1, k : k + 1],
        )  # fmt: skip
        one = number == k
        scaled = jnp.where(one, 1 / pivot, row / pivot)
        rest = jnp.where(one, 0.0, matrix) - column * scaled
        matrix = jnp.where(one[:, None], scaled, rest)
    return matrix


_INVERSE = core.Primitive("positive_inverse")
_INVERSE.def_impl(jnp.linalg.inv)
_INVERSE.def_abstract_eval(lambda matrix: matrix)


def _slope(primals, tangents):
    return jax.jvp(jnp.linalg.inv, primals, tangents)


def _mapped(arrays, axes):
    return _INVERSE.bind(jnp.moveaxis(*arrays, *axes, 0)), 0


ad.primitive_jvps[_INVERSE] = _slope
batching.primitive_batchers[_INVERSE] = _mapped
mlir.register_lowering(_INVERSE, mlir.lower_fun(jnp.linalg.inv, multiple_results=False))
mlir.register_lowering(
    _INVERSE, mlir.lower_fun(by_elimination, multiple_results=False), platform="cuda"
)
