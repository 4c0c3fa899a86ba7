r"""Steps in contact: polynomial forces, exact response of the modes.

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
from jaxtyping import Array, Float
from numpy.polynomial import legendre

from ...foundation.types import Number

# Nodes in a step, a trade-off: steps become longer with more of them, and the cost of a
# step grows with the cube of their number.
NODES = 8
_roots, _weights = legendre.leggauss(NODES)
PLACES, WEIGHTS = (_roots + 1) / 2, _weights / 2
# Legendre polynomials at the nodes (q, i), and rows giving a polynomial's coefficients.
_LEGENDRE = legendre.legvander(_roots, NODES - 1).T
_TERMS = _LEGENDRE * _weights * (np.arange(NODES)[:, None] + 0.5)
# Shares of the last two coefficients in the error: the first one left out is smaller
# than both.
SHARES_OF_TERMS = _TERMS[: NODES - 3 : -1] * np.array([[1.0], [0.1]])
# Up to this |w| integrals are Taylor series in w, beyond it polynomials in 1/w: both
# lose two digits at most there.
_NEAR, _SERIES = 6.0, 32
# The convolution of ell_i, projected on ell_j, is symmetric in time: b_j times that of
# (j, i) is b_i times that of (K - 1 - i, K - 1 - j). One of the two suffices.
_PAIRS = np.arange(NODES**2).reshape(NODES, NODES)
_MIRRORED = _PAIRS[::-1, ::-1].T
_KNOWN = np.unique(np.maximum(_PAIRS, _MIRRORED))
# For forces at nodes i and displacements at nodes j: the place of the one known, and the
# factor of it.
_PLACES_KNOWN = np.searchsorted(_KNOWN, np.maximum(_PAIRS, _MIRRORED)).T
_FACTORS = np.where(_PAIRS >= _MIRRORED, 1.0, WEIGHTS / WEIGHTS[:, None]).T
# Amplitudes are nearly constant in a step of length h below this |lambda h|.
_SLOW = 1.0


class Eigenvalues(NamedTuple):
    """Complex eigenvalues: decay and angular frequency, 1/s."""

    decay: Float[Array, " p"]
    angular: Float[Array, " p"]

    def times(self, factor: Number) -> "Eigenvalues":
        """Return the eigenvalues times a real factor."""
        return Eigenvalues(self.decay * factor, self.angular * factor)

    def paces(self) -> Float[Array, " p"]:
        """Return their absolute values."""
        return jnp.hypot(self.decay, self.angular)

    def of(self, y: Float[Array, " y"]) -> Float[Array, " y"]:
        """Return the eigenvalues times amplitudes: their rates in free motion."""
        real, imag = jnp.split(y, 2)
        return jnp.concatenate(
            [
                self.decay * real - self.angular * imag,
                self.decay * imag + self.angular * real,
            ]
        )

    def rates_of(self, rows: Float[Array, "*r y"]) -> Float[Array, "*r y"]:
        """Return the rows of the time derivatives of what `rows` times y gives."""
        a, b = jnp.split(rows, 2, axis=-1)
        decay, angular = (x.reshape(*[1] * (rows.ndim - 1), -1) for x in self)
        return jnp.concatenate([a * decay + b * angular, b * decay - a * angular], axis=-1)


class Collocation(NamedTuple):
    r"""The matrices of a step of `length` h with c contacts.

    With the forces F (K, c) at the nodes, penetrations there are y `rows` + loads - F
    `echo`, their rates y `rate_rows` + loads - F `rate_echo`; y becomes y + `turn`(y) - F
    `push`. `reach` (p, c) bounds what a force of alternating sign and unit size does to
    each amplitude, and `last` (2, c, p) is what the Legendre polynomials of the two
    highest degrees do. `slow` (2, c, 2p): the `SHARES_OF_TERMS` of the penetrations under
    amplitudes that a step resolves, and `rate_slow` of their rates. The matrices of the
    rates are None if they are not needed. Shapes: `rows` (2p, K, c),
    `echo` (K, c, K, c), `push` (K, c, 2p), `turn` (2, p): products with vectors from the
    left are sums of rows, which are next to each other in memory.
    """

    length: Array
    turn: Array
    rows: Array
    rate_rows: Array | None
    echo: Array
    rate_echo: Array | None
    push: Array
    reach: Array
    last: Array
    slow: Array
    rate_slow: Array | None

    def moved(self, y: Float[Array, " y"], forces: Float[Array, "k c"]) -> Array:
        """Return amplitudes after the step with forces at its nodes."""
        pushed = forces.reshape(-1) @ self.push.reshape(-1, y.shape[0])
        return turned(self.turn, y, less=pushed)


def collocation(
    eigenvalues: Eigenvalues,
    rows: Float[Array, "c y"],
    pushes: Float[Array, "y c"],
    length: Number,
    *,
    rates: bool,
) -> Collocation:
    """Return the matrices of a step, those of the `rates` if needed."""
    length = jnp.asarray(length, float)
    seen, inner, end = _integrals(eigenvalues.times(length))
    half = eigenvalues.decay.shape[0]
    row, push = (rows[:, :half], -rows[:, half:]), (pushes[:half], pushes[half:])
    node_rows = _product([x.T[:, None] for x in row], [x[:, :, None] for x in seen])
    columns = _product([x.T[:, None] for x in end], [x.T[None] for x in push])
    ends = jnp.concatenate(columns, axis=-1) * length
    lasts = jnp.asarray(_LEGENDRE[: NODES - 3 : -1])
    terms = jnp.einsum("qi,icy->qcy", lasts, ends)
    paces = eigenvalues.paces()
    resolved = (paces * length < _SLOW).astype(float)
    resolved = jnp.concatenate([resolved, resolved])

    def slow(rows):
        return jnp.einsum("qi,yic,y->qcy", jnp.asarray(SHARES_OF_TERMS), rows, resolved)

    known_rows = jnp.concatenate([node_rows[0], -node_rows[1]])
    rate_rows = rate_echo = None
    if rates:
        rate_row = _product(row, [x[None] for x in eigenvalues])
        node_rates = _product(node_rows, [x[:, None, None] for x in eigenvalues])
        rate_rows = jnp.concatenate([node_rates[0], -node_rates[1]])
        # No other part: a force does not change a displacement at once.
        rate_echo = _coupling(rate_row, push, inner) * length
    return Collocation(
        length,
        turn_less_one(eigenvalues, length),
        known_rows,
        rate_rows,
        _coupling(row, push, inner) * length,
        rate_echo,
        ends,
        jnp.hypot(*push) * jnp.minimum(length, 1 / paces)[:, None],
        jnp.hypot(terms[..., :half], terms[..., half:]),
        slow(known_rows),
        None if rate_rows is None else slow(rate_rows),
    )


def cut_short(
    eigenvalues: Eigenvalues,
    pushes: Float[Array, "y c"],
    step: Collocation,
    length: Number,
) -> tuple[Float[Array, "2 p"], Float[Array, "k c y"], Float[Array, "k k"]]:
    """Return `turn` and `push` of a step's part up to an earlier time, `length`, s.

    Also the matrix from forces at the nodes of the whole step to those of its part.
    """
    end = _ends(eigenvalues.times(length))
    shares = _interpolation(jnp.asarray(PLACES) * length / step.length)
    half = eigenvalues.decay.shape[0]
    end = [(x @ shares).T[:, None] for x in end]
    push = _product(end, [x.T[None] for x in (pushes[:half], pushes[half:])])
    whole = jnp.concatenate(push, axis=-1) * length
    return turn_less_one(eigenvalues, length), whole, shares


def _interpolation(places: Float[Array, " k"]) -> Float[Array, "k k"]:
    """Return the values of Lagrange's polynomials at places in a step."""
    x = 2 * places - 1
    terms = [jnp.ones_like(x), x]
    for q in range(1, NODES - 1):
        terms.append(((2 * q + 1) * x * terms[q] - q * terms[q - 1]) / (q + 1))
    return jnp.stack(terms, axis=1) @ jnp.asarray(_TERMS)


