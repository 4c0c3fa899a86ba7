r"""Eigenvalues and left and right eigenvectors of one small matrix.

Real and imaginary parts are separate arrays, as kernels have no complex numbers.

**Source:** Golub and Van Loan, *Matrix Computations* (2013), sections 7.6 and 7.7.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .order import order_of
from .products import Parts, complex_product
from .schur import balance, power_of_two, schur_form

_ROUNDING = float(np.finfo(float).eps)


class Eigensystem(NamedTuple):
    r"""Eigenvalues and vectors, $A R = R \Lambda$, $L A = \Lambda L$, $L R = I$.

    `values`: $\Lambda$, in the order of `order_of`. Columns of `right` have length 1, and
    rows of `left` the condition number of each eigenvalue. NaN where A is not finite.
    """

    values: Parts
    right: Parts
    left: Parts


def eigenvalues(matrix: Float[Array, "n n"]) -> Parts:
    """Return the eigenvalues in the order of `order_of`; NaN of a matrix with NaN."""
    balanced, _, scale, known = _balanced(matrix)
    form = schur_form(balanced)
    values, _ = _block_values(form.triangle)
    order = order_of(*values)
    values = Parts(values.real[order], values.imag[order])
    return _times(values, jnp.where(known & form.converged, scale, jnp.nan))


def eigensystem(matrix: Float[Array, "n n"]) -> Eigensystem:
    """Return the eigenvalues with the right and left eigenvectors."""
    balanced, weights, scale, known = _balanced(matrix)
    form = schur_form(balanced)
    values, rotations = _block_values(form.triangle)
    triangle, basis = _complex_form(form.triangle, form.basis, rotations)
    right, left = _triangle_vectors(triangle, values)
    right = complex_product(basis, right)
    left = complex_product(left, Parts(basis.real.T, -basis.imag.T))
    right = Parts(*(part * weights[:, None] for part in right))
    left = Parts(*(part / weights[None] for part in left))
    length = _lengths(right)
    known = known & form.converged
    order = order_of(*values)
    values = _times(values, jnp.where(known, scale, jnp.nan))
    right = _times(right, jnp.where(known, 1 / length, jnp.nan)[None])
    left = _times(left, jnp.where(known, length, jnp.nan)[:, None])
    return Eigensystem(
        Parts(*(part[order] for part in values)),
        Parts(*(part[:, order] for part in right)),
        Parts(*(part[order] for part in left)),
    )


def _balanced(matrix):
    """Return (scaled and balanced matrix, weights, scale, whether all is finite)."""
    finite = jnp.all(jnp.isfinite(matrix))
    safe = jnp.where(finite, matrix, jnp.eye(matrix.shape[0]))
    weights = balance(safe)
    safe = safe * (weights[None] / weights[:, None])
    size = jnp.max(jnp.abs(safe))
    scale = power_of_two(jnp.where(size > np.finfo(float).tiny, size, 1.0))
    return safe / scale, weights, scale, finite


def _block_values(t):
    """Return the eigenvalues of a Schur form, and each block's first eigenvector.

    The vector of a 2 x 2 block has length 1; that of a 1 x 1 block is (1, 0).
    """
    a, b, d = jnp.diagonal(t)[:-1], jnp.diagonal(t, 1), jnp.diagonal(t)[1:]
    c = jnp.diagonal(t, -1)
    joined = c != 0
    half = (a - d) / 2
    large, small = jnp.maximum(jnp.abs(b), jnp.abs(c)), jnp.minimum(jnp.abs(b), jnp.abs(c))
    small = jnp.where((b < 0) == (c < 0), small, -small)
    scale = jnp.maximum(jnp.abs(half), large)
    scale = jnp.where(scale > 0, scale, 1.0)
    squared = (half / scale) * half + (large / scale) * small
    root = jnp.sqrt(scale) * jnp.sqrt(jnp.abs(squared))
    is_real = squared >= 0
    # Of two real eigenvalues, one differs from d by half + root (same signs).
    away = jnp.where(half < 0, half - root, half + root)
    other = jnp.where(away != 0, large / jnp.where(away != 0, away, 1.0) * small, 0.0)
    away = jnp.where(is_real, away, half)
    turn = jnp.where(is_real, 0.0, root)
    first = Parts(d + away, turn)
    second = Parts(jnp.where(is_real, d - other, d + half), -turn)
    no, nothing = jnp.asarray([False]), jnp.zeros(1)
    begins, ends = (jnp.concatenate(x) for x in ((joined, no), (no, joined)))
    values = Parts(
        *(
            jnp.where(
                begins,
                jnp.concatenate([one, nothing]),
                jnp.where(ends, jnp.concatenate([nothing, two]), alone),
            )
            for one, two, alone in zip(
                first, second, (jnp.diagonal(t), jnp.zeros(t.shape[0])), strict=True
            )
        )
    )
    length = jnp.sqrt(away * away + turn * turn + c * c)
    length = jnp.where(joined, length, 1.0)
    rotations = (
        jnp.where(joined, away, 1.0) / length,
        jnp.where(joined, turn, 0.0) / length,
        jnp.where(joined, c, 0.0) / length,
        joined,
    )
    return values, rotations


def _complex_form(t, z, rotations):
    r"""Return a complex triangular T and its basis: 2 x 2 blocks are rotated.

    With $q = (q_1, q_2)$ the block's eigenvector, columns are multiplied by
    $[[q_1, -q_2], [q_2, \bar{q}_1]]$ (q_2 is real), and rows by its inverse.
    """
    real, imag, other, joined = rotations
    no, nothing = jnp.asarray([False]), jnp.zeros(1)
    begins, ends = (jnp.concatenate(x) for x in ((joined, no), (no, joined)))
    here = Parts(
        jnp.where(
            begins,
            jnp.concatenate([real, nothing]),
            jnp.where(ends, jnp.concatenate([nothing, real]), 1.0),
        ),
        jnp.where(begins, jnp.concatenate([imag, nothing]), 0.0)
        - jnp.where(ends, jnp.concatenate([nothing, imag]), 0.0),
    )
    after = jnp.concatenate([other, nothing])  # second column's part in the first
    before = -jnp.concatenate([nothing, other])

    def columns(part_real, part_imag):
        beside = [
            jnp.pad(part[:, 1:], ((0, 0), (0, 1))) * after[None]
            + jnp.pad(part[:, :-1], ((0, 0), (1, 0))) * before[None]
            for part in (part_real, part_imag)
        ]
        return Parts(
            part_real * here.real[None] - part_imag * here.imag[None] + beside[0],
            part_real * here.imag[None] + part_imag * here.real[None] + beside[1],
        )

    turned = columns(t, jnp.zeros_like(t))
    # Rows are multiplied by the conjugates: columns of the conjugate transpose.
    turned = columns(turned.real.T, -turned.imag.T)
    triangle = Parts(turned.real.T, -turned.imag.T)
    return triangle, columns(z, jnp.zeros_like(z))


def _triangle_vectors(triangle: Parts, values: Parts):
    """Return the right and left eigenvectors of a triangle, with unit diagonals."""
    size = values.real.shape[0]
    above = jnp.arange(size)[None] > jnp.arange(size)[:, None]
    # 1 / (t_jj - t_ii) in row i and column j.
    real = values.real[None] - values.real[:, None]
    imag = values.imag[None] - values.imag[:, None]
    squared = real * real + imag * imag
    close = squared < _ROUNDING**2
    real, imag = jnp.where(close, _ROUNDING, real), jnp.where(close, 0.0, imag)
    squared = jnp.where(close, _ROUNDING**2, squared)
    inverse = Parts(
        jnp.where(above, real / squared, 0.0), jnp.where(above, -imag / squared, 0.0)
    )
    one = jnp.eye(size)
    right = Parts(one[-1:], jnp.zeros((1, size)))
    for i in reversed(range(size - 1)):
        row = Parts(*(part[i : i + 1, i + 1 :] for part in triangle))
        row = complex_product(row, right)
        row = _multiplied(row, Parts(*(part[i : i + 1] for part in inverse)))
        right = Parts(
            jnp.concatenate([row.real + one[i : i + 1], right.real]),
            jnp.concatenate([row.imag, right.imag]),
        )
    left = Parts(one[:, :1], jnp.zeros((size, 1)))
    for j in range(1, size):
        column = Parts(*(part[:j, j : j + 1] for part in triangle))
        column = complex_product(left, column)
        column = _multiplied(column, Parts(*(-part[:, j : j + 1] for part in inverse)))
        left = Parts(
            jnp.concatenate([left.real, column.real + one[:, j : j + 1]], axis=1),
            jnp.concatenate([left.imag, column.imag], axis=1),
        )
    return right, left


def _multiplied(one: Parts, other: Parts) -> Parts:
    return Parts(
        one.real * other.real - one.imag * other.imag,
        one.real * other.imag + one.imag * other.real,
    )


def _times(values: Parts, factor) -> Parts:
    return Parts(values.real * factor, values.imag * factor)


def _lengths(columns: Parts):
    largest = jnp.maximum(jnp.abs(columns.real), jnp.abs(columns.imag))
    largest = power_of_two(jnp.max(largest, axis=0))
    real, imag = columns.real / largest[None], columns.imag / largest[None]
    squared = real * real + imag * imag
    return largest * jnp.sqrt(jnp.sum(squared, axis=0))
