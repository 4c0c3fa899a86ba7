"""Where a system ends as long as no gap closes: the steady state of its linear part."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float

from ..systems.impact import EquationOfMotion
from ..systems.loads import HarmonicLoad
from ..systems.system import System

# Decay times after which what is left of a transient, e^-12, is as small as a motion
# has to recur; and the most periods of the load that are spent on it.
DECAY_TIMES = 12.0
LONGEST_TRANSIENT = 8192
# A damping ratio below this is rounding.
_UNDAMPED = 1e-10
# Of the bound that tells whether a gap closes, what rounding may have taken.
_ROUNDING = 1e-6
_POINTS = 512  # in one period, where several loads are added up


class LinearEnd(NamedTuple):
    r"""What a system that is linear but for its contacts does while no gap closes.

    From a state $s$ it moves as $s_0(t) + V e^{\Lambda t} V^{-1} (s - s_0(0))$.
    `state`: the steady $s_0(0)$; `decay`: the slowest decay time
    $-1/\max\mathrm{Re}\,\Lambda$, s, infinite without damping and negative where
    motions grow; `modes`: $V^{-1}$, (2n, 2n); `closing`: of each mode, by how much it
    closes each gap, (contacts, 2n); `margin`: what the steady state leaves of each gap,
    m, negative where it closes.
    """

    state: Float[Array, " state"]
    decay: Float[Array, ""]
    modes: Complex[Array, "state state"]
    closing: Float[Array, "contacts state"]
    margin: Float[Array, " contacts"]


def linear_but_for_contacts(system: System) -> bool:
    """Return whether a system has a linear end: linear bodies under harmonic loads."""
    equation = eqx.filter_eval_shape(lambda s: s.equation(), system)
    return (
        isinstance(equation, EquationOfMotion)
        and not (equation.frictions or equation.springs)
        and all(isinstance(load.law, HarmonicLoad) for load in equation.loads)
    )


def linear_end(system: System) -> LinearEnd:
    r"""Return the linear end of a system, by its modes and its frequency response.

    The steady state is $q = \mathrm{Re} \sum_l Q_l e^{i \omega_l t}$ with
    $(C - \omega_l^2 M + i \omega_l D) Q_l = r_l F_l e^{i \varphi_l}$. Of one load it
    closes a gap by $|n^T Q|$; of several by no more than the sum of these, and no more
    than the largest of 512 times of the period and $h^2/8 \sum \omega_l^2 |n^T Q_l|$,
    with the time $h$ between two of them.
    """
    equation = system.equation()
    assert isinstance(equation, EquationOfMotion)
    size = equation.stiffness.shape[0]
    rigid = equation.stiffness.astype(complex)
    lossy = equation.damping.astype(complex)
    frequencies, amplitudes = [], []
    for load, response in zip(equation.loads, equation.load_responses, strict=True):
        assert isinstance(load.law, HarmonicLoad)
        w = load.law.frequency.astype(complex)
        dynamic = rigid - w**2 * jnp.eye(size, dtype=complex) + 1j * w * lossy
        amplitude, phase = (x.astype(complex) for x in (load.law.amplitude, load.law.phase))
        phasor = amplitude * jnp.exp(1j * phase)
        amplitudes.append(jnp.linalg.solve(dynamic, response.astype(complex) * phasor))
        frequencies.append(w)
    response, frequency = jnp.stack(amplitudes), jnp.stack(frequencies)
    start = jnp.concatenate([
        jnp.sum(response.real, axis=0) + equation.offset,
        jnp.sum((1j * frequency[:, None] * response).real, axis=0),
    ])  # fmt: skip
    matrix = jnp.concatenate([
        jnp.concatenate([jnp.zeros((size, size)), jnp.eye(size)], axis=1),
        jnp.concatenate([-equation.stiffness, -equation.damping], axis=1),
    ])  # fmt: skip
    # LAPACK never returns from some matrices of NaN.
    finite = jnp.all(jnp.isfinite(matrix))
    values, vectors = jnp.linalg.eig(jnp.where(finite, matrix, -jnp.eye(2 * size)))
    modes = jnp.linalg.inv(vectors)
    slowest = -jnp.max(values.real)
    decided = jnp.abs(slowest) > _UNDAMPED * jnp.max(jnp.abs(values))
    decay = jnp.where(decided, 1 / jnp.where(decided, slowest, 1.0), jnp.inf)
    decay = jnp.where(finite, decay, jnp.nan)
    if not equation.contacts:
        nothing = jnp.zeros((0, 2 * size))
        return LinearEnd(start, decay, modes, nothing, jnp.zeros(0))
    directions = jnp.stack([contact.direction for contact in equation.contacts])
    gaps = jnp.stack([contact.gap for contact in equation.contacts])
    closing = jnp.abs(directions.astype(complex) @ vectors[:size])
    peaks = _peaks(directions.astype(complex) @ response.T, frequency, system.period())
    return LinearEnd(start, decay, modes, closing, gaps - peaks)


def _peaks(closing: Complex[Array, "contacts loads"], frequency, period):
    """Return an upper bound of how far the steady state closes each gap, m."""
    total = jnp.sum(jnp.abs(closing), axis=1)
    if closing.shape[1] == 1:
        return total
    times = (period * jnp.arange(float(_POINTS)) / _POINTS).astype(complex)
    turned = jnp.exp(1j * frequency[:, None] * times[None, :])
    seen = jnp.max((closing @ turned).real, axis=1)
    between = (period / _POINTS) ** 2 / 8
    unseen = between * jnp.sum(jnp.abs(closing * frequency[None, :] ** 2), axis=1)
    return jnp.minimum(total, seen + unseen)


def attracts(end: LinearEnd) -> Bool[Array, ""]:
    """Return whether the steady state attracts: every free motion dies out."""
    return jnp.isfinite(end.decay) & (end.decay > 0)


def stays_apart(end: LinearEnd, state: Float[Array, " state"]) -> Bool[Array, ""]:
    """Return whether no gap closes on the way from `state` at t = 0 to the steady state.

    Each mode can close a gap by no more than the modulus that it begins with.
    """
    return attracts(end) & _bounded(end, state)


def never_settles(end: LinearEnd, state: Float[Array, " state"]) -> Bool[Array, ""]:
    """Return whether no gap closes and the free motion goes on, or grows, for ever."""
    free = end.margin.shape[0] == 0
    held = jnp.isposinf(end.decay) & _bounded(end, state)
    return held | (free & ~attracts(end) & ~jnp.isnan(end.decay))


def _bounded(end, state):
    shares = jnp.abs(end.modes @ (state - end.state).astype(complex))
    most = (1 + _ROUNDING) * jnp.sum(end.closing * shares[None, :], axis=1)
    return jnp.all(most < end.margin)


def transient_periods(end: LinearEnd, period, least):
    """Return for how many periods of the load a transient may run.

    12 of the slowest decay times of the linear system, but `least` periods at least and
    8192 at most.
    """
    least = jnp.asarray(least, float)
    wanted = jnp.where(attracts(end), DECAY_TIMES * end.decay / period, 0.0)
    most = jnp.maximum(least, float(LONGEST_TRANSIENT))
    return jnp.ceil(jnp.clip(wanted, least, most)).astype(int)
