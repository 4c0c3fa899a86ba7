"""Classification of motions from Poincaré samples and growth rates."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ... import linalg
from ...ensemble import Reason
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
_TINY = float(np.finfo(float).tiny)
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
    states: Array, growth: Array, units: Array, smooth: int | None = None
) -> Classification:
    r"""Classify a motion by its states once a period, (N, n), N even, and the growth.

    `growth`, (N,), is the logarithm of the growth of the distance to a neighbour in
    a period; `units`, (n,), the scales of states; `smooth`: how many components, from
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
    spread, sizes = _spread(states, units, smooth)
    begin, end, whole, lowest, blocks = _growth(growth)
    apart = [jnp.abs(begin - end), jnp.abs(whole - begin), jnp.abs(whole - end)]
    error = jnp.maximum(jnp.max(jnp.stack(apart)), _LEAST_ERROR)
    averages = jnp.stack([begin, end, whole])
    falls = (jnp.max(averages) < -3 * _LEAST_ERROR) & (whole < -3 * error)
    lost = lowest < _LOST
    repeats = _repeats(states, units, jnp.where(falls, end, 0.0))
    quiet = (
        (jnp.abs(whole) < 3 * error)
        & (error < _LARGEST_ERROR)
        & (spread < _CONVERGED)
        & ~lost
    )
    mean = jnp.sum(blocks) / 8
    deviation = jnp.sqrt(jnp.sum((blocks - mean) ** 2) / 7 / 8)
    chaotic = (
        (jnp.min(jnp.stack([begin, end, mean])) > _CLEAR)
        & (mean > jnp.maximum(_SURE * deviation, _CLEAR))
        & (spread > 1e-5)
        & (sizes[1] < _GROWS * sizes[0])
        & ~quiet
        & ~lost
        & (repeats == 0)
    )
    code = jnp.asarray(Reason.UNDECIDED_MOTION, jnp.int32)
    for is_so, its in (
        (falls | lost, Reason.TRANSIENT),
        (chaotic, Reason.CHAOTIC),
        (quiet, Reason.QUASI_PERIODIC),
        (repeats > 0, Reason.SUCCESS),
    ):
        code = jnp.where(is_so, jnp.asarray(its, jnp.int32), code)
    return Classification(
        code,
        repeats,
        jnp.where(lost, jnp.nan, jnp.where(chaotic, mean, whole)),
        jnp.where(lost, jnp.nan, jnp.where(chaotic, deviation, error)),
        spread,
    )


def _weight(number: Array, total: int) -> Array:
    """Return the weight of one of `total` values in an average, but for a factor."""
    place = (number + 0.5) / total
    return jnp.exp(-1 / (place * (1 - place)))


def _spread(states: Array, units: Array, smooth: int | None) -> tuple[Array, Array]:
    """Return the difference of the averages of both halves, in standard deviations.

    And the largest component of each half, (2,), in `units`.
    """
    half, last = len(states) // 2, states[-1] / units
    # If some of its samples lie within an impact, a quasi-periodic motion's velocity
    # jumps between points of its curve, and averages of that converge slowly.
    origin = _moments(last, smooth)

    def add(totals, rows):
        number, weights, sums, squares, averages, sizes = totals
        weight = _weight(number, half)
        points = [row / units for row in rows]
        # From the last point: where nothing moves all are 0.
        moments = jnp.stack([_moments(point, smooth) - origin for point in points])
        largest = jnp.stack([_largest(jnp.abs(point)) for point in points])
        return (
            number + 1,
            weights + weight,
            sums + moments,
            squares + moments * moments,
            averages + weight * moments,
            jnp.where(largest > sizes, largest, sizes),
        ), None

    zeros = jnp.zeros((2, len(origin)))
    start = jnp.zeros(()), jnp.zeros(()), zeros, zeros, zeros, jnp.zeros(2)
    totals, _ = jax.lax.scan(add, start, (states[:half], states[half:]))
    _, weights, sums, squares, averages, sizes = totals
    mean = jnp.sum(sums, axis=0) / (2 * half)
    variance = jnp.sum(squares, axis=0) / (2 * half) - mean * mean
    deviations = jnp.maximum(jnp.sqrt(jnp.maximum(variance, 0.0)), 1e-300)
    differences = jnp.abs(averages[0] / weights - averages[1] / weights)
    return jnp.max(differences / deviations), sizes


