r"""Singular values and symmetric eigenvalues of one small matrix by Jacobi rotations.

One-sided: pairs of columns are rotated until all are orthogonal; their lengths are the
singular values. Small ones are as accurate as large ones.

**Source:** Golub and Van Loan, *Matrix Computations* (2013), section 8.6.3; Demmel and
Veselic, *Jacobi's method is more accurate than QR* (1992).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

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
    a, scale, known = _scaled(lower + jnp.tril(matrix, -1).T)
    a, basis = _swept(_annihilated, (a, jnp.eye(a.shape[0])), a.shape[0])
    values = jnp.diagonal(a)
    order = jnp.argsort(values)
    largest = jnp.argmax(jnp.abs(basis), axis=0)
    sign = jnp.take_along_axis(basis, largest[None], axis=0)
    basis = basis * jnp.where(sign < 0, -1.0, 1.0)
    return values[order] * (scale * known), basis[:, order] * known


def _scaled(a):
    """Return a matrix of size 1 to 2, its scale, and 1; 0 and NaN if not finite."""
    finite = jnp.all(jnp.isfinite(a))
    a = jnp.where(finite, a, 0.0)
    size = jnp.max(jnp.abs(a))
    scale = power_of_two(jnp.where(size > np.finfo(float).tiny, size, 1.0))
    return a / scale, scale, jnp.where(finite, 1.0, jnp.nan)


def _swept(turn: Callable, start: Any, number: int) -> Any:
    """Return a state turned for each pair of `number` columns, until none needs it.

    `turn(state, i, j)` returns the next one, and whether it differs.
    """

    def goes_on(last):
        return last[1] & (last[2] < _MOST_SWEEPS)

    def sweep(last):
        state, moved = last[0], jnp.asarray(False)
        for i in range(number - 1):
            for j in range(i + 1, number):
                state, turned = turn(state, i, j)
                moved = moved | turned
        return state, moved, last[2] + 1

    begun = start, jnp.asarray(number > 1), jnp.asarray(0, jnp.int32)
    return jax.lax.while_loop(goes_on, sweep, begun)[0]


def _annihilated(state, i: int, j: int):
    """Rotate a matrix so that (i, j) becomes 0, and its basis."""
    a, basis = state
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
    return (jnp.stack(columns, axis=1), jnp.stack(turned, axis=1)), oblique


def _set(vector, place: int, value):
    value = jnp.asarray(value, float)[None]
    return jax.lax.dynamic_update_slice(vector, value, (place,))


def _rotated(matrix, with_basis: bool):
    """Return orthogonal columns, their lengths in descending order, and the rotations."""
    a, scale, known = _scaled(matrix.T if matrix.shape[0] < matrix.shape[1] else matrix)
    rows, number = a.shape
    start = jnp.eye(number) if with_basis else jnp.zeros((0, number))

    def turn(columns, i, j):
        columns = list(columns)
        columns[i], columns[j], turned = _pair(columns[i], columns[j], rows)
        return columns, turned

    columns = list(jnp.concatenate([a, start]).T)
    stacked = jnp.stack(_swept(turn, columns, number), axis=1)
    columns, basis = stacked[:rows], stacked[rows:]
    lengths = jnp.sqrt(jnp.sum(columns * columns, axis=0))
    order = jnp.argsort(-lengths)
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
