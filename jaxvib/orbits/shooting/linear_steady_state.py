"""Steady state of the linear part of a system, valid while no gap closes."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ... import linalg
from ...dynamics.modal import ModalForm
from ...foundation.types import Number
from ...linalg import Parts
from ...systems.base.equation import Equation
from ...systems.base.system import System, equation_shape
from ...systems.contacts.annular import annular
from ...systems.impact import EquationOfMotion
from ...systems.loads import Wave, harmonic_of
from ...systems.variation import varies

# Transients are followed for this many decay times, after which e^-12 is as small as
# the required recurrence, and for at most this many periods of the load.
DECAY_TIMES, LONGEST_TRANSIENT = 12.0, 8192
# A damping ratio below this is rounding.
_UNDAMPED = 1e-10
# Allowance for rounding in the bound that decides whether a gap closes.
_ROUNDING = 1e-6
_POINTS = 512  # in one period, for the peak of a sum of loads


class LinearSteadyState(NamedTuple):
    r"""Response of a system, linear except for its contacts, while no gap closes.

    From a state $s$ it moves as $s_0(t) + V e^{\Lambda t} V^{-1} (s - s_0(0))$.
    `state`: the steady $s_0(0)$; `decay`: the slowest decay time
    $-1/\max\mathrm{Re}\,\Lambda$, s, infinite without damping and negative for growing
    motions; `modes`: $V^{-1}$; `closing`: by how much each mode closes each gap,
    (contacts, 2n); `margin`: the smallest gaps in the steady state, m, negative if a
    gap closes.
    """

    state: Float[Array, " state"]
    decay: Float[Array, ""]
    modes: Parts
    closing: Float[Array, "contacts state"]
    margin: Float[Array, " contacts"]


def linear_but_for_contacts(system: System) -> bool:
    """Return whether a system consists of linear bodies under harmonic loads.

    One with a drift has free motions that do not decay.
    """
    equation = equation_shape(system)
    return (
        system.drift is None
        and isinstance(equation, EquationOfMotion)
        and not (equation.frictions or equation.springs or varies(equation))
        and not annular(equation.contacts)
        and all(harmonic_of(load.law) for load in equation.loads)
    )


def linear_steady_state(system: System) -> LinearSteadyState:
    """Return a system's linear steady state, see `linear_steady_state_of`.

    That of a system in modal form has one mode for each pair of eigenvalues.
    """
    if isinstance(system, ModalForm):
        return _modal_steady_state(system)
    return linear_steady_state_of(system.equation(), system.period())


def linear_steady_state_of(equation: Equation, period: Array) -> LinearSteadyState:
    r"""Return an equation's linear steady state, from its modes and frequency response.

    The steady state is $q = \mathrm{Re} \sum_l Q_l e^{i \omega_l t}$ with
    $(C - \omega_l^2 M + i \omega_l D) Q_l = r_l F_l e^{i \varphi_l}$. One load closes a
    gap by $|n^T Q|$; several by at most the sum of these, and at most the maximum over
    512 times of the period plus $h^2/8 \sum \omega_l^2 |n^T Q_l|$, with the time $h$
    between two of them.
    """
    assert isinstance(equation, EquationOfMotion)
    size = equation.stiffness.shape[0]
    loads = equation.loads
    waves = [wave for load in loads if (wave := harmonic_of(load.law)) is not None]
    forced = [
        _forced(equation, wave, load.response)
        for wave, load in zip(waves, loads, strict=True)
    ]
    steady = Parts(*(jnp.stack(parts) for parts in zip(*forced, strict=True)))
    frequency = jnp.stack([wave.frequency for wave in waves])
    start = jnp.concatenate([
        jnp.sum(steady.real, axis=0) + equation.offset,
        -jnp.sum(frequency[:, None] * steady.imag, axis=0),
    ])  # fmt: skip
    matrix = jnp.concatenate([
        jnp.concatenate([jnp.zeros((size, size)), jnp.eye(size)], axis=1),
        jnp.concatenate([-equation.stiffness, -equation.damping], axis=1),
    ])  # fmt: skip
    finite = jnp.all(jnp.isfinite(matrix))
    values, vectors, modes = linalg.eigensystem(
        jnp.where(finite, matrix, -jnp.eye(2 * size))
    )
    decay = _decay_time(values.real, linalg.modulus(values))
    decay = jnp.where(finite, decay, jnp.nan)
    if not equation.contacts:
        nothing = jnp.zeros((0, 2 * size))
        return LinearSteadyState(start, decay, modes, nothing, jnp.zeros(0))
    directions = jnp.stack([contact.direction for contact in equation.contacts])
    gaps = jnp.stack([contact.gap for contact in equation.contacts])
    closing = linalg.modulus(Parts(*(directions @ part[:size] for part in vectors)))
    of_loads = Parts(*(directions @ part.T for part in steady))
    peaks = _peaks(of_loads, frequency, period)
    return LinearSteadyState(start, decay, modes, closing, gaps - peaks)


def _decay_time(decays: Array, paces: Array) -> Array:
    """Return the slowest decay time of modes, s, infinite where it is rounding."""
    slowest = -jnp.max(decays)
    decided = jnp.abs(slowest) > _UNDAMPED * jnp.max(paces)
    return jnp.where(decided, 1 / jnp.where(decided, slowest, 1.0), jnp.inf)


def _modal_steady_state(form: ModalForm) -> LinearSteadyState:
    """Return the linear steady state of a system whose modes are known."""
    values, contacts = form.modes.eigenvalues, form.motion.contacts
    count, half = values.decay.shape[0], form.motion.offset.shape[0]
    start = form.rest() + form.carried(0.0)
    decay = _decay_time(values.decay, values.paces())
    modes = Parts(form.modes.duals[:count], form.modes.duals[count:])
    if not contacts:
        return LinearSteadyState(
            start, decay, modes, form.gap_rows[:, :count], jnp.zeros(0)
        )
    closing = jnp.hypot(form.gap_rows[:, :count], form.gap_rows[:, count:])
    directions = jnp.stack([contact.direction for contact in contacts])
    gaps = jnp.stack([contact.gap for contact in contacts])
    cosines, sines = (directions @ part[:, :half].T for part in form.forced)
    along, across = jnp.cos(form.phase)[None], jnp.sin(form.phase)[None]
    of_loads = Parts(cosines * along + sines * across, cosines * across - sines * along)
    peaks = _peaks(of_loads, form.frequency, form.period())
    return LinearSteadyState(start, decay, modes, closing, gaps - peaks)


def _forced(equation: EquationOfMotion, law: Wave, response) -> Parts:
    """Return the complex displacement amplitudes under one harmonic load.

    The real and imaginary parts are the unknowns of one real linear system.
    """
    w, size = law.frequency, equation.stiffness.shape[0]
    dynamic = equation.stiffness - w**2 * jnp.eye(size)
    lossy = w * equation.damping
    matrix = jnp.concatenate([
        jnp.concatenate([dynamic, -lossy], axis=1),
        jnp.concatenate([lossy, dynamic], axis=1),
    ])  # fmt: skip
    force, phase = law.amplitude * response, law.phase
    right = jnp.concatenate([force * jnp.cos(phase), force * jnp.sin(phase)])
    return Parts(*jnp.split(linalg.solve_vector(matrix, right), 2))


def _peaks(closing: Parts, frequency, period):
    """Return an upper bound of the closing of each gap in the steady state, m."""
    sizes = linalg.modulus(closing)
    total = jnp.sum(sizes, axis=1)
    if sizes.shape[1] == 1:
        return total

    def at(point, most):
        angle = frequency * (period * (point.astype(float) / _POINTS))
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        return jnp.maximum(most, closing.real @ cosine - closing.imag @ sine)

    start = jnp.full_like(total, -jnp.inf)
    seen = jax.lax.fori_loop(0, _POINTS, at, start)
    between = (period / _POINTS) ** 2 / 8
    unseen = between * jnp.sum(sizes * frequency[None] ** 2, axis=1)
    return jnp.minimum(total, seen + unseen)


def attracts(end: LinearSteadyState) -> Bool[Any, ""]:
    """Return whether the steady state attracts: every free motion decays."""
    return jnp.isfinite(end.decay) & (end.decay > 0)


def stays_apart(end: LinearSteadyState, state: Float[Any, " state"]) -> Bool[Any, ""]:
    """Return whether no gap closes from `state` at t = 0 to the steady state.

    Each mode closes a gap by at most its initial modulus.
    """
    return attracts(end) & _bounded(end, state)


def never_touches(end: LinearSteadyState) -> Bool[Any, ""]:
    """Return whether the steady state attracts and no gap closes in it."""
    return attracts(end) & jnp.all(end.margin > 0)


def never_settles(end: LinearSteadyState, state: Float[Any, " state"]) -> Bool[Any, ""]:
    """Return whether no gap closes and the free motion persists, or grows, forever."""
    free = end.margin.shape[0] == 0
    sustained = jnp.isposinf(end.decay) & _bounded(end, state)
    return sustained | (free & ~attracts(end) & ~jnp.isnan(end.decay))


def what_is_left(lane: tuple) -> tuple[Bool[Any, ""], Bool[Any, ""]]:
    """Return `stays_apart` and `never_settles` of a lane (end, state)."""
    end, state = lane
    return stays_apart(end, state), never_settles(end, state)


def _bounded(end, state):
    away = state - end.state
    shares = linalg.modulus(Parts(end.modes.real @ away, end.modes.imag @ away))
    most = (1 + _ROUNDING) * jnp.sum(end.closing * shares[None], axis=1)
    return jnp.all(most < end.margin)


def transient_periods(end: LinearSteadyState, period: Number, least: Number) -> Array:
    """Return for how many periods of the load a transient may run.

    12 of the slowest decay times of the linear system, but at least `least` periods and
    at most 8192.
    """
    least = jnp.asarray(least, float)
    periods = jnp.where(attracts(end), DECAY_TIMES * end.decay / period, 0.0)
    most = jnp.maximum(least, float(LONGEST_TRANSIENT))
    return jnp.ceil(jnp.clip(periods, least, most)).astype(int)
