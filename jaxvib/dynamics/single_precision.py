"""Rates evaluated in single precision."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .scales import scales_of
from .solve import Problem
from .step_limits import PROBES_OF_A_LANE, has_jump, longest_step


def in_float32(problem: Problem, period: Callable[[Any], Any]) -> Problem:
    """Return a problem whose rates are evaluated in float32 and returned in float64.

    `period(parameters)`: the period of the rates. Time is reduced by it in float64 and
    then rounded: float32 would leave few digits of it in a long motion.
    """

    def prepare(parameters):
        prepared = jax.tree.map(_narrow, problem.prepare(parameters))
        return prepared, period(parameters)

    def field(time, state, prepared):
        equation, repeats = prepared
        time = time - jnp.floor(time / repeats) * repeats
        state = jax.tree.map(_narrow, state)
        rate = problem.field(_narrow(time), state, equation)
        return jax.tree.map(lambda leaf: leaf.astype(float), rate)

    def scales(t0, t1, state, prepared):
        wide = jax.tree.map(_widen, prepared[0])
        return scales_of(wide, lambda t, y: field(t, y, prepared), t0, t1, state)

    def longest(t0, t1, state, prepared):
        def narrow(time, state):
            return field(time, state, prepared)

        wide = jax.tree.map(_widen, prepared[0])
        return longest_step(wide, narrow, t0, t1, state, PROBES_OF_A_LANE)

    def jumps(scales, time, first, last, prepared):
        if not prepared[0].may_jump():
            return None
        return has_jump(lambda y: field(time, y, prepared), scales, first, last)

    return problem._replace(
        prepare=prepare,
        field=field,
        scales=scales,
        longest=longest,
        jumps=jumps,
        next_breakpoint=lambda *_: None,  # loads with breaks are rejected
    )


def _narrow(leaf):
    if not eqx.is_inexact_array(leaf):
        return leaf
    return jnp.asarray(leaf).astype(jnp.float32)


def _widen(leaf):
    if not eqx.is_inexact_array(leaf):
        return leaf
    return jnp.asarray(leaf).astype(float)