def _moments(point: Array, smooth: int | None) -> Array:
    return jnp.concatenate([point[:smooth], jnp.sin(3 * point[:smooth])])


def _largest(numbers: Array) -> Array:
    """Return the largest of some numbers; if the last one is NaN, that.

    JAX's maximum takes five times the instructions, for any NaN and signs of zero.
    """
    found, *others = numbers.reshape(-1)
    for number in others:
        found = jnp.where(number <= found, found, number)
    return found


def _growth(growth: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Return the averages of both halves and of all numbers, and the least of them.

    And the means of eight parts.
    """
    number, half = len(growth), len(growth) // 2

    def add(totals, values):
        place, weights, sums, whole, least, blocks = totals
        pair, places = jnp.stack(values), jnp.stack([place, place + half])
        weight, each = _weight(place, half), _weight(places, number)
        here = jnp.arange(4.0) == jnp.floor(4 * place / half)
        return (
            place + 1,
            weights + weight,
            sums + weight * pair,
            whole + jnp.stack([jnp.sum(each), jnp.sum(each * pair)]),
            jnp.where(pair < least, pair, least),
            blocks + jnp.where(here[None], pair[:, None], 0.0),
        ), None

    none, two = jnp.zeros(()), jnp.zeros(2)
    start = none, none, two, two, jnp.full(2, jnp.inf), jnp.zeros((2, 4))
    totals, _ = jax.lax.scan(add, start, (growth[:half], growth[half:]))
    _, weights, sums, (total, whole), least, blocks = totals
    means = blocks.reshape(-1) / (number // 8)
    return sums[0] / weights, sums[1] / weights, whole / total, jnp.min(least), means


def _repeats(states: Array, units: Array, rate: Array) -> Array:
    """Return after how many periods a motion recurs, 0 if it does not.

    `rate`: the exponent per period at which it approaches an orbit, 0 if unknown.
    """
    number, half = len(states), len(states) // 2

    def window(end):  # of eight points, the last one first
        return states[end - 8 : end][::-1] / units[None]

    last, middle = window(number), window(half + 9)

    def add(found, rows):
        periods, first, apart, nearing, late, early = found
        ends = _largest(jnp.abs(last - late)), _largest(jnp.abs(middle - early))
        here, there = (jnp.maximum(end, _TINY) for end in ends)
        # A spiral into an orbit recurs closely after those of its periods in which it
        # nearly completes a turn. The orbit's own number is the first after which the
        # recurrence improves with time at the exponent's rate: after others it does not.
        shrinks = jnp.log(here / there) / (rate * (number - 9 - half))
        nears = (first == 0) & (nearing == 0) & (shrinks > 0.5) & (shrinks < 2)
        recurs = (first == 0) & (ends[0] < _NEARING)
        late, early = (
            jnp.concatenate([points[1:], row[None] / units[None]])
            for points, row in zip((late, early), rows, strict=True)
        )
        return (
            periods + 1,
            jnp.where(recurs, periods, first),
            jnp.where(recurs, ends[0], apart),
            jnp.where(nears, periods, nearing),
            late,
            early,
        ), None

    one, none = jnp.ones((), jnp.int32), jnp.zeros((), jnp.int32)
    start = one, none, jnp.full((), jnp.inf), none, window(number - 1), window(half + 8)
    before = states[number - half : number - 9], states[9:half]
    found, _ = jax.lax.scan(add, start, before, reverse=True)
    _, first, apart, nearing, _, _ = found
    closely = jnp.where(apart < _RECURS, first, 0)
    spirals = (rate < 0) & (first > 0) & (first <= half // 2) & (closely != 1)
    return jnp.where(spirals & (nearing > 0), nearing, closely)


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
