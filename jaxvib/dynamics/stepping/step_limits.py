"""Limits of the step size, found by probing the field over a period."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...foundation.types import Number
from ...systems.base.equation import Equation, Time
from .scales import Scales

# Evaluations in one period, at most 1.5 mean spacings apart: a feature of a 340th of
# the period is seen.
PROBES = 512
# Used before an orbit is accepted: resolves a 1300th of a period.
PROBES_OF_AN_ORBIT = 2048
# Longest step of an orbit's error estimate, in periods.
FINE = 1 / 64
# The twelve stages are at most 0.27 of a step apart.
_WIDTHS = 2.0
_NOTABLE = 1e-8  # changes below this part of the rates are rounding
# Multiple of the change that the slopes predict: within an accurate step, the slopes of
# a smooth field at both ends are not that much smaller than between them.
_UNEXPLAINED = 100.0
_JUMP = 1e-6  # of the rates' size: a smaller jump acts like a coarse tolerance
_ROUNDING = 1e-12  # of the rates that correspond to the motion's size


def longest_step(
    equation: Equation, field: Callable, t0: Time, t1: Time, state: Array, probes: int
) -> Number | None:
    """Return the longest step, s, that resolves `field` over a period.

    It is twice the time in which a component of the rates, at one `state`, or a factor
    of a force passes through its range at its steepest. None for equations that cannot
    pulse.
    """
    if not equation.may_pulse():
        return None
    span = t1 - t0
    period = equation.repeats_in(span)
    if equation.largest_step is not None:
        return equation.largest_step * period
    span = jnp.minimum(span, period)
    rough = 0.25 * (2 * ((np.arange(probes) * 0.6180339887498949) % 1.0) - 1)
    parts = (np.arange(probes) + 0.5 + rough) / probes

    def rates_at(part):
        time = t0 + span * part
        rates = field(time, state)
        # Factors of forces that are 0 at this state, but not in the motion.
        factors = equation.factors(time)
        rates = jnp.concatenate([rates, factors]) if factors.size else rates
        return jnp.where(jnp.isfinite(rates), rates, 0.0)

    low, high, change = _ranges(rates_at, jnp.asarray(parts))
    extent = high - low
    notable = extent > _NOTABLE * jnp.maximum(jnp.abs(low), jnp.abs(high))
    cells = jnp.where(notable, extent / jnp.where(notable, change, 1.0), jnp.inf)
    return jax.lax.stop_gradient(_WIDTHS * span / probes * jnp.min(cells))


def _ranges(function, times):
    """Return the least and largest values at times, and the largest change between."""
    first = function(times[0])

    def turn(last, time):
        low, high, change, before = last
        value = function(time)
        change = jnp.maximum(change, jnp.abs(value - before))
        return (jnp.minimum(low, value), jnp.maximum(high, value), change, value), None

    begun = first, first, jnp.zeros_like(first), first
    (low, high, change, _), _ = jax.lax.scan(turn, begun, times)
    return low, high, change


def has_jump(field: Callable, scales: Scales, first: Array, last: Array) -> Array:
    """Return whether a field jumps between two states of one motion.

    Between the ends of a step a smooth field changes as its slopes there predict, up to
    the step's error; a jump does not shrink with the step and no slope predicts it.
    `scales`: the motion's `Scales`. Near rest a rate is the rounding error of its
    terms.
    """
    along = last - first
    before, slope = jax.jvp(field, (first,), (along,))
    after, other = jax.jvp(field, (last,), (along,))
    change = jnp.abs(after - before)
    explained = _UNEXPLAINED * (jnp.abs(slope) + jnp.abs(other))
    size = scales.sizes(jnp.maximum(jnp.abs(before), jnp.abs(after)))
    rest = jnp.maximum(scales.least, scales.sizes(jnp.abs(last - scales.zero)))
    return jnp.any(change > explained + _JUMP * size + _ROUNDING * rest / scales.pace)
