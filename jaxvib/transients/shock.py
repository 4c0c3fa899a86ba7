"""Shock response spectra: extremes of oscillators under base acceleration."""

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Real

from ..drawing import Plottable
from ..dynamics.stepping.step_polynomial import value_and_slope
from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range, result_field
from ..linalg import kernel_of
from ..systems.loads import Load

_LARGEST_RATIO = 10.0  # steps are shorter in proportion to it
# Largest phase, rad, of an oscillator between two samples, and terms of its series there:
# the first one omitted is (1/2)^15/15!, 2e-17.
_LOOK, _ORDERS = 0.5, 15
_NEWTON_STEPS = 3  # from the secant, wrong by 1e-2 of a step
# Damping times phase after which a free motion is nothing, e^-40, and steps until then:
# two extremes, or half a radian of the fastest motion at the largest damping ratio.
_GONE, _FREE = 40.0, 160
_ROUNDING = float(np.finfo(float).eps)  # relative, per step
_MOST_PIECES = 1_000_000  # of a law: safeguard against unlimited breaks
_AT_ONCE = 256  # breaks found by one call of a program
_LONG_AGO = 1e15  # s: before the start of any law
# Largest phase, rad, of a wave between two points: the error of linear interpolation is
# (1/4)^2/8; a run with half the points estimates the rest.
_TURN = 0.25
_MOST_POINTS = 10_000_000  # of a law: an array of 80 MB
_MOST_AT_ONCE = 10_000_000  # points times frequencies: the kernel reads a copy for each


class ShockSpectrum(Plottable):
    """Extremes of oscillators over natural frequency, during and after a shock."""

    drawn = ("maximax", "residual", "displacement")

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
        "largest change of these accelerations with half the points",
        "m/s^2",
        ("frequency",),
    )
    displacement_error: Float[Array, " frequency"] = result_field(
        "change of the displacement with half the points", "m", ("frequency",)
    )  # fmt: skip

    @property
    def pseudo_velocity(self) -> Float[Array, " frequency"]:
        """The largest relative displacement times the natural frequency, m/s."""
        return self.displacement * self.frequencies


