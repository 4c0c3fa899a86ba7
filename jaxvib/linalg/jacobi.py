r"""Singular values and symmetric eigenvalues of one small matrix by Jacobi rotations.

One-sided: pairs of columns are rotated until all are orthogonal; their lengths are the
singular values. Small ones are as accurate as large ones.

**Source:** Golub and Van Loan, *Matrix Computations* (2013), section 8.6.3; Demmel and
Veselic, *Jacobi's method is more accurate than QR* (1992).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .schur import power_of_two

_ROUNDING = float(np.finfo(float).eps)
_MOST_SWEEPS = 30  # four to eight are usual up to 16 columns


class Singular(NamedTuple):
    r"""$A = U \mathrm{diag}(s) V^T$, s descending; U and V have as many columns as s."""

    left: Float[Array, "m k"]
    values: Float[Array, " k"]
    right: Float[Array, "n k"]


def singular_values(matrix: Float[Array, "m n"]) -> Float[Array, " k"]:
    """Return the singular values, largest first; NaN if the matrix is not finite."""
    return _rotated(matrix, False)[1]


def singular_system(matrix: Float[Array, "m n"]) -> Singular:
    """Return the singular values and vectors; columns of U may be 0."""
    columns, values, basis = _rotated(matrix, True)
    columns = columns / jnp.where(values > 0, values, 1.0)[None]
    if matrix.shape[0] < matrix.shape[1]:
        return Singular(basis, values, columns)
    return Singular(columns, values, basis)


def symmetric_system(matrix: Float[Array, "n n"]) -> tuple[Array, Array]:
    r"""Return the eigenvalues of a symmetric matrix, ascending, and unit eigenvectors.

    The lower triangle is used. NaN if the matrix is not finite. The largest component
    of each vector (the first of equal ones) is positive.
    """
    lower = jnp.tril(matrix)
    a = lower + jnp.tril(matrix, -1).T
    finite = jnp.all(jnp.isfinite(a))
    a = jnp.where(finite, a, 0.0)
    size = jnp.max(jnp.abs(a))
    scale = power_of_two(jnp.where(size > np.finfo(float).tiny, size, 1.0))
    number = a.shape[0]

    def goes_on(state):
        return state[2] & (state[3] < _MOST_SWEEPS)

    def sweep(state):
        a, basis, moved, count = state[0], state[1], jnp.asarray(False), state[3]
        for i in range(number - 1):
            for j in range(i + 1, number):
                a, basis, turned = _annihilated(a, basis, i, j)
                moved = moved | turned
        return a, basis, moved, count + 1

    begun = a / scale, jnp.eye(number), jnp.asarray(number > 1), jnp.asarray(0, jnp.int32)
    a, basis, *_ = jax.lax.while_loop(goes_on, sweep, begun)
    values = jnp.diagonal(a)
    order = jnp.argsort(values)
    known = jnp.where(finite, 1.0, jnp.nan)
    largest = jnp.argmax(jnp.abs(basis), axis=0)
    sign = jnp.take_along_axis(basis, largest[None], axis=0)
    basis = basis * jnp.where(sign < 0, -1.0, 1.0)
    return values[order] * (scale * known), basis[:, order] * known


def _annihilated(a, basis, i: int, j: int):
    """Rotate a matrix so that (i, j) becomes 0, and its basis."""
    p, q, w = a[i, i], a[j, j], a[i, j]
    oblique = jnp.abs(w) > _ROUNDING * jnp.sqrt(jnp.abs(p)) * jnp.sqrt(jnp.abs(q))
    cosine, sine, tangent = _rotation(p, q, w, oblique)
    change = jnp.where(oblique, tangent * w, 0.0)
    one, other = cosine * a[i] - sine * a[j], sine * a[i] + cosine * a[j]
    one = _set(_set(one, i, p - change), j, 0.0)
    other = _set(_set(other, j, q + change), i, 0.0)
    one, other = jnp.where(oblique, one, a[i]), jnp.where(oblique, other, a[j])
    rows = [a[k] for k in range(a.shape[0])]
    rows[i], rows[j] = one, other
    columns = list(jnp.stack(rows).T)
    columns[i], columns[j] = one, other  # keeps it symmetric
    left, right = basis[:, i], basis[:, j]
    turned = list(basis.T)
    turned[i], turned[j] = cosine * left - sine * right, sine * left + cosine * right
    return jnp.stack(columns, axis=1), jnp.stack(turned, axis=1), oblique


def _set(vector, place: int, value):
    value = jnp.asarray(value, float)[None]
    return jax.lax.dynamic_update_slice(vector, value, (place,))


def _rotated(matrix, with_basis: bool):
    """Return orthogonal columns, their lengths in descending order, and the rotations."""
    a = matrix.T if matrix.shape[0] < matrix.shape[1] else matrix
    finite = jnp.all(jnp.isfinite(a))
    a = jnp.where(finite, a, 0.0)
    size = jnp.max(jnp.abs(a))
    scale = power_of_two(jnp.where(size > np.finfo(float).tiny, size, 1.0))
    number = a.shape[1]
    start = jnp.eye(number) if with_basis else jnp.zeros((0, number))
    rows = a.shape[0]
    stacked = jnp.concatenate([a / scale, start])

    def goes_on(state):
        return state[1] & (state[2] < _MOST_SWEEPS)

    def sweep(state):
        columns, moved = list(state[0].T), jnp.asarray(False)
        for i in range(number - 1):
            for j in range(i + 1, number):
                columns[i], columns[j], turned = _pair(columns[i], columns[j], rows)
                moved = moved | turned
        return jnp.stack(columns, axis=1), moved, state[2] + 1

    begun = stacked, jnp.asarray(number > 1), jnp.asarray(0, jnp.int32)
    stacked, *_ = jax.lax.while_loop(goes_on, sweep, begun)
    columns, basis = stacked[:rows], stacked[rows:]
    lengths = jnp.sqrt(jnp.sum(columns * columns, axis=0))
    order = jnp.argsort(-lengths)
    known = jnp.where(finite, 1.0, jnp.nan)
    values = lengths[order] * scale * known
    return columns[:, order] * (scale * known), values, basis[:, order] * known


def _pair(one, other, rows: int):
    """Orthogonalise two columns (longer first); return also whether it was needed."""
    p, q, w = (
        jnp.sum(x[:rows] * y[:rows]) for x, y in ((one, one), (other, other), (one, other))
    )
    oblique = jnp.abs(w) > _ROUNDING * jnp.sqrt(p) * jnp.sqrt(q)
    cosine, sine, _ = _rotation(p, q, w, oblique)
    return cosine * one - sine * other, sine * one + cosine * other, oblique


def _rotation(p, q, w, oblique):
    """Return cosine, sine and tangent of the rotation diagonalising [[p, w], [w, q]].

    The angle is at most 45 degrees, and 0 unless `oblique`.
    """
    cotangent = (q - p) / (2 * jnp.where(oblique, w, 1.0))
    size = jnp.abs(cotangent) + jnp.sqrt(1 + cotangent * cotangent)
    tangent = jnp.where(cotangent < 0, -1.0, 1.0) / size
    cosine = 1 / jnp.sqrt(1 + tangent * tangent)
    sine = cosine * tangent
    return jnp.where(oblique, cosine, 1.0), jnp.where(oblique, sine, 0.0), tangent
