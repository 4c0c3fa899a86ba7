"""Classification of aperiodic motions: quasi-periodic, chaotic or undecided."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from .. import linalg
from ..ensemble import Reason, map_samples
from ..foundation.arrays import combine_arrays
from ..kernels import Kernel, elementwise
from ..kernels.kernel_cache import cached_kernel
from ..systems.system import System
from .linear_steady_state import attracts, linear_but_for_contacts, linear_steady_state
from .settling import Records, track_aperiodic
from .shooting import scales

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
# Averages of the two halves of a quasi-periodic motion agree this closely, in standard
# deviations; those of chaotic ones by one over the root of their points.
_CONVERGED = 1e-3
# ... and its largest exponent, per period of the load, is 0 within three of its errors,
# which must be below the first and are assumed to be at least the second.
_LARGEST_ERROR, _LEAST_ERROR = 3e-4, 5e-6
# The exponent of a chaotic motion exceeds 0 by five of its errors: it is judged up to
# ten times, and noise exceeds four of them too often.
_SURE = 5.0
# ... and by this, per period.
_CLEAR = 4e-3
# States that recur this closely, period after period, are those of one orbit, ...
_RECURS = 1e-6
# ... and so are states that recur this closely and converge at the exponent's rate.
_NEARING = 1e-3
_GROWS = 1.5  # a motion that is larger by this factor in its second half diverges


class Classification(NamedTuple):
    """Class of an observed motion, and the underlying numbers.

    `code`: a reason code, SUCCESS if the motion recurs after `repeats` periods of the
    load (0: it does not); `exponent`: the largest one, per period, with its `error`;
    `spread`: difference of the averages of the two halves, in standard deviations.
    """

    code: Reason
    repeats: int
    exponent: float
    error: float
    spread: float


def classify(
    states: np.ndarray, growth: np.ndarray, units: np.ndarray, smooth: int | None = None
) -> Classification:
    r"""Classify a motion from its states once a period, (N, n), and the growth, (N,).

    `growth` is the logarithm of the growth of the distance to a neighbour in a period;
    `units`, (n,), the scales of states; `smooth`: how many components, from the
    first, do not jump, by default all. Averages are weighted,

    $$\bar f = \sum_k w(k/N) f_k, \qquad w(\tau) \propto e^{-1/(\tau (1 - \tau))},$$

    which converge faster than any power of N for a quasi-periodic motion, and as
    $N^{-1/2}$ for a chaotic one: the two halves of the window distinguish them, as do
    those of the exponent, which is 0 within a small error for the first.
    A motion with a negative exponent converges to an orbit: it has, if it recurs, and
    it will, if its recurrence improves at the exponent's rate.

    **Source:** Das, Sander and Yorke, *Nonlinearity* 30 (2017) 4111.
    """
    half = len(growth) // 2
    points = states / units
    # If some of its samples lie within an impact, a quasi-periodic motion's velocity
    # jumps between points of its curve, and averages of that converge slowly.
    places = points[:, :smooth]
    moments = np.concatenate([places, elementwise.sin(3 * places)], axis=1)
    first, second = (_average(part) for part in (moments[:half], moments[half:]))
    spread = float(np.max(np.abs(first - second) / np.maximum(moments.std(0), 1e-300)))
    begin, end, whole = (_average(g) for g in (growth[:half], growth[half:], growth))
    error = max(abs(begin - end), abs(whole - begin), abs(whole - end), _LEAST_ERROR)
    falls = max(begin, end, whole) < -3 * _LEAST_ERROR and whole < -3 * error
    repeats = _repeats(points, float(end) if falls else 0.0)
    if repeats:
        return Classification(Reason.SUCCESS, repeats, whole, error, spread)
    if abs(whole) < 3 * error and error < _LARGEST_ERROR and spread < _CONVERGED:
        return Classification(Reason.QUASI_PERIODIC, 0, whole, error, spread)
    blocks = growth[: 8 * (len(growth) // 8)].reshape(8, -1).mean(axis=1)
    mean, deviation = float(blocks.mean()), float(blocks.std(ddof=1) / np.sqrt(8.0))
    clear = max(_SURE * deviation, _CLEAR)
    held = np.abs(points[half:]).max() < _GROWS * np.abs(points[:half]).max()
    if min(begin, end, mean) > _CLEAR and mean > clear and spread > 1e-5 and held:
        return Classification(Reason.CHAOTIC, 0, mean, deviation, spread)
    code = Reason.TRANSIENT if falls else Reason.UNDECIDED_MOTION
    return Classification(code, 0, whole, error, spread)


def _average(values: np.ndarray):
    """Return the weighted average over the first axis."""
    weights = _weights(len(values)).reshape(-1, *[1] * (values.ndim - 1))
    return np.sum(weights * values, axis=0)


@functools.lru_cache(maxsize=64)
def _weights(number: int) -> np.ndarray:
    """Return the weights of an average of so many values, of sum 1."""
    place = (np.arange(number) + 0.5) / number
    weights = elementwise.exp(-1 / (place * (1 - place)))
    return weights / weights.sum()


def _repeats(points: np.ndarray, rate: float) -> int:
    """Return after how many periods a motion recurs, 0 if it does not.

    `rate`: the exponent per period at which it approaches an orbit, 0 if unknown.
    """
    number, half = len(points), len(points) // 2
    # The eight last points, compared with earlier ones.
    last = np.arange(number - 8, number)
    periods = np.arange(1, half - 8)
    apart = np.abs(points[last][None] - points[last[None, :] - periods[:, None]])
    near = periods[apart.max(axis=(1, 2)) < _NEARING]
    if not near.size:
        return 0
    period = int(near[0])
    recurs = period if apart[period - 1].max() < _RECURS else 0
    if rate >= 0 or period > half // 2:
        return recurs
    # A spiral into an orbit recurs closely after those of its periods in which it
    # nearly completes a turn. The orbit's own number is the first after which the
    # recurrence improves with time at the exponent's rate: after others it does not.
    late = apart[:period].max(axis=(1, 2))
    places = half + 1 + np.arange(8)
    early = points[places][None] - points[places[None] - periods[:period, None]]
    least = np.finfo(float).tiny
    closer = np.maximum(late, least) / np.maximum(np.abs(early).max(axis=(1, 2)), least)
    shrinks = elementwise.log(closer) / (rate * (number - 9 - half))
    nearing = np.flatnonzero((shrinks > 0.5) & (shrinks < 2)) + 1
    return int(nearing[0]) if nearing.size else recurs


def limit_of(states: np.ndarray, units: np.ndarray, periods: int) -> np.ndarray:
    r"""Return the limit of states once a period, (N, n), taken every `periods`.

    For $s_{k+1} - s^* = A (s_k - s^*)$ it is the combination of states with weights of
    sum 1 that minimizes the combination of their differences, from one more state than
    there are components. **Source:** Sidi, *Vector Extrapolation Methods* (2017).
    """
    size = states.shape[1]
    count = min(2 * size, (len(states) - 1) // periods)
    last = states[len(states) - 1 - count * periods :: periods] / units
    steps = np.diff(last, axis=0)
    if count < 2:
        return states[-1]
    turns = np.diff(steps, axis=0)
    weights = linalg.least_squares(turns.T, -steps[-1], 1e-8)
    return (last[-1] + linalg.dot(steps[1:].T, weights)) * units


class TrackedMotions(NamedTuple):
    """Observed motions, one row each, or one row, and their classes.

    Numbers are those of the window that each was judged by: `exponent` and its `error`,
    1/s per period of the load; the mean number of contacts a period; the largest contact
    force, N; half of highest minus lowest displacement, m; `trail`: the last 512 states
    once a period; `state`: the last one.
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

    def go_on(lanes, states, directions):
        some = jax.tree.map(lambda leaf: np.asarray(leaf)[lanes], leaves)
        return map_samples(stage, (some, states, directions), chunk=chunk)

    now, directions = states.copy(), np.full((number, size), size**-0.5)
    seen: list[list[Records]] = [[] for _ in range(number)]
    rows: list = [None] * number
    failed = np.zeros(number, np.int32)
    open_, done = np.arange(number), 0
    for windows, judged in LOOKS:
        for _ in range(windows - done):
            part = go_on(open_, now[open_], directions[open_])
            now[open_], directions[open_] = part.state, part.direction
            failed[open_] = part.result
            for row, lane in enumerate(open_):
                records = jax.tree.map(lambda leaf, row=row: leaf[row], part.records)
                seen[lane].append(records)
            open_ = open_[failed[open_] == Reason.SUCCESS]
            if not open_.size:
                break
        done = windows
        for lane in open_:
            rows[lane] = _judged(seen[lane][-judged:], units[lane], longest, smooth)
        if find_orbits is not None:
            _try_orbits(find_orbits, rows, open_, units)
        codes = np.array([rows[lane].code for lane in open_], int)
        known = (done >= _USUAL) | ~np.isin(codes, _OPEN)
        seen_enough = (done * WINDOW >= least[open_]) | np.isin(codes, _CERTAIN)
        open_ = open_[~(known & seen_enough)]
        if not open_.size:
            break
    for lane in np.flatnonzero(failed):
        row = rows[lane] or _judged(seen[lane], units[lane], longest, smooth)
        rows[lane] = row._replace(code=failed[lane], state=now[lane])
    return TrackedMotions(*(np.stack(column) for column in zip(*rows, strict=True)))


