"""Where many samples settle: transients, shooting, and the motions with no period."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._quantity import check_range
from ..dynamics.flow import engine_for, simulate
from ..ensemble import Reason, compile_ahead, map_samples
from ..systems.parameters import parameters, replace
from .lyapunov import motion_class
from .multipliers import UNSTABLE
from .periodic_orbit import (
    GRAZING,
    LONGEST_PERIOD,
    PeriodicOrbit,
    evidence_factor,
    orbit_from_guess,
)
from .settling import recurrences, strobe, wander
from .shooting import scales

# A motion has settled on a period where it recurs this closely, in units of its own
# size; Newton's method takes over from there.
CLOSE = 1e-4
# It is tried with every period in which it recurs at least this closely.
PLAUSIBLE = 1e-2
TRANSIENT_RTOL = 1e-7
_SEGMENT = 32
_LIKELY = 3  # what has not settled after these segments most likely never does
_WATCHED_PERIODS = 256
_WATCHED_RTOL = 1e-9
_TRACE_STEPS = 64  # from one time that is stored to the next


class Traces(NamedTuple):
    """Motions over one period each: times (samples, points), states and forces."""

    times: np.ndarray
    states: np.ndarray
    contact_force: np.ndarray


def regimes(
    system: eqx.Module,
    samples: Mapping[str, Sequence[float] | np.ndarray],
    *,
    max_periods: int = LONGEST_PERIOD,
    transient: int = 384,
    rtol: float = 1e-8,
    evidence: str = "checked",
    engine: str = "auto",
    chunk: int = 64,
    progress: Callable[[int], None] | None = None,
) -> PeriodicOrbit:
    """Return the motion on which each sample settles from rest.

    Every sample runs until it recurs within `max_periods` (up to `transient`) periods
    of its load; Newton's method then finds its orbit, with the evidence of
    `periodic_orbit`. A motion that settles on no stable orbit is watched for 256
    periods more and classed by its largest Lyapunov exponent: `QUASI_PERIODIC`,
    `CHAOTIC` or `UNSETTLED`, which are results and no failures.

    **Arguments:** `samples`: values by parameter path, each of shape (samples,).
    `engine`: see `engine_for`; where "auto" takes events, orbits and their monodromy
    matrices are still diffrax's. Those of "event" are found in a tenth of the time and
    compiled in twice. `progress`: is called with the number of samples finished since its
    last call.
    **Returns:** a `PeriodicOrbit` of numpy arrays with a leading axis of samples.
    **Raises:** `ValueError` for an unknown path or a value out of its range.
    """
    factor = evidence_factor(evidence)
    leaves, static = batched(system, samples)
    orbit_stage = _orbit_stage(static, "event" if engine == "event" else "auto")
    engine, _ = engine_for(system, engine, len(jax.tree.leaves(leaves)[0]))
    run = functools.partial(map_samples, chunk=chunk)
    settle_stage = _settle_stage(static, max_periods, engine)
    state = run(_rest_stage(static), leaves)
    number = len(state)
    one = jax.tree.map(lambda leaf: leaf[0], (leaves, state))
    settings = np.asarray(1, np.int32), np.asarray(rtol), np.asarray(factor)
    compile_ahead(orbit_stage, (*one, *settings), number, chunk=chunk)
    nearest = np.full((number, max_periods), np.inf)
    result = np.zeros(number, np.int32)

    waiting = np.arange(number)
    for segment in range(-(-transient // _SEGMENT)):
        # Lanes that settled leave; the others are put together anew.
        found = run(settle_stage, (_take(leaves, waiting), state[waiting]))
        state[waiting], nearest[waiting], result[waiting] = found
        unsettled = (nearest[waiting].min(axis=1) > CLOSE) & (result[waiting] == 0)
        waiting = waiting[unsettled]
        if not waiting.size:
            break
        if segment == _LIKELY:
            stage = _wander_stage(static, engine)
            compile_ahead(stage, one, len(waiting), chunk=chunk)

    orbits = _blank(system, number)
    orbits.result[:] = result
    tell = progress or (lambda done: None)
    tell(int(np.sum(result != 0)))
    pending = np.flatnonzero(result == 0)
    for periods in range(1, max_periods + 1):
        tried = pending[nearest[pending, periods - 1] < PLAUSIBLE]
        if not tried.size:
            continue
        lanes = _take(leaves, tried), state[tried], np.full(tried.size, periods, np.int32)
        settings = np.full(tried.size, rtol), np.full(tried.size, factor)
        found, distance = run(orbit_stage, (*lanes, *settings))
        success = (found.result == Reason.SUCCESS) & (distance < 0.1)
        accepted = success & (found.stable != UNSTABLE)
        _put(orbits, tried[accepted], _take(found, accepted))
        tell(int(accepted.sum()))
        pending = np.setdiff1d(pending, tried[accepted], assume_unique=True)
    if pending.size:
        watched = run(
            _wander_stage(static, engine), (_take(leaves, pending), state[pending])
        )
        _put(orbits, pending, _classed(orbits, leaves, static, pending, watched))
        tell(pending.size)
    return orbits


def orbit_traces(
    system: eqx.Module,
    samples: Mapping[str, Sequence[float] | np.ndarray],
    orbits: PeriodicOrbit,
    points: int = 128,
) -> Traces:
    """Return each sample's motion over one period of its orbit, at `points` times.

    Half of the times are spread evenly, the others go where the acceleration changes
    most: into the contacts, which may last a thousandth of the period. A motion that is
    not periodic is followed over eight periods of its load.
    """
    leaves, static = batched(system, samples)
    spans = np.where(np.isfinite(orbits.period), orbits.period, 1.0)
    run = functools.partial(map_samples, _trace_stage(static))
    lanes = leaves, np.asarray(orbits.state)
    # The same number of times in both passes, so that one program serves them.
    evenly = spans[:, None] * np.linspace(0.0, 1.0, _TRACE_STEPS * (points - 1) + 1)
    trial, _ = run((*lanes, evenly))
    times = _telling_times(evenly, trial)
    states, force = run((*lanes, times))
    kept = np.s_[:, ::_TRACE_STEPS]
    return Traces(times[kept], states[kept], force[kept])


def batched(system: eqx.Module, samples: Mapping[str, Sequence[float] | np.ndarray]):
    """Return a system's parameters with a leading axis of samples, and the rest."""
    values = {path: np.asarray(value, float) for path, value in samples.items()}
    lengths = {path: value.shape for path, value in values.items()}
    if (
        not values
        or len(set(lengths.values())) != 1
        or len(next(iter(lengths.values()))) != 1
    ):
        raise ValueError(f"samples have shapes {lengths}; allowed: one shape (samples,)")
    replace(system, {path: value[0] for path, value in values.items()})  # names
    declared = parameters(system)
    for path, value in values.items():
        check_range(path, value, declared[path].unit, declared[path].allowed)
    _, static = eqx.partition(system, eqx.is_inexact_array)

    def place(values):
        return eqx.filter(replace(system, values), eqx.is_inexact_array)

    leaves = jax.tree.map(np.asarray, jax.jit(jax.vmap(place))(values))
    return leaves, static


