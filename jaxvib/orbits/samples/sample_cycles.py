"""Limit cycles of many samples, each the one that its motion from rest approaches."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...dynamics.engines.choice import engine_of
from ...dynamics.flow import observe
from ...dynamics.motion import Want
from ...dynamics.observables import Observables, largest_forces
from ...ensemble import Reason, map_samples
from ...foundation.arrays import combine_arrays
from ...systems.base.system import System
from ...systems.drift import is_invariant, modulo_drift
from ..limit_cycle import LimitCycle, cycle_near
from ..orbit import PeriodicOrbit, unknown_orbits, with_failure, with_fields
from ..searches.attractors import exponent_of
from ..settings import SettlingSettings
from ..shooting.cycle_shooting import motion_sizes, return_time, window_parts
from ..shooting.error_estimates import error_factor
from ..shooting.multipliers import UNSTABLE

_TRANSIENT = 384  # guessed periods: 12 decay times at a damping ratio of 0.5 %
_FOLLOWED, _PARTS = 12, 64  # of these after the transient, with samples in each
# A cycle farther from the motion, in its extents, is another one: samples along a cycle
# are a tenth apart.
_SAME_CYCLE = 0.15
# Of the sizes: a smaller extent is rounding, a component's or that of a motion at rest.
_FLAT = 1e-6
# Fields that both kinds of results have.
_SAME = (
    "state", "period", "monodromy", "floquet_multipliers", "largest_multiplier", "stable",
    "amplitude", "residual", "state_error", "monodromy_error", "multiplier_error",
    "condition", "result",
)  # fmt: skip


class _Found(NamedTuple):
    """The cycle of a sample, its observables, and the motion's last state and size."""

    cycle: LimitCycle
    observables: Observables
    peak: Any
    end: Any


def cycles_from_rest(
    system: System,
    parts: tuple,
    period: float,
    settings: SettlingSettings,
    report: Callable[[int], None],
) -> PeriodicOrbit:
    """Return the cycle that each sample approaches from rest, see `regimes`.

    `parts`: the samples' parameters and the rest of their systems.
    """
    leaves, static = parts
    number = len(jax.tree.leaves(leaves)[0])
    transient = settings.transient_or(_TRANSIENT) * period
    numbers = period, transient, settings.rtol, error_factor(settings.evidence)
    lanes = leaves, *(np.full(number, each) for each in numbers)
    stage = _stage(static, settings.engine)
    found = map_samples(stage, lanes, chunk=settings.chunk, progress=report)
    return _as_orbits(system, found, number)


def _as_orbits(system: System, found: _Found, number: int) -> PeriodicOrbit:
    """Return the results of samples as orbits of one period, their own."""
    cycle, known = found.cycle, found.cycle.result == Reason.SUCCESS
    rests = cycle.result == Reason.EQUILIBRIUM
    fields = {name: np.array(getattr(cycle, name)) for name in _SAME}
    fields["state"][rests] = found.end[rests]
    fields["amplitude"][rests] = 0.0
    contacts = np.where(known, found.observables.onsets.sum(axis=-1), -1).astype(np.int32)
    peak = np.max(found.peak, axis=-1, initial=0.0)
    fields |= {
        "periods": np.where(known, 1, -1).astype(np.int32),
        "contacts": contacts,
        "contacts_per_period": np.where(known, contacts, np.nan).astype(np.float32),
        "max_contact_force": np.where(known, peak, np.nan),
        "contact_duration": np.where(
            known, found.observables.duration.sum(axis=-1), np.nan
        ),
        "lyapunov_exponent": exponent_of(cycle),
    }
    if system.drift is not None:
        drifting: Any = cycle
        fields["progress"] = np.asarray(drifting.progress)
        fields["progress_error"] = np.asarray(drifting.progress_error)
    return with_fields(unknown_orbits(system, number), **fields)


@functools.lru_cache(maxsize=32)
def _stage(static: System, engine: str) -> Callable[[tuple], _Found]:
    """Return the function of a lane (leaves, period, transient, rtol, factor)."""

    def stage(lane):
        leaves, period, transient, rtol, factor = lane
        system = combine_arrays(leaves, static)
        how = {"rtol": rtol, "grazing": 0.0, "engine": engine}
        begun, before, code = observe(system, system.rest(), 0.0, transient, **how)
        times = jnp.append(0.0, _FOLLOWED * period * window_parts(_FOLLOWED * _PARTS))
        want, chosen = Want(rtol, times), engine_of(system, engine)
        sampled = chosen.integrate(system, begun, times[0], times[-1], want)
        states = modulo_drift(system, sampled.states)
        result = jnp.where(code == Reason.SUCCESS, sampled.result, code)
        around = modulo_drift(system, sampled.states, sampled.states[0])
        back = return_time(around, times)
        span = jnp.where(jnp.isfinite(back), back, period)
        sound = jnp.all(jnp.isfinite(states))
        guess = jnp.where(sound, states[-1], system.rest())
        cycle = cycle_near(system, guess, span, rtol, factor, engine)
        result = jnp.where(sound, result, Reason.STEP_UNDERFLOW)
        if system.drift is not None:
            result = jnp.where(is_invariant(system), result, Reason.NOT_INVARIANT)
        sizes = jnp.maximum(*motion_sizes(before, begun, period))
        code = _reason(cycle, states, sizes, result)
        length = jnp.where(code == Reason.SUCCESS, cycle.period, 0.0)
        start = jnp.where(code == Reason.SUCCESS, cycle.state, guess)
        _, seen, _ = observe(system, start, 0.0, length, **how)
        peak = largest_forces(system.equation(), seen)
        return _Found(with_failure(cycle, code, kept=()), seen, peak, states[-1])

    return stage


def _reason(cycle: LimitCycle, states, sizes, result):
    """Return the reason code of a sample, given states and sizes of its motion."""
    size = jnp.maximum(jnp.max(jnp.abs(states), axis=0), jnp.finfo(float).tiny)
    extent = jnp.max(states, axis=0) - jnp.min(states, axis=0)
    extent = jnp.maximum(extent, _FLAT * size)
    apart = jnp.max(jnp.abs(states - cycle.state[None]) / extent[None], axis=1)
    near = (cycle.stable != UNSTABLE) & (jnp.min(apart) < _SAME_CYCLE)
    rests = jnp.all(jnp.max(states, axis=0) - jnp.min(states, axis=0) <= _FLAT * sizes)
    code = jnp.where(rests, Reason.EQUILIBRIUM, Reason.NOT_CONVERGED)
    # A cycle may be small beside the distance that a motion has drifted.
    code = jnp.where((cycle.result == Reason.SUCCESS) & near, Reason.SUCCESS, code)
    return jnp.where(result == Reason.SUCCESS, code, result).astype(jnp.int32)
