"""Floquet multipliers of a periodic motion, their error bounds and stability."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float, Int

from ... import linalg
from ...foundation.arrays import HOST, array_namespace, expand_to_lanes
from ...foundation.types import Number
from ...linalg import Parts

STABLE, UNSTABLE, UNDECIDED = 1, 0, -1  # as stored by studies
VERDICTS = {STABLE: "stable", UNSTABLE: "unstable", UNDECIDED: "undecided"}
# Rounding error of a revolution of some hundred steps, in units of a double's: exceeded
# by one of 300 orbits.
ROUNDING = 64 * float(jnp.finfo(float).eps)


def floquet_multipliers(monodromy: Float[Any, "*lanes n n"]) -> Complex[Any, "*lanes n"]:
    """Return the eigenvalues of a monodromy matrix or of a batch, largest first.

    The order is that of `linalg.order_of`: of equal moduli the largest real part comes
    first, of a conjugate pair the one with positive imaginary part. NaN where the matrix
    is not finite. First derivatives only: a second one raises `TypeError`.
    """
    return linalg.eigenvalues(monodromy)


def modulus(multipliers: Complex[Any, "*lanes n"]) -> Float[Any, "*lanes"]:
    """Return the modulus of the largest multiplier."""
    # |mu| has no derivative where mu = 0, as after a hard contact.
    xp = array_namespace(multipliers)
    largest = multipliers[..., 0]
    squared = largest.real**2 + largest.imag**2
    modulus = xp.sqrt(xp.where(squared > 0, squared, 1.0))
    return xp.where(squared > 0, modulus, 0.0)


def multiplier_error(
    monodromy: Float[Any, "*lanes n n"],
    change: Float[Any, "*lanes n n"],
    noise: Number = 0.0,
    system: linalg.Eigensystem | None = None,
) -> Float[Any, "*lanes"]:
    r"""Return a bound on the change of any multiplier due to $\delta M$ and rounding.

    `noise`: further error of M, relative to its norm; `system`: the eigensystem
    of M, if it is known. Norms and conditions are those of the balanced M.

    With the eigenvectors in X, $E = X^{-1} \delta M X$, the gap
    $g_{ij} = |\mu_i - \mu_j|$ and $p_{ij} = |E_{ij} E_{ji}|$,

    $$|\delta\mu_i| \le |E_{ii}| + \sum_{j \ne i} \begin{cases}
      2 p_{ij} / (g_{ij} + \sqrt{g_{ij}^2 - 4 p_{ij}}) & 4 p_{ij} < g_{ij}^2 \\
      \sqrt{p_{ij}} & \text{else} \end{cases}
      + 64 \epsilon \lVert M \rVert \kappa_i,$$

    the change of each pair of multipliers as if it were isolated, and the effect of
    rounding on one of condition $\kappa_i$. As $\delta M$ is a sample of the error of
    M, whose $E_{ii}$ may happen to be small, the largest $\sqrt{p_{ij}}$ is added to
    the largest of these. A motion that touches at t = 0 has a monodromy matrix of
    condition 1e10, and a bound by norms alone would be too large by as much.
    **Source:** Golub and Van Loan, *Matrix Computations*, section 7.2.
    """
    xp = array_namespace(monodromy, change, noise)
    finite = xp.all(xp.isfinite(monodromy) & xp.isfinite(change), axis=(-2, -1))
    identity = xp.eye(monodromy.shape[-1])
    safe = xp.where(expand_to_lanes(finite, monodromy), monodromy, identity)
    found = linalg.eigensystem(safe) if system is None else system
    values, right, left = found
    moved = _moved(values, right, left, change)
    gaps = Parts(*(part[..., :, None] - part[..., None, :] for part in values))
    gaps = linalg.modulus(gaps)
    products = xp.where(identity > 0, 0.0, moved * xp.swapaxes(moved, -1, -2))
    apart = xp.sqrt(xp.maximum(gaps**2 - 4 * products, 0.0))
    alone = 2 * products / xp.where(gaps > 0, gaps + apart, 1.0)
    pairs = xp.where(4 * products < gaps**2, alone, xp.sqrt(products))
    weights = linalg.balance(safe)
    lengths = linalg.norm(linalg.modulus(left) * weights[..., None, :])
    right_lengths = linalg.norm(
        xp.swapaxes(linalg.modulus(right), -1, -2) / weights[..., None, :]
    )
    condition = lengths * right_lengths
    balanced = safe * (weights[..., None, :] / weights[..., :, None])
    size = linalg.norm(balanced.reshape((*balanced.shape[:-2], -1)))
    relative = (ROUNDING + noise) * size
    own = xp.diagonal(moved, axis1=-2, axis2=-1)
    total = own + xp.sum(pairs, axis=-1) + relative[..., None] * condition
    sample = xp.sqrt(xp.max(products, axis=(-2, -1)))
    return xp.where(finite, xp.max(total, axis=-1) + sample, xp.nan)


def _moved(values: Parts, right: Parts, left: Parts, change) -> Any:
    r"""Return $|L\,\delta M R|$, for one large matrix from half of its rows.

    Rows of conjugate multipliers have the same numbers at conjugate places.
    """
    conjugates = None
    if array_namespace(change) is HOST and change.ndim == 2 and not linalg.is_small(change):
        conjugates = _conjugates(values)
    if conjugates is None:
        turned = Parts(*(linalg.product(part, change) for part in left))
        return linalg.modulus(linalg.complex_product(turned, right))
    upper = values.imag >= 0
    turned = Parts(*(part[upper] @ change for part in left))
    moved = np.empty(change.shape)
    moved[upper] = linalg.modulus(linalg.complex_product(turned, right))
    moved[~upper] = moved[conjugates[~upper]][:, conjugates]
    return moved


def _conjugates(values: Parts) -> Int[np.ndarray, " n"] | None:
    """Return the place of each number's conjugate, None if one has none."""
    order = np.lexsort((values.imag, np.abs(values.imag), values.real))
    signs = np.sign(values.imag[order]).astype(int)
    beside = np.clip(np.arange(order.size) - signs, 0, order.size - 1)
    places = np.empty_like(order)
    places[order] = order[beside]
    known = values.real[places] == values.real
    known &= values.imag[places] == -values.imag
    return places if known.all() else None


