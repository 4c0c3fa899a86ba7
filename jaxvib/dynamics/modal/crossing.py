"""Where a gap closes or opens in a step: the root of its polynomial."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .collocation import PLACES

# Places in a step where gaps are known: its nodes and ends.
WITH_ENDS = np.concatenate([[0.0], PLACES, [1.0]])
_APART = WITH_ENDS[:, None] - WITH_ENDS + np.eye(WITH_ENDS.size)
_WEIGHTS = 1 / np.prod(_APART, axis=1)
# Iterations of the secant method: it gains digits by a factor of 1.4 in each.
_ITERATIONS = 12


def crossing(
    depths: Float[Array, "k c"],
    low: Float[Array, " c"],
    high: Float[Array, " c"],
    at_low: Float[Array, " c"],
    at_high: Float[Array, " c"],
) -> Float[Array, " c"]:
    """Return a root between two places, by the Illinois variant of regula falsi.

    `depths`: values at `WITH_ENDS`, whose polynomials are evaluated by the barycentric
    formula; those at `low` are positive or zero, those at `high` negative.
    """

    def value(place):
        away = place[None] - jnp.asarray(WITH_ENDS)[:, None]
        hit = away == 0
        shares = jnp.asarray(_WEIGHTS)[:, None] / jnp.where(hit, 1.0, away)
        found = jnp.sum(shares * depths, axis=0) / jnp.sum(shares, axis=0)
        known = jnp.sum(jnp.where(hit, depths, 0.0), axis=0)
        return jnp.where(jnp.any(hit, axis=0), known, found)

    def secant(low, high, at_low, at_high):
        fall = at_low - at_high
        return low + (high - low) * at_low / jnp.where(fall > 0, fall, 1.0)

    def closer(_, last):
        low, high, at_low, at_high, side = last
        place = secant(low, high, at_low, at_high)
        found = value(place)
        before = found >= 0
        # An end that is kept twice counts half, so that it moves too.
        halved = jnp.where(side == jnp.where(before, 1, -1), 0.5, 1.0)
        return (
            jnp.where(before, place, low),
            jnp.where(before, high, place),
            jnp.where(before, found, at_low * halved),
            jnp.where(before, at_high * halved, found),
            jnp.where(before, 1, -1),
        )

    first = low, high, at_low, at_high, jnp.zeros(low.shape, int)
    *ends, _ = jax.lax.fori_loop(0, _ITERATIONS, closer, first)
    return secant(*ends)
