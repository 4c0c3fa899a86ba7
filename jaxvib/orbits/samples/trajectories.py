"""Trajectories of many samples over one period, with times dense in contacts."""

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...dynamics.engines import engine_for
from ...dynamics.engines.choice import MODAL
from ...dynamics.engines.modal import ModalEngine
from ...dynamics.events import motion_kernel
from ...dynamics.flow import observe, simulate
from ...dynamics.measures import mean_lost_power
from ...dynamics.modal import ModalForm
from ...dynamics.motion import Want
from ...dynamics.stepping.time_blocks import BLOCK, map_time_blocks
from ...ensemble import map_samples
from ...foundation.arrays import combine_arrays, partition_arrays
from ...foundation.quantity import Range, check_range
from ...systems.base.system import System
from ...systems.contacts.annular import annular
from ...systems.lane_kernel import lane_kernel
from ..periodic_orbit import PeriodicOrbit
from ..shooting.orbit_shooting import scales
from ..shooting.settling import GRAZING, TRANSIENT_RTOL
from .modal_lanes import modal_groups
from .regimes import batched, transient_engine
from .sample_orbits import FOLLOWED

_LOOKS = 64  # trial times per stored time


class Trajectories(NamedTuple):
    """Trajectories over one period: times (samples, points), states and forces."""

    times: np.ndarray
    states: np.ndarray
    contact_force: np.ndarray


def orbit_trajectories(
    system: System,
    samples: Mapping[str, Sequence[float] | np.ndarray],
    orbits: PeriodicOrbit,
    points: int = 128,
) -> Trajectories:
    """Return each sample's motion over one period of its orbit, at `points` times.

    Half of the times are spread evenly, the others are dense where the acceleration
    changes most: in the contacts, which may last a thousandth of the period. A motion
    without a short period is followed over eight periods of its load.

    >>> swept = {"load.frequency": [5.6, 5.8]}
    >>> settled = jv.orbits.regimes(system, swept)
    >>> motions = jv.orbits.orbit_trajectories(system, swept, settled)
    >>> motions.states.shape
    (2, 128, 4)
    """
    check_range("points", points, "", Range(at_least=2, at_most=100_000))
    leaves, static = batched(system, samples)
    start = np.asarray(orbits.state)
    evenly = _spans(orbits)[:, None] * np.linspace(0.0, 1.0, _LOOKS * (points - 1) + 1)
    if transient_engine(system, "auto", len(start))[0] != MODAL:
        stage = _stage(system, static)
        return Trajectories(*_sampled(stage, system, leaves, start, evenly, points))
    found = [
        np.zeros((len(start), points, *size))
        for size in ((), start.shape[1:], (len(system.contacts),))
    ]
    for lanes, *parts in modal_groups(leaves, static):
        stage = _stage(system, parts[1])
        seen = _sampled(stage, system, parts[0], start[lanes], evenly[lanes], points)
        for whole, some in zip(found, seen, strict=True):
            whole[lanes] = some
    return Trajectories(*found)


def contact_work_rates(
    system: System,
    samples: Mapping[str, Sequence[float] | np.ndarray],
    orbits: PeriodicOrbit,
) -> np.ndarray:
    """Return the mean power lost in each contact, W, (samples, contacts).

    To the damping of contacts and to the friction of annular ones, as `work_rates` of
    `dynamics.contact_histories`; without that of friction elements. Of one period of
    each sample's orbit; a motion without a short period is followed over eight periods
    of its load.

    **Raises:** `ValueError` for an unknown path or a value out of its range.

    >>> swept = {"load.frequency": [5.6, 5.8]}
    >>> settled = jv.orbits.regimes(system, swept)
    >>> jv.orbits.contact_work_rates(system, swept, settled).shape
    (2, 1)
    """
    leaves, static = batched(system, samples)
    start, spans = np.asarray(orbits.state), _spans(orbits)
    if transient_engine(system, "auto", len(start))[0] != MODAL:
        return map_samples(_lost_per_time(static), (leaves, start, spans))
    found = np.zeros((len(start), len(system.contacts)))
    for lanes, *parts in modal_groups(leaves, static):
        lane = parts[0], start[lanes], spans[lanes]
        found[lanes] = map_samples(_lost_per_time(parts[1]), lane)
    return found