def _product(one, other):
    """Return the product of two complex arrays as their real and imaginary parts."""
    return one[0] * other[0] - one[1] * other[1], one[0] * other[1] + one[1] * other[0]


def _integrals(w):
    """Return the projections (p, K), the convolutions `_KNOWN`, and ends (p, K)."""
    return _near_or_far(_by_series, _by_parts, w)


def _ends(w):
    """Return the ends (p, K) of `_integrals` alone."""
    return _near_or_far(_ends_by_series, _ends_by_parts, w)


def _near_or_far(by_series, by_parts, w):
    """Return integrals by one of two methods for each w."""
    near = jnp.hypot(*w) < _NEAR
    here = by_series([jnp.where(near, x, 0.0) for x in w])
    far = by_parts([jnp.where(near, x, y) for x, y in zip((_NEAR, 0.0), w, strict=True)])

    def chosen(one, other):
        which = near.reshape(-1, *[1] * (one.ndim - 1))
        return jnp.where(which, one, other)

    return jax.tree.map(chosen, here, far)


def _ends_by_series(w):
    terms = jnp.asarray(_SERIES_TERMS[:, -NODES:])
    return tuple(x @ terms for x in _powers(w, _SERIES))


def _ends_by_parts(w):
    terms = jnp.asarray(_PARTS_TERMS[:, 2 * NODES : 4 * NODES])
    grown, powers = _growth_and_inverse_powers(w)
    upper, lower = zip(*[jnp.split(x @ terms, 2, axis=1) for x in powers], strict=True)
    return _less(_product(grown, upper), lower)


