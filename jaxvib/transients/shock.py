"""Shock response spectra: extremes of oscillators under base acceleration."""

import functools
import itertools
import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Real

from ..dynamics.step_polynomial import step_polynomial
from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range, result_field
from ..systems.loads import Load

# Largest phase, rad, of an oscillator between two samples: the error of the quintic is
# (1/2)^6/46080, 3e-7 of the extreme.
_LOOK = 0.5
_FREE = 16  # samples of one period of the residual free motion
_MOST_PIECES = 1_000_000  # of a law: safeguard against unlimited breaks
_LONG_AGO = 1e15  # s: before the start of any law
# Largest phase, rad, of a wave between two points: the error of linear interpolation is
# (1/4)^2/8; a run with half the points estimates the rest.
_TURN = 0.25
_MOST_POINTS = 10_000_000  # of a law: an array of 80 MB


class ShockSpectrum(eqx.Module):
    """Extremes of oscillators over natural frequency, during and after a shock."""

    frequencies: Float[Array, " frequency"] = result_field(
        "natural frequency", "rad/s", ("frequency",)
    )
    highest: Float[Array, " frequency"] = result_field(
        "highest absolute acceleration", "m/s^2", ("frequency",)
    )
    lowest: Float[Array, " frequency"] = result_field(
        "lowest absolute acceleration", "m/s^2", ("frequency",)
    )
    maximax: Float[Array, " frequency"] = result_field(
        "largest magnitude of the absolute acceleration", "m/s^2", ("frequency",)
    )
    residual: Float[Array, " frequency"] = result_field(
        "the same after the shock only", "m/s^2", ("frequency",)
    )
    displacement: Float[Array, " frequency"] = result_field(
        "largest displacement relative to the base", "m", ("frequency",)
    )
    error: Float[Array, " frequency"] = result_field(
        "change of the maximax with half the points", "m/s^2", ("frequency",)
    )

    @property
    def pseudo_velocity(self) -> Float[Array, " frequency"]:
        """The largest relative displacement times the natural frequency, m/s."""
        return self.displacement * self.frequencies