@lane_kernel
def _lost_per_time(lane, static):
    leaves, state, span = lane
    system = combine_arrays(leaves, static)
    if annular(system.contacts):  # those of modal forms are observed
        return mean_lost_power(system, state, span, TRANSIENT_RTOL)
    depth = GRAZING * scales(system, state)[0]
    _, seen, _ = observe(system, state, 0.0, span, rtol=TRANSIENT_RTOL, grazing=depth)
    return seen.lost / span


def _sampled(stage, system, leaves, start, evenly, points: int) -> tuple:
    """Return times, states and forces of motions, from a look at even times."""
    trial, _ = _trajectories(stage, leaves, start, evenly)
    count = len(system.freedom_names)
    half = count if 2 * count <= trial.shape[-1] else trial.shape[-1] // 2
    times = _adapted_times(evenly, trial[..., half : 2 * half], points)
    return times, *_trajectories(stage, leaves, start, times)


def _spans(orbits: PeriodicOrbit) -> np.ndarray:
    share = FOLLOWED / np.maximum(orbits.periods, FOLLOWED)
    return np.where(np.isfinite(orbits.period), orbits.period * share, 1.0)


def _trajectories(stage, leaves, state, times) -> tuple[np.ndarray, np.ndarray]:
    """Return states (samples, times, n) and forces (samples, times, contacts)."""
    rtol = np.full(len(times), TRANSIENT_RTOL)

    def go_on(state, span):
        return map_samples(stage, (leaves, state, span, rtol))

    states, forces, _ = map_time_blocks(go_on, state, times)
    return states, forces


def _stage(system, static):
    """Return the function that advances a sample through one block of times."""
    if isinstance(static, ModalForm):
        return _in_modes(static)
    kernel, (leaves, _) = _by_events(static), partition_arrays(system)
    lane = leaves, system.rest(), np.zeros(BLOCK + 1), np.asarray(TRANSIENT_RTOL)
    by_events = functools.partial(kernel.unsupported_reason, lane)
    engine, _ = engine_for(system, "auto", 1, by_events)
    return kernel if engine == "event" else _by_steps(static)


@lane_kernel
def _by_events(lane, static):
    leaves, state, times, rtol = lane
    span = times[0], times[-1]
    motion = motion_kernel(static)(state, leaves, *span, Want(rtol, times))
    return motion.states, motion.forces, motion.result


@functools.lru_cache(maxsize=32)
def _by_steps(static):
    def stage(lane):
        leaves, state, times, rtol = lane
        motion = simulate(combine_arrays(leaves, static), state, times, rtol)
        return motion.states, motion.contact_force, motion.result

    return stage


@lane_kernel
def _in_modes(lane, static: ModalForm):
    leaves, state, times, rtol = lane
    span, form = (times[0], times[-1]), combine_arrays(leaves, static)
    motion = ModalEngine().integrate(form, state, *span, Want(rtol, times))
    return motion.states, motion.forces, motion.result


def _adapted_times(times, velocity, count: int):
    """Return `count` times (samples, count), dense where velocities (…, n) bend."""
    bends = np.abs(np.diff(velocity, 2, axis=1)).sum(axis=-1)
    bends = np.pad(bends, ((0, 0), (1, 1)), mode="edge")
    bends = bends[:, 1:] + bends[:, :-1]
    bends = np.where(np.isfinite(bends), bends, 0.0)  # no motion: even times
    share = 1.0 / bends.shape[1] + bends / np.maximum(bends.sum(1, keepdims=True), 1e-300)
    passed = np.pad(np.cumsum(share, axis=1), ((0, 0), (1, 0)))
    lengths = passed[:, -1:] * np.linspace(0.0, 1.0, count)
    lanes = zip(lengths, passed, times, strict=True)
    return np.stack([np.interp(*lane) for lane in lanes])
