"""Observation of motions without a periodic orbit, until they can be classified."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ...ensemble import Reason, map_samples
from ...foundation.arrays import combine_arrays, gather_lanes, put_lanes
from ...foundation.machine import map_in_threads
from ...kernels import Kernel
from ...kernels.calls.kernel_cache import cached_kernel
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
_USUAL = 14  # windows, after which undecided motions remain so
_DECAY_TIMES = 80.0  # observed for a linear system: e^-80 is below any double's digits
_VECTOR = 8  # the longest: arrays of whole vectors of lanes are not copied
_NAMED = 32  # components of a state up to which a classification keeps none in memory


class TrackedMotions(NamedTuple):
    """Observed motions, one row each, or one row, and their classes.

    Numbers are those of the window that each was judged by: `exponent` and its `error`,
    1/s per period of the load; the mean number of contacts a period; the largest contact
    force, N; half of highest minus lowest displacement, m; `state`: the last one;
    `watched`: for how many periods; `trail`: the last 512 states once a period, None unless
    asked for; `progress`: the mean shift a period along a drift and its error, (lanes, 2),
    else None.
    """

    code: Any
    repeats: Any
    exponent: Any
    error: Any
    contacts_per_period: Any
    max_contact_force: Any
    amplitude: Any
    state: Any
    watched: Any
    trail: Any = None
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
    trails: bool = False,
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
    `trails`: whether to return the last states of all motions.
    **Returns:** the codes are SUCCESS if an orbit was found, or if a motion
    recurs within `longest` periods and `find_orbits` is None.
    """
    number, size = states.shape
    smooth = size // 2 if static.mechanical else size  # velocities jump at hard stops
    stage = track_stage(static, engine)
    units, least = map_samples(_units_stage(static), (leaves, states), chunk=chunk)
    least = np.clip(least, 2 * WINDOW, LOOKS[-1][0] * WINDOW)

    judge = _judge_stage(smooth, longest, size)
    now, directions = states.copy(), np.full((number, size), size**-0.5)
    found = _unknown(number, size, smooth, static.drift, trails)
    open_, done = np.arange(number), 0
    seen: list[Records] = []  # of the open lanes
    for look, (windows, judged) in enumerate(LOOKS):
        for _ in range(windows - done):
            lanes = _whole_vectors(open_)
            some = gather_lanes((leaves, now, directions), lanes)
            part = map_samples(stage, some, chunk=chunk, in_order=False)
            now[lanes], directions[lanes] = part.state, part.direction
            found.code[lanes] = part.result
            seen.append(part.records)
            lost = found.code[open_] != Reason.SUCCESS
            found.state[open_[lost]] = now[open_[lost]]
            open_, seen = _kept(open_, seen, ~lost)
            if not open_.size:
                return found
        done, last = windows, seen[-judged:]
        put_lanes(found, open_, _judged(judge, last, units[open_], static.drift))
        found.watched[open_] = done * WINDOW
        if trails:
            everywhere = np.arange(open_.size)
            found.trail[open_] = _trails(last, everywhere, found.repeats[open_], static)
        if find_orbits is not None:
            _find_orbits_into(found, open_, last, units, static, find_orbits)
        codes = found.code[open_]
        known = (done >= _USUAL) | ~np.isin(codes, _OPEN)
        seen_enough = (done * WINDOW >= least[open_]) | np.isin(codes, _CERTAIN)
        first = min((end - most for end, most in LOOKS[look + 1 :]), default=done)
        seen = seen[len(seen) - (done - first) :]  # what the next looks judge by
        open_, seen = _kept(open_, seen, ~(known & seen_enough))
        if not open_.size:
            break
    return found


def _whole_vectors(lanes: np.ndarray) -> np.ndarray:
    """Return lanes, the last one repeated to whole vectors."""
    return np.append(lanes, lanes[-1:].repeat(-lanes.size % _VECTOR))


def _kept(
    lanes: np.ndarray, windows: list[Records], kept: np.ndarray
) -> tuple[np.ndarray, list[Records]]:
    """Return some of the lanes, and their records, whole vectors of them."""
    if kept.all():
        return lanes, windows
    places = np.flatnonzero(kept)
    if not places.size:
        return places, []
    return lanes[places], gather_lanes(windows, _whole_vectors(places))


