"""Classification of motions from Poincaré samples and growth rates."""

import functools
from typing import Any, NamedTuple

import numpy as np

from ... import linalg
from ...ensemble import Reason
from ...kernels.calls import elementwise
from .settling import CLOSEST

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
# Growth in a period below this: the neighbour was lost, see `settling.CLOSEST`.
_LOST = float(np.log(CLOSEST)) + 1e-6
_GROWS = 1.5  # a motion that is larger by this factor in its second half diverges


class Classification(NamedTuple):
    """Classes of observed motions, and the underlying numbers.

    `code`: a reason code, SUCCESS if the motion recurs after `repeats` periods of the
    load (0: it does not); `exponent`: the largest one, per period, with its `error`,
    NaN if the neighbour was lost, where only an upper bound is known; `spread`:
    difference of the averages of the two halves, in standard deviations.
    """

    code: Any
    repeats: Any
    exponent: Any
    error: Any
    spread: Any


def classify(
    states: np.ndarray, growth: np.ndarray, units: np.ndarray, smooth: int | None = None
) -> Classification:
    r"""Classify motions from their states once a period, (..., N, n), and the growth.

    `growth`, (..., N), is the logarithm of the growth of the distance to a neighbour in
    a period; `units`, (..., n), the scales of states; `smooth`: how many components, from
    the first, do not jump, by default all. Averages are weighted,

    $$\bar f = \sum_k w(k/N) f_k, \qquad w(\tau) \propto e^{-1/(\tau (1 - \tau))},$$

    which converge faster than any power of N for a quasi-periodic motion, and as
    $N^{-1/2}$ for a chaotic one: the two halves of the window distinguish them, as do
    those of the exponent, which is 0 within a small error for the first.
    A motion with a negative exponent converges to an orbit: it has, if it recurs, and
    it will, if its recurrence improves at the exponent's rate. So does one whose
    neighbour is lost in some period, as where rebounds come to rest on a stop: nothing
    of the past remains there.

    **Source:** Das, Sander and Yorke, *Nonlinearity* 30 (2017) 4111.
    """
    number = growth.shape[-1]
    half = number // 2
    # With the motions last, sums and maxima over time run over whole rows of memory.
    last = (np.moveaxis(each, (-2, -1), (0, 1)) for each in (states, units[..., None, :]))
    points = np.divide(*last, order="C")
    # If some of its samples lie within an impact, a quasi-periodic motion's velocity
    # jumps between points of its curve, and averages of that converge slowly.
    places = points[:, :smooth]
    moments = np.concatenate([places, elementwise.sin(3 * places)], axis=1)
    first, second = (_average(part, 0) for part in (moments[:half], moments[half:]))
    deviations = np.maximum(moments.std(axis=0), 1e-300)
    spread = np.max(np.abs(first - second) / deviations, axis=0)
    begin, end, whole = map(_average, (growth[..., :half], growth[..., half:], growth))
    apart = np.abs(begin - end), np.abs(whole - begin), np.abs(whole - end)
    error = np.maximum(np.max(apart, axis=0), _LEAST_ERROR)
    falls = (np.max([begin, end, whole], axis=0) < -3 * _LEAST_ERROR) & (whole < -3 * error)
    lost = growth.min(axis=-1) < _LOST
    repeats = _repeats(points, np.where(falls, end, 0.0))
    quiet = (
        (np.abs(whole) < 3 * error)
        & (error < _LARGEST_ERROR)
        & (spread < _CONVERGED)
        & ~lost
    )
    blocks = growth[..., : 8 * (number // 8)]
    blocks = blocks.reshape(*blocks.shape[:-1], 8, -1).mean(axis=-1)
    mean, deviation = blocks.mean(axis=-1), blocks.std(axis=-1, ddof=1) / np.sqrt(8.0)
    sizes = [np.abs(part).max(axis=(0, 1)) for part in (points[:half], points[half:])]
    chaotic = (
        (np.min([begin, end, mean], axis=0) > _CLEAR)
        & (mean > np.maximum(_SURE * deviation, _CLEAR))
        & (spread > 1e-5)
        & (sizes[1] < _GROWS * sizes[0])
        & ~quiet
        & ~lost
        & (repeats == 0)
    )
    classes = [repeats > 0, quiet, chaotic, falls | lost]
    codes = Reason.SUCCESS, Reason.QUASI_PERIODIC, Reason.CHAOTIC, Reason.TRANSIENT
    return Classification(
        np.select(classes, codes, Reason.UNDECIDED_MOTION),
        repeats,
        np.where(lost, np.nan, np.where(chaotic, mean, whole)),
        np.where(lost, np.nan, np.where(chaotic, deviation, error)),
        spread,
    )


def _average(values: np.ndarray, axis: int = -1) -> Any:
    """Return the weighted average over the last axis, or the first, 0."""
    more = () if axis else (1,) * (values.ndim - 1)
    return np.sum(_weights(values.shape[axis]).reshape(-1, *more) * values, axis=axis)


@functools.lru_cache(maxsize=64)
def _weights(number: int) -> np.ndarray:
    """Return the weights of an average of so many values, of sum 1."""
    place = (np.arange(number) + 0.5) / number
    weights = elementwise.exp(-1 / (place * (1 - place)))
    return weights / weights.sum()


def _repeats(points: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return after how many periods each motion recurs, 0 if it does not.

    `points`: (N, n, ...); `rates`: the exponents per period at which the motions
    approach an orbit, 0 if unknown.
    """
    number = len(points)
    away = np.abs(points[-1] - points[number - number // 2 + 8 : -1]).max(axis=1)
    near = away < _NEARING
    found = np.zeros(rates.shape, int)
    for lane in np.argwhere(near.any(axis=0)):
        place = tuple(lane)
        periods = len(near) - np.flatnonzero(near[(slice(None), *place)])[::-1]
        found[place] = _repeats_of(points[(..., *place)], periods, float(rates[place]))
    return found


def _repeats_of(points: np.ndarray, periods: np.ndarray, rate: float) -> int:
    """Return `_repeats` of one motion, (N, n), of which only the last point recurs.

    `periods`: those after which it does, ascending.
    """
    number, half = len(points), len(points) // 2
    for period in periods.tolist():  # the eight last points, compared with earlier ones
        apart = np.abs(points[-8:] - points[-8 - period : -period]).max()
        if apart < _NEARING:
            break
    else:
        return 0
    recurs = period if apart < _RECURS else 0
    if rate >= 0 or period > half // 2 or recurs == 1:
        return recurs
    # A spiral into an orbit recurs closely after those of its periods in which it
    # nearly completes a turn. The orbit's own number is the first after which the
    # recurrence improves with time at the exponent's rate: after others it does not.
    early, late = (
        np.abs(points[places] - points[places - np.arange(1, period + 1)[:, None]])
        for places in (half + 1 + np.arange(8), np.arange(number - 8, number))
    )
    least = np.finfo(float).tiny
    early, late = (np.maximum(each.max(axis=(1, 2)), least) for each in (early, late))
    shrinks = elementwise.log(late / early) / (rate * (number - 9 - half))
    nearing = np.flatnonzero((shrinks > 0.5) & (shrinks < 2)) + 1
    return int(nearing[0]) if nearing.size else recurs


def limit_of(states: np.ndarray, units: np.ndarray, periods: int) -> np.ndarray:
    r"""Return the limits of states once a period, (..., N, n), taken every `periods`.

    For $s_{k+1} - s^* = A (s_k - s^*)$ it is the combination of states with weights of
    sum 1 that minimizes the combination of their differences, from one more state than
    there are components. **Source:** Sidi, *Vector Extrapolation Methods* (2017).
    """
    number, size = states.shape[-2:]
    count = min(2 * size, (number - 1) // periods)
    if count < 2:
        return states[..., -1, :]
    last = states[..., number - 1 - count * periods :: periods, :] / units[..., None, :]
    steps = np.diff(last, axis=-2)
    turns = np.swapaxes(np.diff(steps, axis=-2), -1, -2)
    weights = linalg.least_squares(turns, -steps[..., -1, :], 1e-8)
    rest = np.swapaxes(steps[..., 1:, :], -1, -2)
    return (last[..., -1, :] + linalg.dot(rest, weights[..., None, :])) * units
