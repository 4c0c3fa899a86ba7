"""Power series of scalars: values, products, and the first root of several series."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.types import Number
from ..stepping.step_polynomial import value as value
from ..stepping.step_polynomial import value_and_slope as value_and_slope
from .rows import where

# Coefficients c_k of sum_k c_k s^k, one array per order.
Series = Sequence

# Safe steps towards the first root: each squares the remaining distance.
_LOOKS = 4
# Within this part of the reach, Newton iteration converges to the root.
_NEAR = 1e-6
# Part of the reach searched first if the first step is short.
_PART = 1 / 32
_FAR = 1e-3  # of the reach: a longer Newton step leads to another root
# A signal that rests at zero is evaluated again this part of the reach later.
_NUDGE = 1e-7


def slope(series: Series, s: Number) -> Array:
    """Return the derivative at s."""
    return value_and_slope(series, s)[1]


def square_term(series: Series, order: int) -> Number:
    """Return the coefficient of an order in the square of a series."""
    half = order // 2
    middle = series[half] * series[half] if order % 2 == 0 else 0.0
    pairs = [series[i] * series[order - i] for i in range((order + 1) // 2)]
    return 2 * sum(pairs[1:], pairs[0]) + middle if pairs else middle


def combination(weights: Sequence, rows: Sequence[Series]) -> list:
    """Return the series sum_i w_i r_i."""
    return [
        sum(w * term for w, term in zip(weights, terms, strict=True))
        for terms in zip(*rows, strict=True)
    ]


def radius(
    series: Sequence[Series],
    sizes: Sequence,
    accuracy: Number,
    dt_dtau: Array | None = None,
) -> Array:
    """Return the distance over which the last two terms stay below `accuracy` sizes.

    It is limited by the convergence of the series, estimated by the growth of terms
    from the middle to the end: a series far below its size may still diverge. With
    `dt_dtau`, the terms divided by time also stay below `accuracy` times that many
    sizes, which bounds the errors of rates.
    """
    order = len(series[0]) - 1
    tiny = jnp.finfo(float).tiny
    shares = [1 / size for size in sizes]

    def term(power):
        terms = [jnp.abs(c[power]) * share for c, share in zip(series, shares, strict=True)]
        return log2(jnp.maximum(largest(terms), tiny))

    last, before = term(order), term(order - 1)
    least, accuracy = log2(jnp.asarray(tiny)), log2(jnp.asarray(accuracy, float))
    reach = jnp.minimum((accuracy - last) / order, (accuracy - before) / (order - 1))
    if dt_dtau is not None:
        slow = accuracy + log2(dt_dtau)
        ends = (slow - last) / (order - 1), (slow - before) / (order - 2)
        reach = jnp.minimum(reach, jnp.minimum(*ends))
    half = order // 2
    growth = [
        jnp.where(middle > least, (middle - tail) * (1 / (m - k)), -jnp.inf)
        for tail, m, k in (
            (last, order, half), (before, order - 1, half - 1),
            (last, order, half - 2), (before, order - 1, half - 3),
        )
        for middle in [term(k)]
    ]  # fmt: skip
    converges = largest(growth)
    converges = jnp.where(jnp.isfinite(converges), converges, reach)
    return jnp.exp2(jnp.minimum(reach, converges))


def log2(x: Array) -> Array:
    """Return the binary logarithm of positive numbers, to 0.09.

    That suffices for steps. A double's bits contain its exponent, and its fraction is
    nearly the logarithm's; XLA's own takes forty times as long on a CPU.
    """
    bits = jax.lax.bitcast_convert_type(jax.lax.stop_gradient(x), jnp.int64)
    return bits.astype(float) * 2.0**-52 - 1023.0


def first_root(
    signals: Sequence[Series], reach: Array, closer: bool = True
) -> tuple[Array, list]:
    r"""Return a safe distance, and which signal has its first root there.

    Signals start at 0 or below. Where $f(s) \le f_0 + f_1 s + B s^2$ on the whole
    reach, B a bound on $f''/2$, the root of that parabola is not behind the first
    root of f, and steps to such roots converge to it quadratically. If the first one is
    short, `closer` restricts the search to a part of the reach with its tighter bound:
    gaps that open slower than a parabola need it. **Returns:** s, and for each signal
    whether its root is next to s.
    """
    if not signals:
        return reach, []
    signals, length = jax.lax.stop_gradient((list(signals), reach))
    part = _PART * length
    signals = [[jnp.minimum(f[0], 0), *f[1:]] for f in signals]
    bends = [_bend(f, length) for f in signals]
    if closer:
        tight = [_bend(f, part) for f in signals]
        pairs = zip(signals, bends, strict=True)
        first = smallest([_safe_step(f[0], f[1], bend, length) for f, bend in pairs])
        reach = jnp.where(first < part, part, length)
        bends = where(reach < length, tight, bends)
    s, steps = jnp.zeros_like(reach), []
    before = s
    for look in range(_LOOKS):
        before, steps = s, []
        for f, bend in zip(signals, bends, strict=True):
            height, rate = value_and_slope(f, s) if look else f[:2]
            step = _safe_step(height, rate, bend, reach)
            steps.append(jnp.where(rate > 0, step, -step))
        s = jnp.minimum(s + smallest([jnp.abs(step) for step in steps]), reach)
    near = [(step >= 0) & (step <= _NEAR * length) & (before + step <= s) for step in steps]
    return s, near


def _bend(series: Series, reach):
    """Return an upper bound of half the second derivative between 0 and reach."""
    *below, bound = (k * (k - 1) / 2 * series[k] for k in range(2, len(series)))
    for half in reversed(below):
        bound = half + jnp.maximum(bound, 0) * reach
    return jnp.maximum(bound, 0)


def _safe_step(f, rate, bend, reach):
    f = jnp.minimum(f, 0)
    spread = jnp.sqrt(rate**2 - 4 * bend * f)
    rising = rate > 0
    ahead = jnp.where(rising, -2 * f, spread - rate)
    by = jnp.where(rising, rate + spread, 2 * bend)
    step = jnp.where(by > 0, ahead / jnp.where(by > 0, by, 1), reach)
    resting = (f == 0) & (rate == 0) & (bend > 0)
    return jnp.where(resting, _NUDGE * reach, step)


def first_to_meet(
    signals: Sequence[Series], s: Array, near: Sequence, reach: Array
) -> list:
    """Return which signal's root is the first one behind s, of those `near` it or others.

    A root within the safe distance may still lie behind another signal's, if that one
    grazes.
    """
    first = first_of(near)
    if len(signals) < 2:
        return first
    signals, s, reach = jax.lax.stop_gradient((list(signals), s, reach))
    near_one = signals[0]
    for signal, meets in zip(signals[1:], first[1:], strict=True):
        near_one = where(meets, signal, near_one)
    root = s
    for _ in range(2):
        height, rate = value_and_slope(near_one, root)
        root = root - height / rate
    known = any_of(first) & (jnp.abs(root - s) <= _FAR * reach)
    root = jnp.where(known, jnp.maximum(root, s), s)  # no earlier root exists
    earliest, best = first, jnp.ones_like(s)
    for k, signal in enumerate(signals):
        before, after = value(signal, s), value(signal, root)
        passed = known & ~first[k] & (before <= 0) & (after > 0)
        share = jnp.where(passed, -before / jnp.where(passed, after - before, 1.0), 1.0)
        sooner = passed & (share < best)
        best = jnp.where(sooner, share, best)
        earliest = [jnp.where(sooner, i == k, flag) for i, flag in enumerate(earliest)]
    return earliest


def refined(signals: Sequence[Series], s: Array, meets: Sequence, reach: Number) -> Array:
    """Return the root near s of the signal that meets it, with its derivatives.

    It is s itself if Newton iteration diverges, as the root must be near, and never
    before the start: an event that has begun within rounding begins now.
    """
    if not signals:
        return s
    # A line with its root at s, if no signal meets.
    series = [-s, jnp.ones_like(s), *[jnp.zeros_like(s)] * (len(signals[0]) - 2)]
    for signal, meet in zip(signals, meets, strict=True):
        series = where(meet, signal, series)
    new = _root(series, s)
    new = new - jax.lax.stop_gradient(jnp.minimum(new, 0.0))
    return jnp.where(jnp.abs(new - s) <= _FAR * reach, new, s)


@jax.custom_jvp
def _root(series: list, s):
    """Return the root near s by Newton iteration; its tangent is the implicit one."""
    for _ in range(3):
        height, rate = value_and_slope(series, s)
        s = s - height / rate
    return s


@_root.defjvp
def _root_rule(primals, tangents):
    series, _ = primals
    root = _root(*primals)
    return root, -value(tangents[0], root) / slope(series, root)


def first_of(flags: Sequence) -> list:
    """Return the flags with only the first one that is set."""
    found, result = jnp.zeros((), bool), []
    for flag in flags:
        result.append(flag & ~found)
        found = found | flag
    return result


def any_of(flags: Sequence) -> Array:
    """Return whether any of several flags is set."""
    total = jnp.zeros((), bool)
    for flag in flags:
        total = total | flag
    return total


def largest(values: Sequence) -> Array:
    """Return the elementwise largest of several arrays."""
    total, *rest = values
    for one in rest:
        total = jnp.maximum(total, one)
    return total


def smallest(values: Sequence) -> Array:
    """Return the elementwise smallest of several arrays."""
    total, *rest = values
    for one in rest:
        total = jnp.minimum(total, one)
    return total
