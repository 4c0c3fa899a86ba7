r"""Real Schur form of one small matrix, in scalar operations for kernels.

Householder reflections reduce $A$ to Hessenberg form, and implicit QR steps with
Francis's double shift to real Schur form $A = Z T Z^T$ with 1 x 1 and 2 x 2 blocks.
Loops run over the whole matrix; outside of the active block reflections are identities.
So the program's length is fixed, and the lanes of a vector may be at different blocks.

**Source:** Golub and Van Loan, *Matrix Computations* (2013), sections 7.4.2 and 7.5.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..foundation.arrays import HOST, array_namespace

_ROUNDING = float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)
_EXPONENT = np.int64(0x7FF0000000000000)  # mask of a double's exponent bits
# QR steps allowed per pair of eigenvalues. Two or three are usual.
_MOST_STEPS = 40
# Period of exceptional shifts: matrices for which all shifts are equal, such as
# permutations, would not converge without them.
_EXCEPTIONAL = 10
# Balancing sweeps: with 200 random matrices whose units differ by up to 1e8, row and
# column norms then differ by at most 12 %.
_SWEEPS = 8


class SchurForm(NamedTuple):
    """A = Z T Z^T; `converged`: whether all blocks of T are 1 x 1 or 2 x 2."""

    triangle: Float[Array, "n n"]
    basis: Float[Array, "n n"]
    converged: Bool[Array, ""]


def balance(matrix: Float[Any, "*lanes n n"]) -> Float[Any, "*lanes n"]:
    """Return powers of 2, w, that balance rows and columns of w_j A_ij / w_i.

    Scaling by powers of 2 does not round.

    **Source:** Parlett and Reinsch, *Balancing a matrix* (1969).
    """
    xp = array_namespace(matrix)
    apart = xp.abs(matrix) * (1 - xp.eye(matrix.shape[-1]))
    smallest = _ROUNDING * xp.max(xp.abs(matrix), axis=(-2, -1))[..., None] + _TINY

    def sweep(_, weights):
        scaled = apart * weights[..., None, :] / weights[..., :, None]
        rows, columns = xp.sum(scaled, axis=-1), xp.sum(scaled, axis=-2)
        return weights * xp.sqrt(xp.sqrt((rows + smallest) / (columns + smallest)))

    weights = xp.ones(matrix.shape[:-1])
    if xp is jnp:
        return power_of_two(jax.lax.fori_loop(0, _SWEEPS, sweep, weights))
    for turn in range(_SWEEPS):
        weights = sweep(turn, weights)
    return power_of_two(weights)


def schur_form(matrix: Float[Array, "n n"]) -> SchurForm:
    """Return the real Schur form of a finite matrix."""
    triangle, basis = _hessenberg(matrix)
    size = matrix.shape[0]
    if size < 3:
        return SchurForm(triangle, basis, jnp.asarray(True))
    norm = jnp.max(jnp.sum(jnp.abs(triangle), axis=1))

    def goes_on(state: _Reduction):
        return (state.last > 0) & (state.steps < _MOST_STEPS * size)

    def step(state: _Reduction) -> _Reduction:
        exceptional = state.steps % _EXCEPTIONAL == _EXCEPTIONAL - 1
        t, z = _francis_step(state, exceptional)
        t = _without_negligible(t, norm)
        first, last = _active_block(t)
        return _Reduction(t, z, first, last, state.steps + 1)

    triangle = _without_negligible(triangle, norm)
    begun = _Reduction(triangle, basis, *_active_block(triangle), jnp.asarray(0, jnp.int32))
    ended = jax.lax.while_loop(goes_on, step, begun)
    return SchurForm(ended.triangle, ended.basis, ended.last == 0)


class _Reduction(NamedTuple):
    """The present form; its lowest unreduced block is rows `first` to `last`.

    `last` is 0 if there is no such block.
    """

    triangle: Float[Array, "n n"]
    basis: Float[Array, "n n"]
    first: Int[Array, ""]
    last: Int[Array, ""]
    steps: Int[Array, ""]


def power_of_two(value: Float[Any, "*n"]) -> Float[Any, "*n"]:
    """Return the largest power of 2 up to a positive normal number."""
    if array_namespace(value) is HOST:
        return (np.asarray(value, float).view(np.int64) & _EXPONENT).view(float)
    bits = jax.lax.bitcast_convert_type(value, jnp.int64) & _EXPONENT
    return jax.lax.bitcast_convert_type(bits, jnp.float64)


def _reflection(vector, concerned=None):
    r"""Return v and \beta of $I - \beta v v^T$, which maps a vector to its first axis.

    Also return the resulting component. The reflection is the identity if the rest of
    the vector is 0, or if it is not `concerned`.
    """
    size = jnp.max(jnp.abs(vector))
    rest = jnp.max(jnp.abs(vector[1:]))
    does = rest > 0
    if concerned is not None:
        does = does & concerned
    scale = power_of_two(jnp.where(does & (size > _TINY), size, 1.0))
    scaled = jnp.where(does, vector / scale, 0.0)
    length = jnp.sqrt(jnp.sum(scaled * scaled))
    end = jnp.where(scaled[0] > 0, -length, length)
    v = jnp.concatenate([scaled[:1] - end, scaled[1:]])
    squared = jnp.sum(v * v)
    beta = jnp.where(does, 2.0 / jnp.where(does, squared, 1.0), 0.0)
    return v, beta, jnp.where(does, end * scale, vector[0])


def _hessenberg(matrix):
    size = matrix.shape[0]
    h, z = matrix, jnp.eye(size)
    for k in range(size - 2):
        v, beta, end = _reflection(h[k + 1 :, k])
        scaled = beta * v
        below = h[k + 1 :, k + 1 :]
        below = below - scaled[:, None] * jnp.sum(v[:, None] * below, axis=0)[None]
        right = jnp.concatenate([h[: k + 1, k + 1 :], below])
        right = right - jnp.sum(right * v[None], axis=1)[:, None] * scaled[None]
        column = jnp.concatenate([h[: k + 1, k], end[None], jnp.zeros(size - k - 2)])
        h = jnp.concatenate([h[:, :k], column[:, None], right], axis=1)
        turned = z[:, k + 1 :]
        turned = turned - jnp.sum(turned * v[None], axis=1)[:, None] * scaled[None]
        z = jnp.concatenate([z[:, : k + 1], turned], axis=1)
    return h, z


def _without_negligible(t, norm):
    """Set negligible subdiagonal entries to 0."""
    diagonal, below = jnp.abs(jnp.diagonal(t)), jnp.diagonal(t, -1)
    beside = diagonal[1:] + diagonal[:-1]
    beside = jnp.where(beside > 0, beside, norm)
    left = jnp.where(jnp.abs(below) <= _ROUNDING * beside, 0.0, below)
    return t + jnp.diag(left - below, -1)


def _active_block(t):
    """Return the first and last row of the lowest block of at least three rows."""
    size = t.shape[0]
    joined = jnp.diagonal(t, -1) != 0  # each row to the one above
    ends = joined[1:] & joined[:-1]
    ends = ends & jnp.concatenate([~joined[2:], jnp.asarray([True])])
    last = jnp.max(jnp.where(ends, jnp.arange(2, size, dtype=jnp.int32), 0))
    places = jnp.arange(1, size, dtype=jnp.int32)
    first = jnp.max(jnp.where(~joined & (places < last), places, 0))
    return first, last


def _francis_step(state: _Reduction, exceptional):
    """Return the form and its basis after a double-shift QR step."""
    t, z, first, last = state.triangle, state.basis, state.first, state.last
    size = t.shape[0]
    columns = _first_columns(t, *_shifts(t, last, exceptional))
    for k in range(size - 1):
        inside = (first <= k) & (k < last)
        rows = min(3, size - k)
        vector = columns[k][:rows]
        if k > 0:
            chased = _part(t, k, k + rows, k - 1, k)[:, 0]
            vector = jnp.where(first == k, vector, chased)
        if rows == 3:  # the block may end above the third row
            third = jnp.where(last == k + 1, 0.0, vector[2:])
            vector = jnp.concatenate([vector[:2], third])
        v, beta, end = _reflection(vector, inside)
        scaled = beta * v
        if k > 0:
            column = jnp.concatenate([end[None], jnp.zeros(rows - 1)])
            column = jnp.where(inside & (first != k), column, chased)
            t = _set_block(t, column[:, None], k, k - 1)
        right = _part(t, k, k + rows, k, size)
        along = jnp.sum(v[:, None] * right, axis=0)
        t = _set_block(t, right - scaled[:, None] * along[None], k, k)
        above = _part(t, 0, min(k + 4, size), k, k + rows)
        t = _set_block(t, _reflected(above, v, scaled), 0, k)
        z = _set_block(z, _reflected(_part(z, 0, size, k, k + rows), v, scaled), 0, k)
    return t, z


def _reflected(columns, v, scaled):
    return columns - jnp.sum(columns * v[None], axis=1)[:, None] * scaled[None]


def _part(matrix, top: int, bottom: int, left: int, right: int):
    return jax.lax.slice(matrix, (top, left), (bottom, right))


def _set_block(matrix, part, row: int, column: int):
    return jax.lax.dynamic_update_slice(matrix, part, (row, column))


def _shifts(t, last, exceptional):
    """Return the diagonal and the off-diagonal product of the block's last 2 x 2."""
    size = t.shape[0]
    here = jnp.arange(2, size, dtype=jnp.int32) == last
    diagonal, below = jnp.diagonal(t), jnp.diagonal(t, -1)

    def chosen(numbers):
        return jnp.sum(jnp.where(here, numbers, 0.0))

    x, y = chosen(diagonal[2:]), chosen(diagonal[1:-1])
    product = chosen(below[1:] * jnp.diagonal(t, 1)[1:])
    apart = chosen(jnp.abs(below[1:]) + jnp.abs(below[:-1]))
    other = x + 0.75 * apart  # as in EISPACK's hqr
    return (
        jnp.where(exceptional, other, x),
        jnp.where(exceptional, other, y),
        jnp.where(exceptional, -0.4375 * apart * apart, product),
    )


def _first_columns(t, x, y, product):
    """Return the first column of (T - s1)(T - s2) for blocks beginning at each row."""
    diagonal, below = jnp.diagonal(t), jnp.diagonal(t, -1)
    r, s = x - diagonal[:-1], y - diagonal[:-1]
    divisor = jnp.where(below != 0, below, 1.0)
    top = (r * s - product) / divisor + jnp.diagonal(t, 1)
    middle = diagonal[1:] - diagonal[:-1] - r - s
    lowest = jnp.concatenate([below[1:], jnp.zeros(1)])
    return jnp.stack([top, middle, lowest], axis=1)
