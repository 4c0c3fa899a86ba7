r"""Steps that end at breaks of loads, such as pulses or corners of a record.

A step ends a few roundings before the break $b$ and the next one starts as much after
it. There the sensitivities of a motion jump, as the break moves with its parameters: to
first order by $(f^- - f^+)\,db$, with the rates $f$ on either side.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ...foundation.types import Number

_ROUNDING = 8 * jnp.finfo(float).eps  # of a time, on either side of a break
_TINY = 1e-290  # s: for a break at time 0, where the relative part is 0; not denormal


def just_before(time: Number) -> Array:
    """Return the last time before a break."""
    return time * (1 - jnp.sign(time) * _ROUNDING) - _TINY  # infinite times stay so


def just_after(time: Number) -> Array:
    """Return the first time after a break."""
    return time * (1 + jnp.sign(time) * _ROUNDING) + _TINY


def crossed(
    field: Callable, next_breakpoint: Callable, time: Number, state: PyTree
) -> PyTree:
    """Return the state after the break that follows a `time`.

    The motion is continued from `just_before` the break to it, and from there to
    `just_after`: without it, the omitted times would add up over many breaks. First and
    second derivatives are those of a motion that continues to the displaced break and
    returns with the rates after it. `field(time, state)`: the rates;
    `next_breakpoint(time)`.
    """
    there = next_breakpoint(time)
    there = jnp.where(jnp.isfinite(there), there, 0.0)  # no break ahead: not used
    here = jax.lax.stop_gradient(there)
    before, after, late = just_before(here), just_after(here), there - here
    state = _stepped(field, (before, before + late), here - before + late, state)
    return _stepped(field, (after + late, after), after - here - late, state)


def _stepped(field, times, length, state):
    """Return the state after one step of Heun's method.

    `times`: of its two rates; not the break itself, where the rates are those after it.
    """
    first = field(times[0], state)
    moved = jax.tree.map(lambda y, k: y + length * k, state, first)
    second = field(times[1], moved)
    half = length / 2
    return jax.tree.map(lambda y, a, b: y + half * (a + b), state, first, second)
