"""Where a system ends as long as no gap closes: the steady state of its linear part."""

from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Complex, Float

from .._arrays import library_of
from ..systems.equation import Equation
from ..systems.impact import EquationOfMotion
from ..systems.loads import HarmonicLoad
from ..systems.system import System, equation_shape

# Decay times after which what is left of a transient, e^-12, is as small as a motion
# has to recur; and the most periods of the load that are spent on it.
DECAY_TIMES, LONGEST_TRANSIENT = 12.0, 8192
# A damping ratio below this is rounding.
_UNDAMPED = 1e-10
# Of the bound that tells whether a gap closes, what rounding may have taken.
_ROUNDING = 1e-6
_POINTS = 512  # in one period, where several loads are added up


class LinearSteadyState(NamedTuple):
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
    equation = equation_shape(system)
    return (
        isinstance(equation, EquationOfMotion)
        and not (equation.frictions or equation.springs)
        and all(isinstance(load.law, HarmonicLoad) for load in equation.loads)
    )


def linear_steady_state(system: System) -> LinearSteadyState:
    """Return the linear end of a system, see `linear_steady_state_of`."""
    return linear_steady_state_of(system.equation(), system.period())


def linear_steady_state_of(equation: Equation, period) -> LinearSteadyState:
    r"""Return the linear end of an equation, by its modes and its frequency response.

    The steady state is $q = \mathrm{Re} \sum_l Q_l e^{i \omega_l t}$ with
    $(C - \omega_l^2 M + i \omega_l D) Q_l = r_l F_l e^{i \varphi_l}$. Of one load it
    closes a gap by $|n^T Q|$; of several by no more than the sum of these, and no more
    than the largest of 512 times of the period and $h^2/8 \sum \omega_l^2 |n^T Q_l|$,
    with the time $h$ between two of them.
    """
    assert isinstance(equation, EquationOfMotion)
    xp = library_of(equation, period)
    size = equation.stiffness.shape[0]
    rigid = equation.stiffness.astype(complex)
    lossy = equation.damping.astype(complex)
    frequencies, amplitudes = [], []
    for load, response in zip(equation.loads, equation.load_responses, strict=True):
        assert isinstance(load.law, HarmonicLoad)
        w = load.law.frequency.astype(complex)
        dynamic = rigid - w**2 * xp.eye(size, dtype=complex) + 1j * w * lossy
        amplitude, phase = (x.astype(complex) for x in (load.law.amplitude, load.law.phase))
        phasor = amplitude * xp.exp(1j * phase)
        amplitudes.append(xp.linalg.solve(dynamic, response.astype(complex) * phasor))
        frequencies.append(w)
    response, frequency = xp.stack(amplitudes), xp.stack(frequencies)
    start = xp.concatenate([
        xp.sum(response.real, axis=0) + equation.offset,
        xp.sum((1j * frequency[:, None] * response).real, axis=0),
    ])  # fmt: skip
    matrix = xp.concatenate([
        xp.concatenate([xp.zeros((size, size)), xp.eye(size)], axis=1),
        xp.concatenate([-equation.stiffness, -equation.damping], axis=1),
    ])  # fmt: skip
    # LAPACK never returns from some matrices of NaN.
    finite = xp.all(xp.isfinite(matrix))
    values, vectors = xp.linalg.eig(xp.where(finite, matrix, -xp.eye(2 * size)))
    modes = xp.linalg.inv(vectors)
    slowest = -xp.max(values.real)
    decided = xp.abs(slowest) > _UNDAMPED * xp.max(xp.abs(values))
    decay = xp.where(decided, 1 / xp.where(decided, slowest, 1.0), xp.inf)
    decay = xp.where(finite, decay, xp.nan)
    if not equation.contacts:
        nothing = xp.zeros((0, 2 * size))
        return LinearSteadyState(start, decay, modes, nothing, xp.zeros(0))
    directions = xp.stack([contact.direction for contact in equation.contacts])
    gaps = xp.stack([contact.gap for contact in equation.contacts])
    closing = xp.abs(directions.astype(complex) @ vectors[:size])
    peaks = _peaks(directions.astype(complex) @ response.T, frequency, period)
    return LinearSteadyState(start, decay, modes, closing, gaps - peaks)


def _peaks(closing: Complex[Any, "contacts loads"], frequency, period):
    """Return an upper bound of how far the steady state closes each gap, m."""
    xp = library_of(closing, frequency, period)
    total = xp.sum(xp.abs(closing), axis=1)
    if closing.shape[1] == 1:
        return total
    times = (period * xp.arange(float(_POINTS)) / _POINTS).astype(complex)
    turned = xp.exp(1j * frequency[:, None] * times[None, :])
    seen = xp.max((closing @ turned).real, axis=1)
    between = (period / _POINTS) ** 2 / 8
    unseen = between * xp.sum(xp.abs(closing * frequency[None, :] ** 2), axis=1)
    return xp.minimum(total, seen + unseen)


def attracts(end: LinearSteadyState) -> Bool[Any, ""]:
    """Return whether the steady state attracts: every free motion dies out."""
    return library_of(end).isfinite(end.decay) & (end.decay > 0)


def stays_apart(end: LinearSteadyState, state: Float[Any, " state"]) -> Bool[Any, ""]:
    """Return whether no gap closes on the way from `state` at t = 0 to the steady state.

    Each mode can close a gap by no more than the modulus that it begins with.
    """
    return attracts(end) & _bounded(end, state)


def never_settles(end: LinearSteadyState, state: Float[Any, " state"]) -> Bool[Any, ""]:
    """Return whether no gap closes and the free motion goes on, or grows, for ever."""
    xp = library_of(end, state)
    free = end.margin.shape[0] == 0
    held = xp.isposinf(end.decay) & _bounded(end, state)
    return held | (free & ~attracts(end) & ~xp.isnan(end.decay))


def _bounded(end, state):
    xp = library_of(end, state)
    shares = xp.abs(end.modes @ (state - end.state).astype(complex))
    most = (1 + _ROUNDING) * xp.sum(end.closing * shares[None, :], axis=1)
    return xp.all(most < end.margin)


def transient_periods(end: LinearSteadyState, period, least):
    """Return for how many periods of the load a transient may run.

    12 of the slowest decay times of the linear system, but `least` periods at least and
    8192 at most.
    """
    xp = library_of(end, period, least)
    least = xp.asarray(least, float)
    wanted = xp.where(attracts(end), DECAY_TIMES * end.decay / period, 0.0)
    most = xp.maximum(least, float(LONGEST_TRANSIENT))
    return xp.ceil(xp.clip(wanted, least, most)).astype(int)