def _try_orbits(find_orbits: Callable, rows: list, lanes, units) -> None:
    """Search for the orbits of motions that approach one, and update their codes."""
    nearing = (Reason.SUCCESS, Reason.TRANSIENT)
    lanes = np.array([lane for lane in lanes if rows[lane].code in nearing], int)
    if not lanes.size:
        return
    some = [rows[lane] for lane in lanes]
    repeats = np.array([row.repeats for row in some])
    found = find_orbits(lanes, [row.trail for row in some], units[lanes], repeats)
    for lane, row, there in zip(lanes, some, found, strict=True):
        if there:
            rows[lane] = row._replace(code=Reason.SUCCESS)
        elif row.code == Reason.SUCCESS:  # recurs, but no orbit was found
            rows[lane] = row._replace(code=Reason.UNDECIDED_MOTION)


@functools.lru_cache(maxsize=32)
def track_stage(static: System, engine: str) -> Kernel:
    """Return the function that observes one lane for one more window."""

    def stage(lane):
        leaves, state, direction = lane
        system = combine_arrays(leaves, static)
        return track_aperiodic(system, state, direction, WINDOW, WATCHED_RTOL, engine)

    return cached_kernel(stage, static, engine)


@functools.lru_cache(maxsize=32)
def _units_stage(static):
    def stage(lane):
        leaves, state = lane
        system = combine_arrays(leaves, static)
        least = jnp.zeros(())
        if linear_but_for_contacts(system):
            end = linear_steady_state(system)
            decays = _DECAY_TIMES * end.decay / system.period()
            least = jnp.where(attracts(end), decays, 0.0)
        return scales(system, state), least

    return cached_kernel(stage, static)


