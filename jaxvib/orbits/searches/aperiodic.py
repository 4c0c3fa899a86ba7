"""Observation of motions without a periodic orbit, until they can be classified."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ...ensemble import Reason, map_samples
from ...foundation.arrays import combine_arrays, gather_lanes, put_lanes
from ...foundation.machine import map_in_threads
from ...systems.base.system import System
from ...systems.drift import Drift
from ...systems.lane_kernel import lane_kernel
from ..shooting.classification import classify
from ..shooting.linear_steady_state import (
    attracts,
    linear_but_for_contacts,
    linear_steady_state,
)
from ..shooting.orbit_shooting import scales
from ..shooting.settling import Records, track_aperiodic

WINDOW = 256  # load periods observed at a time
# Tighter than an orbit's: the least error of an exponent, 5e-6 a period, is far above it.
WATCHED_RTOL = 1e-9
# (windows, judged): after so many windows a motion is judged by the last of them. The
# first look only accepts motions that recur, and the last is taken only if a linear
# system's decay times require it, within which a chaotic motion must not have come to
# rest.
LOOKS = (
    *((1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4)),
    *((8, 5), (10, 6), (12, 7), (14, 8), (30, 16)),
)
_MOST = LOOKS[-1][1]  # windows that a motion is judged by
_USUAL = 14  # windows, after which undecided motions remain so
_DECAY_TIMES = 80.0  # observed for a linear system: e^-80 is below any double's digits
# Lanes that a thread classifies at once: their states fit into its cache.
_AT_ONCE = 32


class TrackedMotions(NamedTuple):
    """Observed motions, one row each, or one row, and their classes.

    Numbers are those of the window that each was judged by: `exponent` and its `error`,
    1/s per period of the load; the mean number of contacts a period; the largest contact
    force, N; half of highest minus lowest displacement, m; `trail`: the last 512 states
    once a period; `state`: the last one; `watched`: for how many periods;
    `progress`: the mean shift a period along a drift and its error, (lanes, 2), else None.
    """

    code: Any
    repeats: Any
    exponent: Any
    error: Any
    contacts_per_period: Any
    max_contact_force: Any
    amplitude: np.ndarray
    trail: np.ndarray
    state: np.ndarray
    watched: Any
    progress: Any = None


def track_motions(
    leaves: PyTree,
    static: System,
    states: np.ndarray,
    *,
    engine: str,
    longest: int,
    chunk: int = 64,
    find_orbits: Callable | None = None,
) -> TrackedMotions:
    """Observe motions until they are classified, or for 14 windows of 256 periods.

    A motion is judged after 1, 2, 3, 4, 5, 6, 8, 10, 12 and 14 windows, by the later half
    of its states or more.

    Those of a linear system with contacts are observed for at least 80 of its slowest
    decay times, at most 30 windows, before they are called chaotic or quasi-periodic: a
    lightly damped motion may be chaotic for a long time before it converges.

    **Arguments:** `leaves`, `static`: the parameters of each lane's system, and the rest.
    `states`: (lanes, n). `longest`: the longest period of interest.
    `find_orbits(lanes, trails, units, repeats)`: searches for the orbits of lanes that
    approach one, and returns which were found; those are not observed further.
    **Returns:** the codes are SUCCESS if an orbit was found, or if a motion
    recurs within `longest` periods and `find_orbits` is None.
    """
    number, size = states.shape
    smooth = size // 2 if static.mechanical else size  # velocities jump at hard stops
    stage = track_stage(static, engine)
    units, least = map_samples(_units_stage(static), (leaves, states), chunk=chunk)
    least = np.clip(least, 2 * WINDOW, LOOKS[-1][0] * WINDOW)

    judge = functools.partial(
        _judged_lanes, longest=longest, smooth=smooth, drift=static.drift
    )
    now, directions = states.copy(), np.full((number, size), size**-0.5)
    found = _unknown(number, size, smooth, static.drift)
    open_, done = np.arange(number), 0
    seen: list[Records] = []  # of the open lanes, one for each window
    for windows, judged in LOOKS:
        for _ in range(windows - done):
            lanes = gather_lanes((leaves, now, directions), open_)
            part = map_samples(stage, lanes, chunk=chunk)
            now[open_], directions[open_] = part.state, part.direction
            seen.append(part.records)
            found.code[open_] = part.result
            successful = part.result == Reason.SUCCESS
            lost, open_, seen = (
                open_[~successful],
                open_[successful],
                _rows(seen, successful),
            )
            found.state[lost] = now[lost]
            if not open_.size:
                return found
        done = windows
        _classify_into(found, open_, seen[-judged:], units, judge)
        found.watched[open_] = done * WINDOW
        if find_orbits is not None:
            _find_orbits_into(found, open_, units, find_orbits)
        codes = found.code[open_]
        known = (done >= _USUAL) | ~np.isin(codes, _OPEN)
        seen_enough = (done * WINDOW >= least[open_]) | np.isin(codes, _CERTAIN)
        pending = ~(known & seen_enough)
        open_, seen = open_[pending], _rows(seen[-_MOST:], pending)
        if not open_.size:
            break
    return found


def _find_orbits_into(
    found: TrackedMotions, lanes: np.ndarray, units: np.ndarray, find_orbits: Callable
) -> None:
    """Search for the orbits of motions that approach one; store their new codes."""
    near = lanes[np.isin(found.code[lanes], (Reason.SUCCESS, Reason.TRANSIENT))]
    if not near.size:
        return
    there = find_orbits(near, found.trail[near], units[near], found.repeats[near])
    # A motion that recurs, but of which no orbit was found, remains undecided.
    found.code[near[found.code[near] == Reason.SUCCESS]] = Reason.UNDECIDED_MOTION
    found.code[near[there]] = Reason.SUCCESS


@lane_kernel
def track_stage(lane, static: System, engine: str):
    """Return the function that observes one lane for one more window."""
    leaves, state, direction = lane
    system = combine_arrays(leaves, static)
    return track_aperiodic(system, state, direction, WINDOW, WATCHED_RTOL, engine)


@lane_kernel
def _units_stage(lane, static):
    leaves, state = lane
    system = combine_arrays(leaves, static)
    least = jnp.zeros(())
    if linear_but_for_contacts(system):
        end = linear_steady_state(system)
        decays = _DECAY_TIMES * end.decay / system.period()
        least = jnp.where(attracts(end), decays, 0.0)
    return scales(system, state), least


_OPEN = (Reason.UNDECIDED_MOTION, Reason.TRANSIENT)
_CERTAIN = (Reason.SUCCESS, Reason.LONGER_PERIOD)  # a stable orbit exists


def _unknown(number: int, size: int, places: int, drift: Drift | None) -> TrackedMotions:
    """Return motions of which nothing is known."""
    numbers = [np.full(number, np.nan) for _ in range(4)]
    return TrackedMotions(
        np.zeros(number, np.int64),
        np.zeros(number, np.int64),
        *numbers,
        np.full((number, places), np.nan),
        np.full((number, 2 * WINDOW, size), np.nan),
        np.full((number, size), np.nan),
        np.zeros(number, np.int64),
        None if drift is None else np.full((number, 2), np.nan),
    )


def _rows(windows: Sequence[Records], rows: np.ndarray) -> list[Records]:
    """Return the records of the lanes that are kept."""
    if rows.all():
        return list(windows)
    return [gather_lanes(each, rows) for each in windows]


def _classify_into(
    found: TrackedMotions,
    lanes: np.ndarray,
    windows: Sequence[Records],
    units: np.ndarray,
    judge: Callable[[Sequence[Records], np.ndarray], TrackedMotions],
) -> None:
    """Store the classes of lanes by their last windows."""

    def judged(begin: int) -> None:
        rows = slice(begin, begin + _AT_ONCE)
        seen = [gather_lanes(each, rows) for each in windows]
        put_lanes(found, lanes[rows], judge(seen, units[lanes[rows]]))

    map_in_threads(judged, range(0, len(lanes), _AT_ONCE))


def _judged_lanes(
    windows: Sequence[Records],
    units: np.ndarray,
    longest: int,
    smooth: int,
    drift: Drift | None,
) -> TrackedMotions:
    states = np.concatenate([each.states for each in windows], axis=1)
    if drift is not None:  # around the last state, so that close ones look close
        away = drift.coordinate(states - states[:, -1:])
        states = drift.shifted_back(states, away)
    growth = np.concatenate([each.growth for each in windows], axis=1)
    found = classify(states, growth, units, smooth)
    beyond = (found.code == Reason.SUCCESS) & (found.repeats > longest)
    onsets = np.stack([each.onsets for each in windows], axis=1)
    highest = np.max([each.highest for each in windows], axis=0)
    lowest = np.min([each.lowest for each in windows], axis=0)
    amplitude, progress = (highest - lowest) / 2, None
    if drift is not None:
        drifts = np.asarray(drift.direction)[: amplitude.shape[1]] != 0
        amplitude = np.where(drifts, np.nan, amplitude)  # these go on and on
        leads = np.concatenate([each.progress for each in windows], axis=1)
        progress = _mean_progress(leads, found.repeats)
    return TrackedMotions(
        np.where(beyond, Reason.LONGER_PERIOD, found.code),
        found.repeats,
        found.exponent,
        found.error,
        onsets.sum(axis=1) / growth.shape[1],
        np.max([each.force for each in windows], axis=0),
        amplitude,
        _trails(states, found.repeats),
        states[:, -1],
        np.zeros(len(states), np.int64),
        progress,
    )


def _mean_progress(leads: np.ndarray, repeats: np.ndarray) -> np.ndarray:
    """Return the mean shift a period, and its standard error from eight parts.

    The mean of a motion that recurs is one over whole periods of it, without an error.
    """
    number = leads.shape[1]
    found = np.empty((len(leads), 2))
    for row, each, recurs in zip(found, leads, repeats, strict=True):
        if recurs:
            row[:] = np.mean(each[number % recurs :]), np.nan
        else:
            parts = each[: 8 * (number // 8)].reshape(8, -1).mean(axis=1)
            row[:] = np.mean(each), np.std(parts, ddof=1) / np.sqrt(8.0)
    return found


def _trails(states: np.ndarray, repeats: np.ndarray) -> np.ndarray:
    """Return the last 512 states once a period; fewer than these are repeated."""
    number = states.shape[1]
    back = np.arange(2 * WINDOW)[::-1]
    if number >= len(back):
        return states[:, -len(back) :]
    back = back % np.where(repeats > 0, repeats, number)[:, None]
    return np.take_along_axis(states, (number - 1 - back)[:, :, None], axis=1)