def _find_orbits_into(
    found: TrackedMotions,
    lanes: np.ndarray,
    windows: Sequence[Records],
    units: np.ndarray,
    static: System,
    find_orbits: Callable,
) -> None:
    """Search for the orbits of motions that approach one; store their new codes."""
    places = np.isin(found.code[lanes], (Reason.SUCCESS, Reason.TRANSIENT)).nonzero()[0]
    near = lanes[places]
    if not near.size:
        return
    repeats = found.repeats[near]
    trails = _trails(windows, places, repeats, static)
    there = find_orbits(near, trails, units[near], repeats)
    # A motion that recurs, but of which no orbit was found, remains undecided.
    found.code[near[found.code[near] == Reason.SUCCESS]] = Reason.UNDECIDED_MOTION
    found.code[near[there]] = Reason.SUCCESS


@lane_kernel
def track_stage(lane: Any, static: System, engine: str) -> Any:
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


def _unknown(
    number: int, size: int, places: int, drift: Drift | None, trails: bool
) -> TrackedMotions:
    """Return motions of which nothing is known."""
    numbers = [np.full(number, np.nan) for _ in range(4)]
    return TrackedMotions(
        np.zeros(number, np.int64),
        np.zeros(number, np.int64),
        *numbers,
        np.full((number, places), np.nan),
        np.full((number, size), np.nan),
        np.zeros(number, np.int64),
        np.full((number, 2 * WINDOW, size), np.nan) if trails else None,
        None if drift is None else np.full((number, 2), np.nan),
    )


@functools.lru_cache(maxsize=32)
def _judge_stage(smooth: int, longest: int, size: int) -> Kernel:
    """Return the kernel that judges a lane by its last windows and its units."""

    def stage(windows, units):
        states, growth = (
            jnp.concatenate([getattr(each, name) for each in windows])
            for name in ("states", "growth")
        )
        found = classify(states, growth, units, smooth)
        beyond = (found.code == Reason.SUCCESS) & (found.repeats > longest)
        highest = functools.reduce(jnp.maximum, [each.highest for each in windows])
        lowest = functools.reduce(jnp.minimum, [each.lowest for each in windows])
        return TrackedMotions(
            jnp.where(beyond, jnp.asarray(Reason.LONGER_PERIOD, jnp.int32), found.code),
            found.repeats,
            found.exponent,
            found.error,
            sum(each.onsets for each in windows) / len(growth),
            functools.reduce(jnp.maximum, [each.force for each in windows]),
            (highest - lowest) / 2,
            states[-1],
            jnp.zeros((), jnp.int32),
        )

    return cached_kernel(stage, smooth, longest, in_memory=size > _NAMED)


def _judged(
    judge: Kernel, windows: Sequence[Records], units: np.ndarray, drift: Drift | None
) -> TrackedMotions:
    """Return the classes and numbers of lanes by their last windows."""
    lanes = [each._replace(progress=None) for each in windows]
    if drift is not None:  # around the last state, so that close ones look close
        last = windows[-1].states[:, -1:]
        lanes = [each._replace(states=_around(each.states, last, drift)) for each in lanes]
    found = judge.map(tuple(lanes), units[_whole_vectors(np.arange(len(units)))])
    found = jax.tree.map(lambda leaf: leaf[: len(units)], found)
    if drift is None:
        return found
    drifts = np.asarray(drift.direction)[: found.amplitude.shape[1]] != 0
    leads = np.concatenate([each.progress for each in windows], axis=1)[: len(units)]
    return found._replace(
        amplitude=np.where(drifts, np.nan, found.amplitude),  # these go on and on
        progress=_mean_progress(np.ascontiguousarray(leads), found.repeats),
    )


def _around(states: Any, last: Any, drift: Drift) -> np.ndarray:
    """Return states (lanes, periods, n), shifted to be around the last ones."""
    return np.asarray(drift.shifted_back(states, drift.coordinate(states - last)))


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


def _trails(
    windows: Sequence[Records], places: np.ndarray, repeats: np.ndarray, static: System
) -> np.ndarray:
    """Return the last 512 states once a period; fewer than these are repeated."""
    some = gather_lanes([each.states for each in windows[-2:]], places)
    if static.drift is not None:
        some = [_around(each, some[-1][:, -1:], static.drift) for each in some]
    number = WINDOW * len(some)
    states = np.empty((len(places), number, some[0].shape[-1]))

    def put(window: int) -> None:
        states[:, window * WINDOW : (window + 1) * WINDOW] = some[window]

    map_in_threads(put, range(len(some)))
    back = np.arange(2 * WINDOW)[::-1]
    if number >= len(back):
        return states
    back = back % np.where(repeats > 0, repeats, number)[:, None]
    return np.take_along_axis(states, (number - 1 - back)[:, :, None], axis=1)