def _by_series(w):
    """Return the integrals as power series in w."""
    found = [x @ jnp.asarray(_SERIES_TERMS) for x in _powers(w, _SERIES)]
    seen, inner, end = zip(
        *[jnp.split(x, [NODES, NODES + _KNOWN.size], axis=1) for x in found], strict=True
    )
    return seen, inner, end


def _powers(w, count: int):
    """Return 1, w, w^2, ... as columns, by doubling their number."""
    square = tuple(x[:, None] for x in w)
    found = jnp.ones_like(square[0]), jnp.zeros_like(square[0])
    while found[0].shape[1] < count:
        more = _product(found, square)
        found = [jnp.concatenate(x, axis=1) for x in zip(found, more, strict=True)]
        # Unfused: the square would be evaluated anew for each power.
        square = jax.lax.optimization_barrier(_product(square, square))
    return [x[:, :count] for x in found]


def _by_parts(w):
    r"""Return the integrals as polynomials in 1/w, by repeated integration by parts.

    With Legendre's $P_q$ on (0, 1): $w \int P_q e^{w x} = [P_q e^{w x}] - \int P_q'
    e^{w x}$ and $w \int P_q y_i = P_q(1) y_i(1) - \int P_q \ell_i - \int P_q' y_i$.
    """
    grown, powers = _growth_and_inverse_powers(w)
    sizes = np.cumsum([NODES] * 4)
    parts = [jnp.split(x @ jnp.asarray(_PARTS_TERMS), sizes, axis=1) for x in powers]
    upper, lower, end_upper, end_lower, inner = zip(*parts, strict=True)
    end = _less(_product(grown, end_upper), end_lower)
    row, column = np.divmod(_KNOWN, NODES)
    outer = _product([x[:, row] for x in upper], [x[:, column] for x in end])
    return _less(_product(grown, upper), lower), _less(outer, inner), end


def _growth_and_inverse_powers(w):
    """Return e^w (p, 1), and 1/w, 1/w^2, ... as columns."""
    square = w[0] ** 2 + w[1] ** 2
    inverse = w[0] / square, -w[1] / square
    grown = jnp.exp(w[0])[:, None]
    grown = grown * jnp.cos(w[1])[:, None], grown * jnp.sin(w[1])[:, None]
    return grown, _product(_powers(inverse, NODES), [x[:, None] for x in inverse])


def _less(one, other):
    return one[0] - other[0], one[1] - other[1]


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
    inner = np.einsum("jx,xmi->mji", project, inner).reshape(_SERIES, -1)[:, _KNOWN]
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
        inner = (back @ (power @ known)).reshape(-1)[_KNOWN]
        rows.append(np.concatenate([back @ one, back @ minus, *ends, inner]))
        power = -slope @ power
    return np.stack(rows)


_SERIES_TERMS, _PARTS_TERMS = _series_terms(), _parts_terms()


def turn_less_one(eigenvalues: Eigenvalues, time: Number) -> Float[Array, "2 p"]:
    r"""Return $e^{\lambda t} - 1$, real and imaginary parts.

    The 1 is omitted: its rounding error, the same in each of many short steps, would
    add up.
    """
    time = jnp.asarray(time, float)
    grown, angle = jnp.expm1(eigenvalues.decay * time), eigenvalues.angular * time
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([grown * cosine - 2 * jnp.sin(angle / 2) ** 2, (1 + grown) * sine])


def turned(turn: Float[Array, "2 p"], y: Array, less: Array | None = None) -> Array:
    """Return amplitudes (2p,), or columns of them, after a turn, `less` others."""
    half = y.shape[0] // 2
    real, imag = y[:half], y[half:]
    cosine, sine = (part.reshape(half, *[1] * (y.ndim - 1)) for part in turn)
    new = real + (cosine * real - sine * imag), imag + (sine * real + cosine * imag)
    if less is not None:
        new = new[0] - less[:half], new[1] - less[half:]
    return jnp.concatenate(new)


def _coupling(rows, pushes, inner):
    """Return (i, d, j, c): what forces at nodes i of contacts d do at nodes j of c."""
    count, contacts = pushes[0].shape
    modes = _product([x.T[:, None] for x in rows], [x[:, :, None] for x in pushes])
    real, imag = (x.reshape(count, -1) for x in modes)
    known = (inner[0].T @ real - inner[1].T @ imag).reshape(-1, contacts, contacts)
    found = known.at[_PLACES_KNOWN].get(mode="promise_in_bounds")
    return (found * _FACTORS[..., None, None]).transpose(0, 2, 1, 3)