_OPEN = (Reason.UNDECIDED_MOTION, Reason.TRANSIENT)
_CERTAIN = (Reason.SUCCESS, Reason.LONGER_PERIOD)  # a stable orbit exists


def _judged(
    windows: list[Records], units: np.ndarray, longest: int, smooth: int
) -> TrackedMotions:
    """Return one row of `TrackedMotions` from the last windows of a motion."""
    seen = jax.tree.map(lambda *parts: np.stack(parts), *windows)
    states, growth = np.concatenate(seen.states), np.concatenate(seen.growth)
    state = states[-1]
    if not np.isfinite(growth).all():
        nothing = np.full(seen.highest.shape[1], np.nan)
        lost = np.full((2 * WINDOW, state.size), np.nan)
        return TrackedMotions(0, 0, *[np.nan] * 4, nothing, lost, state)
    found = classify(states, growth, units, smooth)
    code = found.code
    if code == Reason.SUCCESS and found.repeats > longest:
        code = Reason.LONGER_PERIOD
    return TrackedMotions(
        int(code),
        found.repeats,
        found.exponent,
        found.error,
        float(seen.onsets.sum()) / len(growth),
        float(seen.force.max()),
        (seen.highest.max(axis=0) - seen.lowest.min(axis=0)) / 2,
        _trail(states, found.repeats),
        state,
    )


def _trail(states: np.ndarray, repeats: int) -> np.ndarray:
    """Return the last 512 states once a period; fewer than these are repeated."""
    back = np.arange(2 * WINDOW)[::-1]
    if len(states) < len(back):
        back = back % (repeats or len(states))
    return states[len(states) - 1 - back]
