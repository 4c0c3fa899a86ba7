"""Periods that loads have in common, and fields that repeat as they are said to."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._arrays import is_known, on_host, parted, rejoined
from .._environment import require_float64
from ..kernels import Kernel
from ..kernels.in_turn import in_turn
from ..kernels.library import library_kernel
from .forced import ForcedSystem
from .loads import Load, changing, never_repeats

# Loads repeat together after as many of the longest period, or never.
MOST_WHOLE = 64
_COMMENSURATE = 1e-10  # of a ratio of periods
_REPEATS = 1e-8  # of the largest rate: a period is given to nine digits or more
# Where f(t + T, x) = f(t, x) is tried: what holds there by chance is no law of motion.
_TIMES, _STATES = 8, 6


def common_period(periods: Float[Array, " loads"]) -> Float[Array, ""]:
    """Return the shortest time that is a whole number of each period, NaN if none is.

    It is at most 64 of the longest one.
    """
    longest = jnp.max(periods)
    if periods.shape[0] == 1:
        return longest
    wholes = jnp.arange(1.0, MOST_WHOLE + 1)
    turns = jax.lax.stop_gradient(wholes[:, None] * (longest / periods)[None])
    fits = jnp.all(jnp.abs(turns - jnp.round(turns)) <= _COMMENSURATE * turns, axis=1)
    return jnp.where(jnp.any(fits), wholes[jnp.argmax(fits)], jnp.nan) * longest


def period_of_loads(loads) -> Float[Array, ""]:
    """Return the common period of applied loads, s; NaN if they have none.

    **Raises:** `ValueError` where no load changes, or one never repeats.
    """
    if not loads:
        raise ValueError("loads = () is empty; a period needs one load or more")
    moving = changing(loads)
    if not moving:
        raise ValueError(
            "loads are constant, all of them; a period needs one that changes and repeats"
        )
    for load in never_repeats(loads):
        raise ValueError(
            f"load {load.name or loads.index(load)} = {type(load.law).__name__} never "
            "repeats; a period needs loads that do"
        )
    periods = [load.law.period() for load in moving]
    return periods[0] if len(periods) == 1 else common_period(jnp.stack(periods))


def period_of(system) -> Float[Array, ""]:
    """Return a system's period, s, or NaN where it has none.

    Loads may have none in common; a field, or a load of a user's own, may not repeat in
    the time that it says.
    """
    period = jnp.asarray(system.period(), float)
    return jnp.where(_repeats(system, jax.lax.stop_gradient(period)), period, jnp.nan)


def check_period(system) -> None:
    """Raise `ValueError` if a system is known to have no period."""
    require_float64()
    refuse_autonomous(system)
    numbers, static = parted(system)
    if not is_known(numbers):
        jax.eval_shape(system.period)  # raises where no load changes, or one never repeats
        return
    with jax.ensure_compile_time_eval():  # also of what is known within a traced program
        period, repeats = on_host(_told_kernel(static)(numbers))
    finite = all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(numbers))
    if not np.isfinite(period) and finite:
        raise ValueError(without_period(system.loads))
    if np.isfinite(period) and not repeats:
        whose = "field" if isinstance(system, ForcedSystem) else "load"
        raise ValueError(
            f"period = {float(period):.10g} s is none: the {whose} does not have "
            "f(t + T) = f(t); "
            "allowed: a time in which it repeats, to nine digits"
        )


def refuse_autonomous(system) -> None:
    """Raise `ValueError` if nothing moves a system but itself."""
    if getattr(system, "autonomous", False):
        raise ValueError(
            "the system is autonomous: there is no load whose periods are counted; "
            "allowed: equilibrium, continue_equilibrium, periodic_orbit(..., period=...), "
            "continue_orbit, switch_branch, bifurcation_point, simulate, flow"
        )


def without_period(loads) -> str:
    """Return the message that loads have no period in common."""
    each = ", ".join(f"{float(load.law.period()):.10g}" for load in changing(loads))
    return (
        f"loads have periods {each} s and none in common; allowed: ratios of whole "
        f"numbers, up to {MOST_WHOLE} of the longest"
    )


@functools.lru_cache(maxsize=64)
def _told_kernel(static) -> Kernel:
    """Return the kernel of systems' parameters to their periods, and whether they repeat.

    By XLA the division of a period alone would take longer to compile than all of it.
    """

    def told(numbers):
        system = rejoined(numbers, static)
        period = jnp.asarray(system.period(), float)
        return period, jnp.asarray(_repeats(system, period))

    return library_kernel(told, static)


def _repeats(system, period) -> Bool[Any, ""]:
    """Return whether f(t + T, x) = f(t, x) at some times and states, but for rounding."""
    parts = (np.arange(_TIMES) * 0.6180339887498949 + 0.1) % 1.0
    if isinstance(system, ForcedSystem):
        rng = np.random.default_rng(1)
        states = rng.normal(size=(_STATES, system.dimension))
        states *= np.array([0.0, 1e-3, 0.1, 1.0, 1.0, 10.0])[:, None]
        field = system.equation().vector_field

        def along(state):
            def both(part):
                time = period * part
                return field(time, state), field(time + period, state)

            return in_turn(both, jnp.asarray(parts))

        return _same(*in_turn(along, jnp.asarray(states)))
    every = np.asarray(True)
    for load in system.loads:
        if not isinstance(load.law, Load):  # those of the library are known to
            force, times = jax.vmap(load.law.force), period * jnp.asarray(parts)
            now, later = force(times), force(times + load.law.period())
            every = every & _same(now[None, :, None], later[None, :, None])
    return every


def _same(now, later) -> Bool[Array, ""]:
    """Return whether rates (states, times, n) are the same, as far as they are finite."""
    known = jnp.isfinite(now) & jnp.isfinite(later)
    apart = jnp.where(known, jnp.abs(later - now), 0.0)
    size = jnp.max(jnp.where(known, jnp.abs(now), 0.0), axis=1, keepdims=True)
    return jnp.all(apart <= _REPEATS * size)