@functools.lru_cache(maxsize=32)
def _rest_stage(static):
    return lambda leaves: eqx.combine(leaves, static).rest()


@functools.lru_cache(maxsize=32)
def _settle_stage(static, longest, engine):
    def stage(lane):
        leaves, state = lane
        system = eqx.combine(leaves, static)
        states, result = strobe(system, state, _SEGMENT, TRANSIENT_RTOL, engine)
        return states[-1], recurrences(system, states, longest), result

    return stage


@functools.lru_cache(maxsize=32)
def _orbit_stage(static, engine):
    def stage(lane):
        leaves, state, periods, rtol, factor = lane
        system = eqx.combine(leaves, static)
        orbit = orbit_from_guess(system, state, periods, rtol, factor, engine)
        return orbit, jnp.max(jnp.abs(orbit.state - state) / scales(system, state))

    return stage


@functools.lru_cache(maxsize=32)
def _wander_stage(static, engine):
    def stage(lane):
        leaves, state = lane
        system = eqx.combine(leaves, static)
        grazing = GRAZING * scales(system, state)[0]
        return wander(system, state, _WATCHED_PERIODS, _WATCHED_RTOL, grazing, engine)

    return stage


@functools.lru_cache(maxsize=32)
def _trace_stage(static):
    def stage(lane):
        leaves, state, times = lane
        trajectory = simulate(eqx.combine(leaves, static), state, times, TRANSIENT_RTOL)
        return trajectory.states, trajectory.contact_force

    return stage


def _telling_times(times, states):
    """Return as many times (samples, p) as given, dense where velocities (…, 2n) bend."""
    velocity = np.split(states, 2, axis=-1)[1]
    bends = np.abs(np.diff(velocity, 2, axis=1)).sum(axis=-1)
    bends = np.pad(bends, ((0, 0), (1, 1)), mode="edge")
    bends = bends[:, 1:] + bends[:, :-1]
    bends = np.where(np.isfinite(bends), bends, 0.0)  # no motion: even times
    share = 1.0 / bends.shape[1] + bends / np.maximum(bends.sum(1, keepdims=True), 1e-300)
    passed = np.pad(np.cumsum(share, axis=1), ((0, 0), (1, 0)))
    wanted = passed[:, -1:] * np.linspace(0.0, 1.0, times.shape[1])
    lanes = zip(wanted, passed, times, strict=True)
    return np.stack([np.interp(*lane) for lane in lanes])


def _classed(orbits, leaves, static, lanes, watched) -> PeriodicOrbit:
    """Return what is known of motions that are not periodic, as orbits without one."""
    period = np.asarray(
        jax.vmap(lambda leaf: eqx.combine(leaf, static).period())(_take(leaves, lanes))
    )
    code = motion_class(watched.exponent, watched.exponent_error, period)
    code = np.where(watched.result == 0, code, watched.result)
    classed = _take(orbits, lanes)
    return eqx.tree_at(
        lambda o: (
            o.state,
            o.period,
            o.contacts_per_period,
            o.max_contact_force,
            o.amplitude,
            o.lyapunov_exponent,
            o.result,
        ),
        classed,
        (
            watched.state,
            8 * period,
            watched.contacts_per_period,
            watched.max_contact_force,
            watched.amplitude,
            watched.exponent,
            code.astype(np.int32),
        ),
    )


def _blank(system, number) -> PeriodicOrbit:
    """Return orbits that nothing is known of yet."""
    periods = jnp.asarray(1, jnp.int32)
    shape = jax.eval_shape(
        lambda s: orbit_from_guess(s, s.rest(), periods, 1e-8, 1e-2), system
    )

    def blank(leaf):
        inexact = np.issubdtype(leaf.dtype, np.inexact)
        return np.full((number, *leaf.shape), np.nan if inexact else -1, leaf.dtype)

    return jax.tree.map(blank, shape)


def _take(tree, lanes):
    return jax.tree.map(lambda leaf: np.asarray(leaf)[lanes], tree)


def _put(tree, lanes, values) -> None:
    def put(leaf, new):
        leaf[lanes] = new

    jax.tree.map(put, tree, values)
