"""Common periods of loads, and verification of declared periods."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..foundation.arrays import combine_arrays, is_concrete, partition_arrays
from ..foundation.environment import require_float64
from ..kernels.lower.tangents import map_rows
from .base.system import System, state_shape
from .drift import check_drift, is_invariant
from .lane_kernel import lane_kernel
from .loads import as_load, never_repeats, time_varying
from .variation import Variation, variations_of

# The largest multiple of the longest period that is tried as the common period.
MOST_WHOLE = 64
_COMMENSURATE = 1e-10  # relative tolerance of period ratios
_REPEATS = 1e-8  # of the largest rate: a period needs nine digits or more
# Numbers of times and states where f(t + T, x) = f(t, x) is tested.
_TIMES, _STATES = 8, 6
_OF_CYCLES = "periodic_orbit, regimes and basins find limit cycles by their `period`"


def common_period(periods: Float[Array, " loads"]) -> Float[Array, ""]:
    """Return the least common multiple of periods, NaN if there is none.

    It is at most 64 times the longest one.
    """
    longest = jnp.max(periods)
    if periods.shape[0] == 1:
        return longest
    wholes = jnp.arange(1.0, MOST_WHOLE + 1)
    turns = jax.lax.stop_gradient(wholes[:, None] * (longest / periods)[None])
    fits = jnp.all(jnp.abs(turns - jnp.round(turns)) <= _COMMENSURATE * turns, axis=1)
    return jnp.where(jnp.any(fits), wholes[jnp.argmax(fits)], jnp.nan) * longest


def period_of_loads(
    loads: Sequence, variations: Sequence[Variation] = ()
) -> Float[Array, ""]:
    """Return the common period of loads and variations, s; NaN if there is none.

    **Raises:** `ValueError` if none of them changes, or one is not periodic.
    """
    if not loads and not variations:
        raise ValueError(f"loads = () is empty; a period needs one or more; {_OF_CYCLES}")
    moving = time_varying([*loads, *variations])
    if not moving:
        raise ValueError(
            f"all loads are constant; a period needs a periodic one; {_OF_CYCLES}"
        )
    for load in never_repeats(loads):
        raise ValueError(
            f"load {load.name or loads.index(load)} = {type(load.law).__name__} is not "
            "periodic; a period needs periodic loads"
        )
    for variation in never_repeats(variations):
        raise ValueError(
            f"{variation.name} = {type(variation.law).__name__} is not periodic; a "
            "period needs periodic ones"
        )
    periods = [load.law.period() for load in moving]
    return periods[0] if len(periods) == 1 else common_period(jnp.stack(periods))


def period_of(system: System) -> Float[Array, ""]:
    """Return a system's period, s, or NaN if it has none.

    Loads may have no common period, and users' fields or loads not the declared one. A
    system with a drift has none if the shift changes it.
    """
    period = jnp.asarray(system.period(), float)
    repeats = _repeats(system, jax.lax.stop_gradient(period))
    if system.drift is not None:
        repeats = repeats & is_invariant(system)
    return jnp.where(repeats, period, jnp.nan)


def check_period(system: System) -> None:
    """Raise `ValueError` if a system is known to have no period, or not to drift."""
    require_float64()
    refuse_autonomous(system)
    check_drift(system)
    numbers, static = partition_arrays(system)
    if not is_concrete(numbers):
        jax.eval_shape(system.period)  # raises for constant or non-periodic loads
        return
    with jax.ensure_compile_time_eval():  # also for concrete values inside a trace
        period, repeats = _checked_kernel(static).on_host(numbers)
    finite = all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(numbers))
    if not np.isfinite(period) and finite:
        raise ValueError(without_period(system.loads, variations_of(system)))
    if np.isfinite(period) and not repeats:
        whose = "load or variation" if variations_of(system) else "load"
        whose = "field" if system.period_is_declared else whose
        raise ValueError(
            f"period = {float(period):.10g} s is not a period: the {whose} does not "
            "have f(t + T) = f(t); "
            "allowed: a time in which it repeats, to nine digits"
        )


def refuse_autonomous(system: eqx.Module) -> None:
    """Raise `ValueError` for an autonomous system."""
    if getattr(system, "autonomous", False):
        raise ValueError(
            "the system is autonomous: it has no load period; "
            "allowed: equilibrium, continue_equilibrium, periodic_orbit(..., period=...), "
            "continue_orbit, switch_branch, bifurcation_point, simulate, flow"
        )


def without_period(loads: Sequence, variations: Sequence[Variation] = ()) -> str:
    """Return the message for loads and variations without a common period."""
    moving = time_varying([*loads, *variations])
    each = ", ".join(f"{float(part.law.period()):.10g}" for part in moving)
    which = "loads and variations" if variations else "loads"
    return (
        f"{which} have periods {each} s without a common one; allowed: ratios of "
        f"integers, up to {MOST_WHOLE} times the longest"
    )


@lane_kernel
def _checked_kernel(numbers, static):
    """Return the kernel of parameters to (period, whether the field has it).

    XLA would need longer to compile the division of a period than LLVM for all of it.
    """
    system = combine_arrays(numbers, static)
    period = jnp.asarray(system.period(), float)
    return period, jnp.asarray(_repeats(system, period))


def _repeats(system, period) -> Bool[Any, ""]:
    """Return whether f(t + T, x) = f(t, x) at some times and states, up to rounding."""
    parts = (np.arange(_TIMES) * 0.6180339887498949 + 0.1) % 1.0
    if system.period_is_declared:
        rng = np.random.default_rng(1)
        states = rng.normal(size=(_STATES, state_shape(system)[0]))
        states *= np.array([0.0, 1e-3, 0.1, 1.0, 1.0, 10.0])[:, None]
        field = system.equation().vector_field

        def along(state):
            def both(part):
                time = period * part
                return field(time, state), field(time + period, state)

            return map_rows(both, jnp.asarray(parts))

        return _same(*map_rows(along, jnp.asarray(states)))
    every = np.asarray(True)
    for part in [*system.loads, *variations_of(system)]:
        if as_load(part.law) is None:  # laws of the library do
            force, times = jax.vmap(part.law.force), period * jnp.asarray(parts)
            now, later = force(times), force(times + part.law.period())
            every = every & _same(now[None, :, None], later[None, :, None])
    return every


def _same(now, later) -> Bool[Array, ""]:
    """Return whether finite rates (states, times, n) are equal."""
    known = jnp.isfinite(now) & jnp.isfinite(later)
    apart = jnp.where(known, jnp.abs(later - now), 0.0)
    size = jnp.max(jnp.where(known, jnp.abs(now), 0.0), axis=1, keepdims=True)
    return jnp.all(apart <= _REPEATS * size)