def shock_spectrum(
    law: Load,
    frequencies: Real[ArrayLike, " frequency"] | Sequence[Any],
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
    `damping_ratio`: $\zeta$ in [0, 10]. **Raises:** `ValueError` for an argument out of
    its range, or a shock whose end is not known; NaN instead for traced values.
    **Source:** ISO 18431-4 (2007); Smallwood, *Shock and Vibration Bulletin* 51 (1981)
    279.

    >>> shock = jv.PulseLoad("half_sine", amplitude=490.5, start=0.0, duration=0.011)
    >>> print(jv.shock_spectrum(shock, [460.0], damping_ratio=0.05).maximax)
    [809.94]
    """
    check_range("frequencies", frequencies, "rad/s", Range(above=0.0))
    ratios = Range(at_least=0.0, at_most=_LARGEST_RATIO)
    check_range("damping_ratio", damping_ratio, "", ratios)
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
    ratio = jnp.asarray(damping_ratio, float)
    allowed = (ratio >= 0) & (ratio <= _LARGEST_RATIO)
    ratio = jnp.where(allowed, ratio, 0.0)
    found = _spectrum(law, times, middles, frequencies, ratio, np.asarray(_LOOK))
    # The points of a record are exact: only extremes between looks may be missed.
    coarse = (times, middles) if record else _times(ends, max(1, points // 2))
    other = _spectrum(law, *coarse, frequencies, ratio, np.asarray(2 * _LOOK))
    changes = jax.tree.map(lambda a, b: jnp.abs(a - b), found, other)
    accelerations = changes.highest, changes.lowest, changes.maximax, changes.residual
    errors = (
        found.error + functools.reduce(jnp.maximum, accelerations),
        found.displacement_error + changes.displacement,
    )
    found = eqx.tree_at(lambda s: (s.error, s.displacement_error), found, errors)
    known = ended & enough & allowed
    found = jax.tree.map(lambda x: jnp.where(known, x, jnp.nan), found)
    return eqx.tree_at(lambda s: s.frequencies, found, jnp.asarray(frequencies))


def shock_ends(law: Load, duration: float | None) -> tuple[np.ndarray, Bool[Array, ""]]:
    """Return the ends of a shock's pieces, s, and whether it is 0 after them.

    **Raises:** `ValueError` if it is not 0 and this is known (not traced).
    """
    ends = _ends(law, duration)
    return ends, _is_over(law, ends) if duration is None else jnp.asarray(True)


def _ends(law: Load, duration: float | None) -> np.ndarray:
    """Return the breaks of a law, and 0, from its start to the shock's end."""
    time = -1e-12 if law.repeats else -_LONG_AGO
    if not is_concrete(law.next_breakpoint(jnp.asarray(time))):
        raise ValueError("times of the law are traced; allowed: concrete values, s")
    # Its breaks are known, so they do not depend on what is traced.
    law = jax.tree.map(lambda x: x if is_concrete(x) else jnp.zeros_like(x), law)
    blocks = []
    goes_on = duration is not None or not law.repeats
    while goes_on and len(blocks) * _AT_ONCE < _MOST_PIECES:
        found = np.asarray(_next_breaks(law, jnp.asarray(time)))
        inside = np.isfinite(found) & (found < (np.inf if duration is None else duration))
        blocks.append(found[inside])
        time, goes_on = float(found[-1]), bool(inside.all())
    breaks = np.concatenate([*blocks, np.zeros(0)])
    last = (
        duration
        if duration is not None
        else float(np.max(breaks, initial=-np.inf if breaks.size else 0.0))
    )
    ends = np.unique(np.append(breaks, [0.0, last]))
    ends = ends[ends <= last]
    if ends.size < 2:
        raise ValueError(
            f"the end of a shock of {type(law).__name__} is not known; allowed: a duration"
        )
    return ends


@eqx.filter_jit
def _next_breaks(law: Load, time) -> Float[Array, " breaks"]:
    """Return the next breaks of a law."""

    def step(time, _):
        found = law.next_breakpoint(time)
        return found, found

    return jax.lax.scan(step, time, length=_AT_ONCE)[1]


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
def _spectrum(law, times, middles, frequencies, ratio, look) -> ShockSpectrum:
    times, middles = jnp.asarray(times), jnp.asarray(middles)
    frequencies = jnp.asarray(frequencies)

    def side(time, inside):
        return law.series(time, inside, 1)[0]

    first = jax.vmap(side)(times[:-1], middles)
    last = jax.vmap(side)(times[1:], middles)
    base, steps = (jnp.diff(times), first, last), first.shape[0]

    def of(frequency):
        return kernel_of(_extremes)(frequency, ratio, jnp.asarray(look), base)

    lanes = max(1, _MOST_AT_ONCE // steps)
    found = jax.lax.map(of, frequencies, batch_size=lanes)
    highest, lowest, residual, far = found
    maximax = jnp.maximum(highest, -lowest)
    looks = frequencies * _fastest(ratio) * (times[-1] - times[0]) / look
    rounding = _ROUNDING * jax.lax.stop_gradient(looks + steps + _FREE)
    moved = far / frequencies**2
    errors = rounding * maximax, rounding * moved
    return ShockSpectrum(frequencies, highest, lowest, maximax, residual, moved, *errors)


def _fastest(ratio):
    """Return the largest modulus of a free motion's exponents, in natural frequencies."""
    return jnp.maximum(1.0, ratio + jnp.sqrt(jnp.maximum(ratio**2 - 1, 0.0)))


def _extremes(frequency, ratio, look, base):
    r"""Return highest and lowest acceleration, the residual and the largest displacement.

    The displacement times $\omega^2$ and the phase as time make all numbers accelerations.
    """
    fastest = _fastest(jax.lax.stop_gradient(ratio))

    def through(carry, length, first, last, looks):
        """Return the motion and its extremes after a piece, in equal steps."""
        share = 1 / jnp.asarray(looks, float)
        phase, slope = frequency * length * share, (last - first) * share

        def step(number, carry):
            motion, seen = carry
            now = first + slope * number.astype(float)
            path = _Path.of(*motion, now, slope, ratio, phase)
            return path.motion(jnp.ones(())), _updated(seen, path)

        return jax.lax.fori_loop(0, looks, step, carry)

    def piece(carry, ends):
        looks = jnp.ceil(frequency * ends[0] * fastest / look).astype(int)
        return through(carry, *ends, jnp.maximum(looks, 1)), None

    still = jnp.zeros(())
    start = (still, still), (still, still, still)
    (left, seen), _ = jax.lax.scan(piece, start, base)
    turn = 2 * jnp.pi / jnp.sqrt(jnp.maximum(1 - ratio**2, 1e-4))
    rest = jnp.minimum(turn, _GONE / jnp.maximum(ratio, 1e-4)) / frequency
    leaving = -2 * ratio * left[1] - left[0]
    seen_first = jnp.minimum(leaving, 0.0), jnp.maximum(leaving, 0.0), still
    after = through((left, seen_first), rest, still, still, _FREE)[1]
    low, high = jnp.minimum(seen[0], after[0]), jnp.maximum(seen[1], after[1])
    residual = jnp.maximum(after[1], -after[0])
    return high, low, residual, jnp.maximum(seen[2], after[2])


class _Path(NamedTuple):
    r"""The motion on a step, $z'' + 2 \zeta z' + z = -a$ over the phase.

    Its Taylor series in the share of the step, exact to rounding; a is linear.
    """

    coefficients: tuple
    base: Array
    slope: Array
    ratio: Array
    phase: Array

    @classmethod
    def of(cls, z, v, base, slope, ratio, phase) -> "_Path":
        square = phase**2
        terms = [z, v * phase, -square * (2 * ratio * v + z + base) / 2]
        damped, push = 2 * ratio * phase, square * slope
        for k in range(1, _ORDERS - 2):
            known = damped * (k + 1) * terms[k + 1] + square * terms[k] + push
            terms.append(-known * (1 / ((k + 1) * (k + 2))))
            push = 0.0
        return cls(tuple(terms), base, slope, ratio, phase)

    def motion(self, share):
        """Return the displacement and its rate at a share of the step."""
        value, rate = value_and_slope(self.coefficients, share)
        return value, rate / self.phase

    def displacement(self, share):
        """Return the displacement, its rate and its second rate."""
        z, v = self.motion(share)
        return z, v, -2 * self.ratio * v - z - (self.base + self.slope * share)

    def acceleration(self, share):
        """Return the absolute acceleration, its rate and its second rate."""
        _, v, second = self.displacement(share)
        value = second + self.base + self.slope * share
        rate = -2 * self.ratio * second - v
        third = -2 * self.ratio * second - v - self.slope / self.phase
        return value, rate, -2 * self.ratio * third - second

    def extremes(self, of):
        """Return a signal's values at the end and at its turn on the step, if any.

        The turn of a smooth signal: its place has no derivative.
        """
        still = jax.lax.stop_gradient(self)
        sides = [of(still, jnp.asarray(share, float)) for share in (0.0, 1.0)]
        (_, first, _), (_, last, _) = sides
        turns = (first > 0) != (last > 0)
        share = jnp.clip(first / jnp.where(turns, first - last, 1.0), 0.0, 1.0)
        for _ in range(_NEWTON_STEPS):
            _, rate, second = of(still, share)
            step = rate / jnp.where(second == 0, 1.0, second * self.phase)
            share = jnp.clip(share - jax.lax.stop_gradient(step), 0.0, 1.0)
        end = of(self, jnp.ones(()))[0]
        return end, jnp.where(turns, of(self, share)[0], end)


def _updated(seen, path: _Path):
    """Return lowest and highest acceleration and largest displacement after a step."""
    low, high, far = seen
    accelerations = path.extremes(_Path.acceleration)
    moved = [jnp.abs(z) for z in path.extremes(_Path.displacement)]
    return (
        functools.reduce(jnp.minimum, accelerations, low),
        functools.reduce(jnp.maximum, accelerations, high),
        functools.reduce(jnp.maximum, moved, far),
    )