def state_rounding(
    monodromy: Float[Any, "*lanes n n"],
    units: Float[Any, "*lanes n"],
    inverse: Float[Any, "*lanes n n"] | None = None,
) -> Float[Any, "*lanes n"]:
    r"""Return the effect of rounding on each component of a periodic motion's state.

    $|(I - M)^{-1}|\,\rho$ with the rounding error of one revolution,
    $\rho = 64 \epsilon (1 + |M|) u$, u the `units` of the motion. `inverse`: of I - M,
    if it is known.
    """
    xp = array_namespace(monodromy, units)
    size = linalg.dot(xp.abs(monodromy), units[..., None, :]) + units
    if inverse is None:
        inverse = linalg.inverse(xp.eye(units.shape[-1]) - monodromy)
    return linalg.dot(xp.abs(inverse), ROUNDING * size[..., None, :])


def verdict(
    largest: Float[Any, "*n"], error: Float[Any, "*n"], limit: float = 1.0
) -> Int[Any, "*n"]:
    """Return 1 (stable), 0 (unstable) or -1 (undecided).

    Stable if the largest modulus is below the limit by more than its error, unstable if
    above by more; anything else, NaN included, is undecided. For an equilibrium the
    limit of the largest real part is 0.
    """
    xp = array_namespace(largest, error)
    decided = xp.where(largest - error > limit, UNSTABLE, UNDECIDED)
    return xp.where(largest + error < limit, STABLE, decided).astype(np.int8)
