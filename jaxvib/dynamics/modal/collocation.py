r"""Steps in contact: forces are polynomials, what the modes do under them is exact.

The forces of a step of length h are polynomials through K Gauss nodes $c_i h$. Gaps are
projected on polynomials of the same degree, so that a mode that is fast compared with
the step acts by its average. With Lagrange's polynomials $\ell_i$, the weights $b_i$ and
$w = \lambda h$ the matrices consist of

$$\frac{1}{b_j} \int_0^1 \ell_j(x) e^{w x}\,dx, \qquad
  y_i(x) = \int_0^x e^{w (x - s)} \ell_i(s)\,ds, \qquad
  \frac{1}{b_j} \int_0^1 \ell_j(x) y_i(x)\,dx.$$
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float
from numpy.polynomial import legendre

from ...foundation.types import Number

# Nodes in a step, a trade-off: steps become longer with more of them, and the cost of a
# step grows with the cube of their number.
NODES = 8
_roots, _weights = legendre.leggauss(NODES)
PLACES = (_roots + 1) / 2
# Legendre polynomials at the nodes (q, i), and rows giving a polynomial's coefficients.
_LEGENDRE = legendre.legvander(_roots, NODES - 1).T
_TERMS = _LEGENDRE * _weights * (np.arange(NODES)[:, None] + 0.5)
# The last two coefficients, for error estimates.
LAST_TERMS = _TERMS[: NODES - 3 : -1]
# Up to this |w| integrals are Taylor series in w, beyond it polynomials in 1/w: both
# lose two digits at most there.
_NEAR, _SERIES = 6.0, 32
# Amplitudes are nearly constant in a step of length h below this |lambda h|.
_SLOW = 1.0


class Collocation(NamedTuple):
    r"""The matrices of a step of `length` h with c contacts.

    With the forces F (K, c) at the nodes, penetrations there are `rows` y + loads - `echo`
    F, their rates `rate_rows` y + loads - `rate_echo` F; y becomes y + `turn`(y) - `push`
    F. `reach` (p, c) bounds what a force of alternating sign and unit size does to each
    amplitude, and `last` (2, p, c) is what the Legendre polynomials of the two highest
    degrees do. `slow` (2p,) is 1 for amplitudes that a step resolves, else 0. Shapes:
    `rows` (K, c, 2p), `echo` (K, c, K, c), `push` (2p, K, c), `turn` (2, p).
    """

    length: Array
    turn: Array
    rows: Array
    rate_rows: Array
    echo: Array
    rate_echo: Array
    push: Array
    reach: Array
    last: Array
    slow: Array


def collocation(
    eigenvalues: Complex[Array, " p"],
    rows: Complex[Array, "c p"],
    pushes: Complex[Array, "p c"],
    length: Number,
) -> Collocation:
    """Return the matrices of a step."""
    length = jnp.asarray(length, float)
    unit = length.astype(eigenvalues.dtype)
    seen, inner, end = _integrals(eigenvalues * unit)
    inner, end = inner * unit, end * unit
    node_rows = rows[None] * seen.T[:, None, :]  # (K, c, p)
    rates_of = eigenvalues[None]
    # Rates have no other part: a force does not change a displacement at once.
    coupling = _coupling(rows, pushes, inner)
    rates = _coupling(rows * rates_of, pushes, inner)
    push = end[:, :, None] * pushes[:, None, :]
    paces = jnp.abs(eigenvalues)
    lasts = jnp.asarray(_LEGENDRE[: NODES - 3 : -1]).astype(push.dtype)
    return Collocation(
        length,
        turn_less_one(eigenvalues, length),
        _real_rows(node_rows),
        _real_rows(node_rows * rates_of[None]),
        coupling,
        rates,
        jnp.concatenate([push.real, push.imag], axis=0),
        jnp.abs(pushes) * jnp.minimum(length, 1 / paces)[:, None],
        jnp.abs(jnp.einsum("qi,pic->qpc", lasts, push)),
        jnp.tile(paces * length < _SLOW, 2).astype(float),
    )


def _integrals(w: Complex[Array, " p"]):
    """Return the projections (p, K), their convolutions (p, K, K), and ends (p, K)."""
    near = jnp.abs(w) < _NEAR
    seen, inner, end = _by_series(jnp.where(near, w, 0))
    far_seen, far_inner, far_end = _by_parts(jnp.where(near, _NEAR, w))
    return (
        jnp.where(near[:, None], seen, far_seen),
        jnp.where(near[:, None, None], inner, far_inner),
        jnp.where(near[:, None], end, far_end),
    )


def _by_series(w: Complex[Array, " p"]):
    """Return the integrals as power series in w."""
    powers = _powers(w, _SERIES)
    found = _product(powers, jnp.asarray(_SERIES_TERMS))
    seen, inner, end = jnp.split(found, [NODES, NODES + NODES**2], axis=1)
    return seen, inner.reshape(-1, NODES, NODES), end


def _powers(w: Complex[Array, " p"], count: int) -> Complex[Array, "p count"]:
    """Return 1, w, w^2, ... by doubling their number."""
    found, square = jnp.ones_like(w)[:, None], w[:, None]
    while found.shape[1] < count:
        found = jnp.concatenate([found, found * square], axis=1)
        # Unfused: the square would be evaluated anew for each power.
        found, square = jax.lax.optimization_barrier((found, square * square))
    return found[:, :count]


def _by_parts(w: Complex[Array, " p"]):
    r"""Return the integrals as polynomials in 1/w, by repeated integration by parts.

    With Legendre's $P_q$ on (0, 1): $w \int P_q e^{w x} = [P_q e^{w x}] - \int P_q'
    e^{w x}$ and $w \int P_q y_i = P_q(1) y_i(1) - \int P_q \ell_i - \int P_q' y_i$.
    """
    inverse, grown = 1 / w, jnp.exp(w)[:, None]
    powers = _powers(inverse, NODES) * inverse[:, None]
    found = _product(powers, jnp.asarray(_PARTS_TERMS))
    sizes = np.cumsum([NODES] * 4)
    upper, lower, end_upper, end_lower, inner = jnp.split(found, sizes, axis=1)
    end = grown * end_upper - end_lower
    inner = upper[:, :, None] * end[:, None] - inner.reshape(-1, NODES, NODES)
    return grown * upper - lower, inner, end


def _series_terms() -> np.ndarray:
    """Return the coefficients of w^m of all integrals, one row for each m."""
    roots, weights = legendre.leggauss(_SERIES)
    x, weights = (roots + 1) / 2, weights / 2

    def lagrange(places):
        return legendre.legvander(2 * places - 1, NODES - 1) @ _TERMS

    powers = np.arange(_SERIES)
    at, project = lagrange(x), (2 / _weights)[:, None] * lagrange(x).T * weights
    seen = (project @ x[:, None] ** powers).T
    end = ((at.T * weights) @ (1 - x)[:, None] ** powers).T
    # The inner integral to x, with s = x r.
    inside = lagrange(np.outer(x, x).reshape(-1)).reshape(x.size, x.size, NODES)
    kernel = weights[:, None] * (1 - x)[:, None] ** powers
    inner = np.einsum("xri,rm->xmi", inside, kernel)
    inner = inner * (x[:, None] ** (powers + 1))[..., None]
    inner = np.einsum("jx,xmi->mji", project, inner).reshape(_SERIES, -1)
    terms = np.concatenate([seen, inner, end], axis=1)
    return terms / np.cumprod(np.maximum(powers, 1.0))[:, None]


def _parts_terms() -> np.ndarray:
    """Return the coefficients of 1/w, 1/w^2, ... of the parts of all integrals."""
    # P_q' = 2 sum (2 m + 1) P_m over m = q - 1, q - 3, ...
    order = np.arange(NODES)
    lower = (order[:, None] > order) & ((order[:, None] - order) % 2 == 1)
    slope = np.where(lower, 2.0 * (2 * order + 1), 0.0)
    signs = (-1.0) ** order
    # From integrals of P_q to the polynomial's values at the nodes.
    back = (_LEGENDRE * (2 * order[:, None] + 1)).T
    known = _LEGENDRE * _weights / 2  # of P_q times l_i
    rows, power = [], np.eye(NODES)
    for _ in range(NODES):
        one, minus = power @ np.ones(NODES), power @ signs
        # e^{w (1 - x)}: P_q(1 - x) = (-1)^q P_q(x).
        ends = [_TERMS.T @ (signs * part) for part in (one, minus)]
        inner = (back @ (power @ known)).reshape(-1)
        rows.append(np.concatenate([back @ one, back @ minus, *ends, inner]))
        power = -slope @ power
    return np.stack(rows)


_SERIES_TERMS, _PARTS_TERMS = _series_terms(), _parts_terms()


def _product(values: Complex[Array, "*p q"], matrix: Float[Array, "q r"]):
    """Return complex values times a real matrix."""
    values = jax.lax.optimization_barrier(values)
    return jax.lax.complex(values.real @ matrix, values.imag @ matrix)


def turn_less_one(eigenvalues: Complex[Array, " p"], time: Number) -> Float[Array, "2 p"]:
    r"""Return $e^{\lambda t} - 1$, real and imaginary parts.

    The 1 is omitted: its rounding error, the same in each of many short steps, would
    add up.
    """
    time = jnp.asarray(time, float)
    grown = jnp.expm1(eigenvalues.real * time)
    angle = eigenvalues.imag * time
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([grown * cosine - 2 * jnp.sin(angle / 2) ** 2, (1 + grown) * sine])


def turned(turn: Float[Array, "2 p"], y: Array) -> Array:
    """Return amplitudes (2p,), or columns of them, after a turn."""
    half = y.shape[0] // 2
    real, imag = y[:half], y[half:]
    cosine, sine = (part.reshape(half, *[1] * (y.ndim - 1)) for part in turn)
    return y + jnp.concatenate([cosine * real - sine * imag, sine * real + cosine * imag])


def _coupling(rows, pushes, inner):
    """Return what forces at nodes i of contacts d do at nodes j of contacts c."""
    modes = (rows[:, None] * pushes.T[None]).reshape(-1, rows.shape[1])
    flat = inner.reshape(rows.shape[1], -1)
    found = modes.real @ flat.real - modes.imag @ flat.imag
    contacts = rows.shape[0]
    found = found.reshape(contacts, contacts, *inner.shape[1:])
    return found.transpose(2, 0, 3, 1)


def _real_rows(rows):
    return jnp.concatenate([rows.real, -rows.imag], axis=-1)