def shock_spectrum(
    law: Load,
    frequencies: Real[ArrayLike, " frequency"] | Sequence,
    damping_ratio: Real[Array, ""] | float = 0.05,
    *,
    duration: float | None = None,
    points: int = 1024,
) -> ShockSpectrum:
    r"""Return the shock response spectrum of a base acceleration (m/s^2).

    An oscillator on the base moves relative to it by $\ddot z + 2 \zeta \omega \dot z +
    \omega^2 z = -a(t)$; its absolute acceleration is $-2 \zeta \omega \dot z - \omega^2 z$.
    The base acceleration is interpolated linearly between its points and the motion is
    exact for it (ramp-invariant method), also between the points. Extremes are those of
    the shock and of the free motion after it. Works under `jit`, `vmap` and
    differentiation, except with respect to times.

    **Arguments:** `law`: of the acceleration, from 0 on, or from its first break if
    that is earlier; a linear record is sampled at its own points, another law at
    `points` per piece between two breaks, or more if its highest frequency requires it;
    `duration`: the end of the shock (s), default: its last break, after which it must
    be 0; `frequencies`: natural frequencies, rad/s, shape (n,), concrete values;
    `damping_ratio`: $\zeta$ in [0, 1). **Raises:** `ValueError` for an argument out of
    its range, or a shock whose end is not known; NaN instead for traced values.
    **Source:** ISO 18431-4 (2007); Smallwood, *Shock and Vibration Bulletin* 51 (1981)
    279.

    >>> shock = jv.PulseLoad("half_sine", amplitude=490.5, start=0.0, duration=0.011)
    >>> print(jv.shock_spectrum(shock, [460.0], damping_ratio=0.05).maximax)
    [809.94]
    """
    check_range("frequencies", frequencies, "rad/s", Range(above=0.0))
    check_range("damping_ratio", damping_ratio, "", Range(at_least=0.0, below=1.0))
    check_range("points", points, "", Range(at_least=2, at_most=_MOST_POINTS))
    if duration is not None:
        check_range("duration", duration, "s", Range(above=0.0))
    if isinstance(frequencies, jax.core.Tracer):
        raise ValueError("frequencies are traced; allowed: concrete values, rad/s")
    frequencies = np.asarray(frequencies, float)
    if frequencies.ndim != 1 or not frequencies.size:
        raise ValueError(f"frequencies have shape {frequencies.shape}; allowed: (n,)")
    with jax.ensure_compile_time_eval():  # times are concrete, also under `jit`
        ends, ended = shock_ends(law, duration)
        record = law.is_piecewise_linear()
        points, enough = (1, jnp.asarray(True)) if record else _points(law, ends, points)
    times, middles = _times(ends, points)
    highest_angular_frequency = float(np.max(frequencies))
    looks = max(
        1, math.ceil(highest_angular_frequency * float(np.max(np.diff(times))) / _LOOK)
    )
    ratio = jnp.asarray(damping_ratio, float)
    found = _spectrum(law, times, middles, frequencies, ratio, looks)
    if record:  # its points are exact: only the quintics have an error
        other = _spectrum(law, times, middles, frequencies, ratio, 2 * looks)
    else:
        coarse = _times(ends, max(1, points // 2))
        other = _spectrum(law, *coarse, frequencies, ratio, 2 * looks)
    error = jnp.abs(other.maximax - found.maximax)
    known = jax.tree.map(lambda x: jnp.where(ended & enough, x, jnp.nan), (found, error))
    given = jnp.asarray(frequencies), known[1]
    return eqx.tree_at(lambda s: (s.frequencies, s.error), known[0], given)


def shock_ends(law: Load, duration: float | None) -> tuple[np.ndarray, Bool[Array, ""]]:
    """Return the ends of a shock's pieces, s, and whether it is 0 after them.

    **Raises:** `ValueError` if it is not 0 and this is known (not traced).
    """
    ends = _ends(law, duration)
    return ends, _is_over(law, ends) if duration is None else jnp.asarray(True)


def _ends(law: Load, duration: float | None) -> np.ndarray:
    """Return the breaks of a law, and 0, from its start to the shock's end."""
    breaks = []
    time = -1e-12 if law.repeats else -_LONG_AGO
    while len(breaks) < _MOST_PIECES:
        found = law.next_breakpoint(jnp.asarray(time))
        if isinstance(found, jax.core.Tracer):
            raise ValueError("times of the law are traced; allowed: concrete values, s")
        time = float(found)
        if not np.isfinite(time) or (duration is not None and time >= duration):
            break
        if duration is None and law.repeats:
            break
        breaks.append(time)
    last = duration if duration is not None else (breaks[-1] if breaks else 0.0)
    ends = np.unique([time for time in (0.0, *breaks, last) if time <= last])
    if ends.size < 2:
        raise ValueError(
            f"the end of a shock of {type(law).__name__} is not known; allowed: a duration"
        )
    return ends


def _is_over(law: Load, ends: np.ndarray) -> Bool[Array, ""]:
    """Return whether a law is 0 after its last break.

    **Raises:** `ValueError` if it is not 0 and this is known (not traced).
    """
    left = law.force(jnp.asarray(ends[-1] + (ends[-1] - ends[0])))
    if is_concrete(left) and left != 0:
        raise ValueError(
            f"{float(left):g} m/s^2 of {type(law).__name__} remain after its last break: "
            "the end of the shock is not known; allowed: a duration"
        )
    return left == 0


def _points(law: Load, ends: np.ndarray, points: int) -> tuple[int, Bool[Array, ""]]:
    """Return the number of steps per piece of a law, and whether they are enough.

    The number follows from its highest frequency, unless that is traced. **Raises:**
    `ValueError` for more steps than fit into memory.
    """
    highest_angular_frequency = law.highest_angular_frequency()
    if highest_angular_frequency is None:
        return points, jnp.asarray(True)
    longest = float(np.max(np.diff(ends)))
    if is_concrete(highest_angular_frequency):
        required = float(highest_angular_frequency) * longest / _TURN
        if required * ends.size > _MOST_POINTS:
            raise ValueError(
                f"waves of {float(highest_angular_frequency):g} rad/s over {longest:g} s "
                f"need {required:.2g} "
                f"points; allowed: {_MOST_POINTS:.2g} in total, a shorter duration"
            )
        points = max(points, math.ceil(required))
    return points, highest_angular_frequency * (longest / points) <= 1.001 * _TURN


def _times(ends: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times with `points` steps per piece, and the midpoint of each step."""
    parts = [np.linspace(a, b, points + 1)[:-1] for a, b in itertools.pairwise(ends)]
    times = np.concatenate([*parts, ends[-1:]])
    return times, (times[1:] + times[:-1]) / 2


@eqx.filter_jit
def _spectrum(law, times, middles, frequencies, ratio, looks: int) -> ShockSpectrum:
    times, middles = jnp.asarray(times), jnp.asarray(middles)
    frequencies = jnp.asarray(frequencies)

    def side(time, inside):
        return law.series(time, inside, 1)[0]

    first = jax.vmap(side)(times[:-1], middles)
    last = jax.vmap(side)(times[1:], middles)
    steps = jnp.diff(times)

    def of(frequency):
        return _extremes(frequency, ratio, (steps, first, last), looks)

    found = jax.vmap(of)(frequencies)
    highest, lowest, residual, displacement = found
    maximax = jnp.maximum(highest, -lowest)
    nothing = jnp.zeros_like(maximax)
    return ShockSpectrum(
        frequencies, highest, lowest, maximax, residual, displacement, nothing
    )


def _extremes(frequency, ratio, base, looks: int):
    """Return highest and lowest acceleration, the residual and the displacement."""

    def extremes(seen, length, slope, sides):
        """Return the extremes updated by the step between two samples (z, v, a)."""
        acceleration, place = (
            step_polynomial(length, *(of(frequency, ratio, slope, *side) for side in sides))
            for of in (_acceleration, _displacement)
        )
        low, high, far = seen
        ends = [_range(path) for path in (acceleration, place)]
        (a_low, a_high), (z_low, z_high) = ends
        return (
            jnp.minimum(low, a_low),
            jnp.maximum(high, a_high),
            jnp.maximum(far, jnp.maximum(z_high, -z_low)),
        )

    def step(looks, carry, piece):
        length, first, last = piece
        length = length / looks
        slope = (last - first) / (length * looks)
        move = _transition(frequency, ratio, length)

        def look(carry, number):
            (z, v), seen = carry
            before = first + slope * (length * number)
            after = before + slope * length
            new = move(z, v, before, slope)
            seen = extremes(seen, length, slope, ((z, v, before), (*new, after)))
            return (new, seen), None

        numbers = jnp.arange(looks).astype(length.dtype)
        return jax.lax.scan(look, carry, numbers)

    still = jnp.zeros(())
    start = (still, still), (still, still, still)
    (left, seen), _ = jax.lax.scan(functools.partial(step, looks), start, base)
    turn = 2 * jnp.pi / (frequency * jnp.sqrt(1 - ratio**2))
    free = jnp.full(1, turn), jnp.zeros(1), jnp.zeros(1)
    leaving = left, (still, still, still)
    (_, after), _ = jax.lax.scan(functools.partial(step, _FREE), leaving, free)
    low, high = jnp.minimum(seen[0], after[0]), jnp.maximum(seen[1], after[1])
    residual = jnp.maximum(after[1], -after[0])
    return high, low, residual, jnp.maximum(seen[2], after[2])


def _acceleration(frequency, ratio, slope, z, v, base):
    """Return the absolute acceleration, its rate and its second rate."""
    loss, square = 2 * ratio * frequency, frequency**2
    value = -loss * v - square * z
    rate = -loss * (value - base) - square * v
    return value, rate, -loss * (rate - slope) - square * (value - base)


def _displacement(frequency, ratio, slope, z, v, base):
    """Return the relative displacement, its rate and its second rate."""
    return z, v, -2 * ratio * frequency * v - frequency**2 * z - base


def _range(path):
    """Return the lowest and the highest value of a path on its step."""
    one = jnp.ones(())
    ends = path.value(0 * one), path.value(one)
    turns = (path.slope(0 * one) > 0) != (path.slope(one) > 0)
    turning = jnp.where(turns, path.value(path.extremum()), ends[1])
    return (
        jnp.minimum(jnp.minimum(*ends), turning),
        jnp.maximum(jnp.maximum(*ends), turning),
    )


def _transition(frequency, ratio, length):
    r"""Return the exact motion over a step for a base acceleration $a + s t$.

    A particular solution is $z_p = -(a + s t)/\omega^2 + 2 \zeta s/\omega^3$; the
    remainder is a free motion.
    """
    damped = frequency * jnp.sqrt(1 - ratio**2)
    decay = jnp.exp(-ratio * frequency * length)
    cosine, sine = decay * jnp.cos(damped * length), decay * jnp.sin(damped * length)

    def move(z, v, base, slope):
        particular = -base / frequency**2 + 2 * ratio * slope / frequency**3
        rate = -slope / frequency**2
        z, v = z - particular, v - rate
        w = (v + ratio * frequency * z) / damped
        new = z * cosine + w * sine
        speed = -ratio * frequency * new + damped * (w * cosine - z * sine)
        return new + particular + rate * length, speed + rate

    return move
