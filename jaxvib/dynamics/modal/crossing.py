"""Where a gap closes or opens in a step: the first root of its polynomial."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .collocation import PLACES

# Places in a step where gaps are known: its nodes and ends.
WITH_ENDS = np.concatenate([[0.0], PLACES, [1.0]])
_APART = WITH_ENDS[:, None] - WITH_ENDS + np.eye(WITH_ENDS.size)
_WEIGHTS = 1 / np.prod(_APART, axis=1)
# Iterations of the secant method: it gains digits by a factor of 1.4 in each.
_ITERATIONS = 12


# Places between two neighbours of these at which dips are looked for: the polynomial of a
# gap does not turn twice between two.
_BETWEEN = 4
_steps = np.arange(_BETWEEN) / _BETWEEN
_CLOSE = (WITH_ENDS[:-1, None] + np.diff(WITH_ENDS)[:, None] * _steps).reshape(-1)
_CLOSE = np.append(_CLOSE, 1.0)
# A dip is refined on so many points between its neighbours, so often: to 1e-8 of its size.
_AMONG, _CLOSER = 9, 4
# The part of its size by which the minimum of a signal may be below its nodes.
_FLAT = 0.3


class Bracket(NamedTuple):
    """Where in a step signals (c,) first become negative, if they do.

    `found`: whether they do; `low`, `high`: places before and after; `at_low`, `at_high`:
    values there; `lowest`: the smallest value in the step.
    """

    found: Bool[Array, " c"]
    low: Float[Array, " c"]
    high: Float[Array, " c"]
    at_low: Float[Array, " c"]
    at_high: Float[Array, " c"]
    lowest: Float[Array, " c"]

    def place(self, signals: Float[Array, "k c"]) -> Float[Array, " c"]:
        """Return the root of the signals' polynomials between `low` and `high`."""
        return jax.lax.cond(
            jnp.any(self.found),
            lambda _: crossing(signals, *self[1:5]),
            lambda _: self.low,
            None,
        )


def bracket(signals: Float[Array, "k c"], near: Float[Array, " c"]) -> Bracket:
    """Return where signals first are below zero by more than `near`.

    `signals`: values at `WITH_ENDS`. Between these places their polynomials may dip.
    """
    every = jnp.arange(signals.shape[1])
    wrong = signals[1:] < -near[None]
    found, first = jnp.any(wrong, axis=0), jnp.argmax(wrong, axis=0)
    low, high = (jnp.asarray(WITH_ENDS)[first + k] for k in (0, 1))
    at_low, at_high = signals[first, every], signals[first + 1, every]
    nowhere = jnp.full(near.shape, jnp.inf)
    at_dip, dip = jax.lax.cond(
        _may_dip(signals),
        lambda _: _dips(signals, near),
        lambda _: (nowhere, nowhere),
        None,
    )
    dips = (dip < -near) & (~found | (at_dip < high))
    # The node before the dip.
    last = jnp.sum(jnp.asarray(WITH_ENDS)[:, None] < at_dip[None], axis=0) - 1
    return Bracket(
        found | dips,
        jnp.where(dips, jnp.asarray(WITH_ENDS)[last], low),
        jnp.where(dips, at_dip, high),
        jnp.maximum(jnp.where(dips, signals[last, every], at_low), 0.0),
        jnp.where(dips, dip, at_high),
        jnp.minimum(jnp.min(signals, axis=0), dip),
    )


def _may_dip(signals: Float[Array, "k c"]) -> Bool[Array, ""]:
    """Return whether polynomials may turn near zero, by their slopes between nodes."""
    slopes = jnp.diff(signals, axis=0) / jnp.asarray(np.diff(WITH_ENDS))[:, None]
    first, last = 2 * slopes[:1] - slopes[1:2], 2 * slopes[-1:] - slopes[-2:-1]
    falls = jnp.concatenate([first, slopes[:-1]]) < 0
    rises = jnp.concatenate([slopes[1:], last]) > 0
    small = jnp.minimum(signals[:-1], signals[1:]) < _FLAT * jnp.max(
        jnp.abs(signals), axis=0, keepdims=True
    )
    return jnp.any(falls & rises & small)


def _dips(
    signals: Float[Array, "k c"], near: Float[Array, " c"]
) -> tuple[Float[Array, " c"], Float[Array, " c"]]:
    """Return the place and the value of the first dip below -`near`, or of the deepest.

    Of the polynomials inside the step; infinite where they have no minimum there.
    """
    close = jnp.asarray(_shares_at(_CLOSE)) @ signals
    middle = close[1:-1]
    turns = (middle < close[:-2]) & (middle <= close[2:])
    values = jnp.where(turns, middle, jnp.inf)
    below = values < -near[None]
    which = jnp.where(
        jnp.any(below, axis=0), jnp.argmax(below, axis=0), jnp.argmin(values, axis=0)
    )
    every = jnp.arange(signals.shape[1])
    low, stop = (jnp.asarray(_CLOSE)[which + k] for k in (0, 2))
    lowest, at = values[which, every], jnp.asarray(_CLOSE)[which + 1]

    def closer(_, ends):
        low, stop, _, _ = ends
        shares = jnp.linspace(0.0, 1.0, _AMONG)[:, None]
        places = low[None] + (stop - low)[None] * shares
        found = jax.vmap(lambda place: _value(signals, place))(places)
        best = jnp.clip(jnp.argmin(found, axis=0), 1, _AMONG - 2)
        around = (places[best + k, every] for k in (-1, 1, 0))
        return *around, found[best, every]

    *_, at, value = jax.lax.fori_loop(0, _CLOSER, closer, (low, stop, at, lowest))
    return at, jnp.where(jnp.isfinite(lowest), jnp.minimum(value, lowest), jnp.inf)


def _shares_at(places: np.ndarray) -> np.ndarray:
    """Return the matrix from values at `WITH_ENDS` to those of polynomials at places."""
    away = places[:, None] - WITH_ENDS
    hit = away == 0
    shares = _WEIGHTS / np.where(hit, 1.0, away)
    shares = shares / shares.sum(axis=1, keepdims=True)
    return np.where(hit.any(axis=1, keepdims=True), hit.astype(float), shares)


def _value(signals: Float[Array, "k c"], place: Float[Array, " c"]) -> Float[Array, " c"]:
    """Return the values of polynomials at a place of each, by the barycentric formula."""
    away = place[None] - jnp.asarray(WITH_ENDS)[:, None]
    hit = away == 0
    shares = jnp.asarray(_WEIGHTS)[:, None] / jnp.where(hit, 1.0, away)
    found = jnp.sum(shares * signals, axis=0) / jnp.sum(shares, axis=0)
    known = jnp.sum(jnp.where(hit, signals, 0.0), axis=0)
    return jnp.where(jnp.any(hit, axis=0), known, found)


def crossing(
    depths: Float[Array, "k c"],
    low: Float[Array, " c"],
    high: Float[Array, " c"],
    at_low: Float[Array, " c"],
    at_high: Float[Array, " c"],
) -> Float[Array, " c"]:
    """Return a root between two places, by the Illinois variant of regula falsi.

    `depths`: values at `WITH_ENDS`; those of their polynomials at `low` are positive or
    zero, those at `high` negative.
    """

    def secant(low, high, at_low, at_high):
        fall = at_low - at_high
        return low + (high - low) * at_low / jnp.where(fall > 0, fall, 1.0)

    def closer(_, last):
        low, high, at_low, at_high, side = last
        place = secant(low, high, at_low, at_high)
        found = _value(depths, place)
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
