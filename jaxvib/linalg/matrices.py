"""Linear systems, eigenvalues and singular values of matrices or of stacks of them.

Matrices of up to 16 rows are handled by kernels, with the same bits on every processor
and independent of its BLAS; larger ones by LAPACK. NumPy arrays give NumPy arrays;
others work under `jit` and `vmap`. Singular or non-finite matrices give NaN or
infinity, and raise nothing.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads .linalg lazily
from jax.extend import core
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, ArrayLike, Complex, Float

from ..foundation.arrays import HOST, array_namespace
from ..kernels.calls.derivative_rule import refuse_second_derivatives
from ..kernels.lower.tangents import is_lowering
from .eigen import Eigensystem
from .eigen import eigensystem as _eigensystem
from .eigen import eigenvalues as _eigenvalues
from .jacobi import Singular
from .jacobi import singular_system as _singular_system
from .jacobi import singular_values as _singular_values
from .jacobi import symmetric_system as _symmetric_system
from .order import order_of
from .products import Parts, dot
from .small import is_small, of_many

# From here on the largest singular value alone is cheaper by Lanczos iteration.
_MANY_ROWS = 128


def solve(
    matrix: Float[Any, "*lanes n n"], right: Float[Any, "*lanes n k"]
) -> Float[Any, "*lanes n k"]:
    """Return X of A X = B; derivatives of any order, forward and reverse."""
    if not is_small(matrix):
        return _large(np.linalg.solve, jnp.linalg.solve, matrix, right)
    if array_namespace(matrix, right) is HOST or is_lowering():
        return of_many(jnp.linalg.solve, (2, 2), matrix, right)
    frozen = jax.lax.stop_gradient(matrix)

    def forward(_, b):
        return of_many(jnp.linalg.solve, (2, 2), frozen, b)

    def backward(_, b):
        return of_many(jnp.linalg.solve, (2, 2), jnp.swapaxes(frozen, -1, -2), b)

    return jax.lax.custom_linear_solve(lambda x: matrix @ x, right, forward, backward)


def solve_vector(
    matrix: Float[Any, "*lanes n n"], right: Float[Any, "*lanes n"]
) -> Float[Any, "*lanes n"]:
    """Return x of A x = b."""
    return solve(matrix, right[..., None])[..., 0]


def inverse(matrix: Float[Any, "*lanes n n"]) -> Float[Any, "*lanes n n"]:
    """Return the inverses of matrices."""
    xp = array_namespace(matrix)
    return solve(matrix, xp.broadcast_to(xp.eye(matrix.shape[-1]), matrix.shape))


def determinant(matrix: Float[Any, "*lanes n n"]) -> Float[Any, "*lanes"]:
    """Return the determinants of matrices."""
    if is_small(matrix):
        return of_many(jnp.linalg.det, (2,), matrix)
    return _large(np.linalg.det, jnp.linalg.det, matrix)


def cholesky(matrix: Float[Any, "*lanes n n"]) -> Float[Any, "*lanes n n"]:
    """Return Cholesky factors L of A = L L^T, NaN if A is not positive definite."""
    if is_small(matrix) and array_namespace(matrix) is HOST:
        return of_many(jnp.linalg.cholesky, (2,), matrix)
    return _large(np.linalg.cholesky, jnp.linalg.cholesky, matrix)


def solve_triangular(
    triangle: Float[Any, "n n"], right: Float[Any, "n k"], lower: bool = True
) -> Float[Any, "n k"]:
    """Return X of L X = B with a lower or upper triangular L."""
    if array_namespace(triangle, right) is not HOST:
        return jax.scipy.linalg.solve_triangular(triangle, right, lower=lower)
    if is_small(triangle, right):
        return of_many(_lower_solved if lower else _upper_solved, (2, 2), triangle, right)
    return scipy.linalg.solve_triangular(triangle, right, lower=lower, check_finite=False)


def _lower_solved(triangle, right):
    return jax.scipy.linalg.solve_triangular(triangle, right, lower=True)


def _upper_solved(triangle, right):
    return jax.scipy.linalg.solve_triangular(triangle, right, lower=False)


def singular_values(matrix: Float[Any, "*lanes m n"]) -> Float[Any, "*lanes k"]:
    """Return the singular values of matrices, largest first."""
    if is_small(matrix):
        return of_many(_singular_values, (2,), matrix)
    return _large(np.linalg.svd, jnp.linalg.svd, matrix, compute_uv=False)


def singular_system(matrix: Float[Any, "*lanes m n"]) -> Singular:
    """Return U, s, V of A = U diag(s) V^T, with s in descending order.

    Traced matrices are left to XLA, which can differentiate the result.
    """
    if is_small(matrix) and (array_namespace(matrix) is HOST or is_lowering()):
        return of_many(_singular_system, (2,), matrix)
    svd = np.linalg.svd, jnp.linalg.svd
    left, values, right = _large(*svd, matrix, full_matrices=False)
    xp = array_namespace(matrix)
    return Singular(left, values, xp.swapaxes(right, -1, -2))


def condition(
    matrix: Float[Any, "*lanes n n"], inverse: Float[Any, "*lanes n n"] | None = None
) -> Float[Any, "*lanes"]:
    """Return the condition number in the 2-norm, infinite if singular.

    `inverse`: that of the matrix, if it is known: for large ones it saves time.
    """
    large = np.shape(matrix)[-1] >= _MANY_ROWS and array_namespace(matrix) is HOST
    if large and inverse is not None and np.isfinite(inverse).all():
        return spectral_norm(matrix) * spectral_norm(inverse)
    values = singular_values(matrix)
    xp = array_namespace(values)
    smallest = values[..., -1]
    ratio = values[..., 0] / xp.where(smallest > 0, smallest, 1.0)
    ratio = xp.where(xp.isnan(smallest), xp.nan, ratio)
    return xp.where(smallest == 0, xp.inf, ratio)


def spectral_norm(matrix: Float[Any, "*lanes m n"]) -> Float[Any, "*lanes"]:
    """Return the largest singular value."""
    if min(np.shape(matrix)[-2:]) < _MANY_ROWS or array_namespace(matrix) is not HOST:
        return singular_values(matrix)[..., 0]
    return by_lapack(_largest_by_lanczos, matrix)[..., 0]


def symmetric_system(
    matrix: Float[Any, "*lanes n n"],
) -> tuple[Float[Any, "*lanes n"], Float[Any, "*lanes n n"]]:
    """Return the eigenvalues of symmetric matrices, ascending, and unit eigenvectors.

    The lower triangles are used. Traced matrices are left to XLA, which can
    differentiate the result.
    """
    if is_small(matrix) and (array_namespace(matrix) is HOST or is_lowering()):
        return of_many(_symmetric_system, (2,), matrix)
    return _large(np.linalg.eigh, jnp.linalg.eigh, matrix)


def eigensystem(matrix: Float[Any, "*lanes n n"]) -> Eigensystem:
    """Return the eigenvalues and right and left eigenvectors, see `Eigensystem`.

    The largest modulus comes first, in the order of `order_of`.
    """
    if is_small(matrix):
        return of_many(_eigensystem, (2,), matrix)
    if array_namespace(matrix) is not HOST:
        return _ordered(*jnp.linalg.eig(matrix))
    return _ordered(*by_lapack(_complex_eig, matrix))


def eigenvalues(
    matrix: Float[Any, "*lanes n n"], first: str = "largest"
) -> Complex[Any, "*lanes n"]:
    """Return the eigenvalues of matrices in the order of `order_of`.

    First derivatives only: a second one is a `TypeError`.
    """
    if array_namespace(matrix) is HOST:
        values = _values_of(matrix)
    else:
        values = _differentiable_values(matrix)
    if first == "largest":
        return values
    order = order_of(values.real, values.imag, first)
    return array_namespace(values).take_along_axis(values, order, axis=-1)


def eigenvectors(
    matrix: Float[np.ndarray, "n n"], first: str = "largest"
) -> tuple[Complex[np.ndarray, " n"], Complex[np.ndarray, "n n"]]:
    """Return the eigenvalues of one matrix in the order of `order_of`, and eigenvectors.

    Vectors of small matrices have length 1, like LAPACK's.
    """
    if is_small(matrix):
        found = eigensystem(matrix)
        values, vectors = _complex(found.values), _complex(found.right)
    else:
        values, vectors = by_lapack(_complex_eig, matrix)
    order = order_of(values.real, values.imag, first)
    return values[order], vectors[:, order]


def eigenvector_near(
    matrix: Float[np.ndarray, "n n"], target: ArrayLike
) -> Complex[np.ndarray, " n"]:
    """Return the eigenvector of the eigenvalue nearest to `target`."""
    values, vectors = eigenvectors(matrix)
    return vectors[:, np.argmin(np.abs(values - target))]


def _values_of(matrix):
    if is_small(matrix):
        return _complex(of_many(_eigenvalues, (2,), matrix))
    values = _large(np.linalg.eigvals, jnp.linalg.eigvals, matrix).astype(complex)
    order = order_of(values.real, values.imag)
    return array_namespace(values).take_along_axis(values, order, axis=-1)


@jax.custom_jvp
def _differentiable_values(matrix):
    return _values_of(matrix)


@_differentiable_values.defjvp
def _values_rule(primals, tangents):
    (matrix,), (change,) = primals, tangents
    first = refuse_second_derivatives("eigenvalues", matrix)
    values, right, left = map(_complex, eigensystem(first))
    moved = left @ (change.astype(right.dtype) @ right)
    return values, jnp.diagonal(moved, axis1=-2, axis2=-1)


def least_squares(
    matrix: Float[Any, "*lanes m n"], right: Float[Any, "*lanes m"], smallest: float
) -> Float[Any, "*lanes n"]:
    """Return the minimum-norm x that minimises |A x - b|.

    Singular values below `smallest` of the largest count as 0.
    """
    left, values, basis = singular_system(matrix)
    counts = values > smallest * values[..., :1]
    shares = dot(np.swapaxes(left, -1, -2), right[..., None, :])
    shares = np.where(counts, shares / np.where(counts, values, 1.0), 0.0)
    return dot(basis, shares[..., None, :])


def _complex(parts: Parts):
    if array_namespace(parts.real) is HOST:
        return parts.real + 1j * parts.imag
    return jax.lax.complex(parts.real, parts.imag)


def _ordered(values, right) -> Eigensystem:
    xp = array_namespace(values)
    order = order_of(values.real, values.imag)
    left = (
        xp.take_along_axis(part, order[..., None], axis=-2)
        for part in _left_vectors(values, right)
    )
    values = xp.take_along_axis(values, order, axis=-1)
    right = xp.take_along_axis(right, order[..., None, :], axis=-1)
    return Eigensystem(*(Parts(x.real, x.imag) for x in (values, right)), Parts(*left))


def _left_vectors(values, right) -> Parts:
    """Return the inverse of a real matrix's eigenvectors, from that of a real matrix.

    LAPACK's conjugate pairs are beside each other, the upper one first. The columns of
    the real matrix are the real and the imaginary part of that one.
    """
    xp = array_namespace(values)
    upper, lower = values.imag > 0, values.imag < 0
    parts = xp.where(lower[..., None, :], -right.imag, right.real)
    own = _large(np.linalg.inv, jnp.linalg.inv, parts)
    beside = np.arange(values.shape[-1]) + upper.astype(int) - lower.astype(int)
    other = xp.take_along_axis(own, beside[..., None], axis=-2)
    upper, lower = upper[..., None], lower[..., None]
    real = xp.where(upper, own / 2, xp.where(lower, other / 2, own))
    return Parts(real, xp.where(upper, -other / 2, xp.where(lower, own / 2, 0.0)))


def _large(by_numpy, by_jax, *matrices, **options):
    if array_namespace(*matrices) is HOST:
        return by_lapack(functools.partial(by_numpy, **options), *matrices)
    return by_jax(*matrices, **options)


def _complex_eig(matrix):
    return tuple(part.astype(complex) for part in np.linalg.eig(matrix))


def _largest_by_lanczos(matrix):
    """Return the largest singular value, on an axis of its own."""
    if matrix.ndim > 2:
        return np.stack([_largest_by_lanczos(one) for one in matrix])
    size = np.abs(matrix).max()
    if size == 0:
        return np.zeros(1)
    # The vectors of symmetric structures are orthogonal to simple ones.
    start = np.random.default_rng(0).normal(size=min(matrix.shape))
    settings = {"k": 1, "v0": start, "return_singular_vectors": False}
    try:
        return size * scipy.sparse.linalg.svds(matrix / size, **settings)
    except scipy.sparse.linalg.ArpackError:
        return np.linalg.svd(matrix, compute_uv=False)[:1]


def by_lapack(function: Callable, *matrices: np.ndarray) -> Any:
    """Apply a function of `numpy.linalg` to matrices or stacks of them.

    Singular or non-finite matrices give NaN, without affecting others of the stack.
    """
    finite = np.ones((), bool)
    for matrix in matrices:
        finite = finite & np.isfinite(matrix).all(axis=(-2, -1))
    lanes = finite.shape
    whole = [np.broadcast_to(m, (*lanes, *np.shape(m)[-2:])) for m in matrices]
    safe = np.where(finite[..., None, None], whole[0], np.eye(*whole[0].shape[-2:]))
    found = _nan_where_it_fails(function, safe, *whole[1:])
    return _map_results(lambda part: _where(finite, part), found)


def _nan_where_it_fails(function: Callable, *matrices):
    with np.errstate(all="ignore"):
        try:
            return function(*matrices)
        except np.linalg.LinAlgError:
            if matrices[0].ndim == 2:
                identity = np.eye(*matrices[0].shape)
                known = function(identity, *matrices[1:])
                return _map_results(lambda part: np.full_like(part, np.nan), known)
    rows = [_nan_where_it_fails(function, *row) for row in zip(*matrices, strict=True)]
    if isinstance(rows[0], tuple):
        return tuple(np.stack(parts) for parts in zip(*rows, strict=True))
    return np.stack(rows)


def _where(finite, part):
    more = (None,) * (np.ndim(part) - finite.ndim)
    return np.where(finite[(..., *more)], part, np.nan)


def _map_results(function: Callable, found):
    return tuple(map(function, found)) if isinstance(found, tuple) else function(found)


def positive_inverse(matrix: Float[Array, "*lanes n n"]) -> Float[Array, "*lanes n n"]:
    """Return the inverses of positive definite matrices, inside programs.

    On a CPU and beyond `MOST_ROWS` they are those of XLA, which calls LAPACK. For a GPU,
    XLA would call NVIDIA's library; small matrices are inverted there by elementwise
    operations, which it joins with those around them: Gauss-Jordan elimination without
    pivoting, which is stable for positive definite matrices. Derivatives of any order are
    those of `jnp.linalg.inv`, on every platform.

    **Source:** Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section
    14.4.
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
