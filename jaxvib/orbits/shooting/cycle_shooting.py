r"""Shooting for limit cycles: unknown state and period.

The motion of an autonomous field can begin anywhere on a cycle, so that $M - I$ is
singular: $M f = f$. The period is an additional unknown, and steps along the cycle are
excluded by a phase condition:

$$(M - I)\,\delta s + f(\varphi^T(s))\,\delta T = s - \varphi^T(s), \qquad
  f(s) \cdot \delta s = 0,$$

with components in units of the motion. Where a friction begins to slide, or a stop is
hit, f jumps and $M f$ is the rate on either side: the cycle then begins elsewhere.
**Source:** Seydel, *Practical Bifurcation and Stability Analysis* (2010), section 7.3.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ... import linalg
from ...dynamics.engines.choice import engine_of
from ...dynamics.engines.engine import Engine
from ...dynamics.flow import flow, observe_with_monodromy
from ...dynamics.motion import Motion, Want
from ...dynamics.observables import Observables, init_observables
from ...dynamics.stepping.scales import scales_of
from ...ensemble import Reason
from ...foundation.types import Number
from ...systems.base.system import System
from ...systems.drift import across_drift, modulo_drift
from ...systems.impact import EquationOfMotion
from .orbit_shooting import SAME_STATE, Progress, Trial, advanced, begun, growth_of

# Limits of a step, relative to the motion's extent and to its period.
_REACH, _STRETCH = 0.5, 0.2
# Largest ratio to the guessed period: beyond it the cycle is a different one.
_LONGER = 4.0
# A motion with an extent below this part of its first size, or of its state, is at
# rest.
_AT_REST = 1e-6
# Components are scaled by at least these parts of their initial size, as they may decay,
# and of the size that the others give them, as they may be rounding only.
_NEGLIGIBLE, _OF_OTHERS = 1e-10, 1e-6
# Starts: the guess itself, and the ends of transients of these numbers of periods.
_TRANSIENTS = (5.0, 20.0, 80.0, 320.0)
# Samples of a window, and the largest number of periods of a cycle in the one found.
_SAMPLES = 420
_WINDOW = 3.0  # periods searched for a return, doubled at each start
# A start at an event is moved by this part of the period. There $M f$ differs from f by
# more than `_AT_EVENT` of it.
_MOVED, _AT_EVENT = 7, 1e-3
# A return is this close, relative to the extent, after a distance of at least `_AWAY`.
_RETURNS, _NEARLY, _AWAY = 0.02, 0.2, 0.5
# Part of a window at which its samples begin: a guess of the period may be too long.
_SHORTEST = 1e-3
# The error of the flow over part of a period, in its tolerances.
_OF_FLOW = 10.0


class CycleShooting(NamedTuple):
    """Newton iteration for a cycle's (state, period): its state or its end.

    `progress`: at the end with the monodromy matrix of the coarser tolerance, see
    `shooting.ShootingResult`. Of the last trial: its unknowns `at`; `full`, the next
    step without its limit; `solver`, the inverse of the step's matrix; the `units` of
    the state; `seen`, the flow over one period. `size`: initial scale of the motion.
    `at_event`: whether it begins at an event, where the rate jumps.
    """

    progress: Progress
    size: Float[Array, " n"]
    at: Float[Array, " unknowns"]
    full: Float[Array, " unknowns"]
    solver: Float[Array, "unknowns unknowns"]
    units: Float[Array, " n"]
    seen: Motion
    at_event: Any = False

    @property
    def state(self) -> Float[Array, " n"]:
        """The state at t = 0."""
        return self.at[:-1]

    @property
    def period(self) -> Float[Array, ""]:
        """The period, s."""
        return self.at[-1]

    @property
    def result(self) -> Int[Array, ""]:
        """A reason code, -1 while iterating."""
        return self.progress.result

    def with_result(self, code: Array) -> "CycleShooting":
        """Return the same iteration with another reason code."""
        progress = self.progress._replace(result=code.astype(jnp.int32))
        return self._replace(progress=progress)


def shoot_cycle(
    system: System,
    guess: Array,
    period: Array,
    rtol: Number,
    tight: Number,
    engine: str = "auto",
) -> CycleShooting:
    """Return the cycle near a guess of state and period, or that of its transient.

    If Newton iteration finds no cycle from the guess itself, the motion from there is
    followed, and the iteration restarts from later states, with the return time as the
    guess of the period. If it finds several periods of a cycle, it restarts with one.
    """

    def attempt(last):
        index, start, span, size, _, _, _ = last
        shooting = shoot(system, start, span, size, rtol, tight, engine)
        found = shooting.result == Reason.SUCCESS
        lead = jnp.asarray(_TRANSIENTS)[jnp.minimum(index, len(_TRANSIENTS) - 1)] * span
        width = _WINDOW * span * 2.0 ** index.astype(float)
        origin = jnp.where(found, shooting.state, start)
        safe = jnp.all(jnp.isfinite(origin)) & (span > 0)
        window = lead + width * window_parts(_SAMPLES)
        fractions = 1 / jnp.arange(_SAMPLES, 0.0, -1.0)
        times = jnp.where(found, shooting.period * fractions, window)
        times = jnp.append(0.0, jnp.where(safe, times, fractions))
        origin = jnp.where(safe, origin, jnp.zeros_like(origin))
        want, chosen = Want(rtol, times), engine_of(system, engine)
        states = chosen.integrate(system, origin, times[0], times[-1], want).states
        apart = modulo_drift(system, states, origin) - origin[None]
        apart = jnp.max(jnp.abs(apart) / shooting.units[None], axis=1)[1:]
        repeats = found & _repeats(apart, rtol)
        part = jnp.max(jnp.where(repeats, 1 / fractions, 1.0))
        shorter = part > 1
        code = jnp.where(shorter, Reason.SHORTER_PERIOD, shooting.result)
        around = modulo_drift(system, states[1:], states[1])
        later = return_time(around, times[1:])
        later = jnp.where(jnp.isfinite(later), later, span)
        size = jnp.where(index == 0, jnp.max(jnp.abs(states), axis=0), size)
        rests = ~found & jnp.all(_extent(states[1:]) <= _AT_REST * size)
        # XLA's maxima of several samples may leave out NaN.
        rests = rests & jnp.all(jnp.isfinite(states))
        shooting = shooting.with_result(jnp.where(rests, Reason.EQUILIBRIUM, code))
        start = jnp.where(shorter, shooting.state, modulo_drift(system, states[1]))
        later = jnp.where(shorter, shooting.period / part, later)
        ended = (found & ~shorter) | rests
        if has_holding(system):
            moved = found & ~shorter & shooting.at_event & (index + 1 < len(_TRANSIENTS))
            there = modulo_drift(system, states[1 + _SAMPLES - _MOVED])
            start = jnp.where(moved, there, start)
            later = jnp.where(moved, shooting.period, later)
            ended = ended & ~moved
        return index + 1, start, later, size, ended, shorter, shooting

    def goes_on(last):
        index, start, _, _, ended, shorter, _ = last
        most = len(_TRANSIENTS) + shorter.astype(int)
        return ~ended & (index < most) & jnp.all(jnp.isfinite(start))

    start, span = jnp.asarray(guess, float), jnp.asarray(period, float)
    # The result of a guess that is not finite.
    nothing = _initial_iteration(system, jnp.append(start, span))
    nothing = nothing.with_result(jnp.asarray(Reason.BAD_PARAMETER))
    ended = shorter = jnp.asarray(False)
    first = jnp.asarray(0), start, span, jnp.abs(start), ended, shorter, nothing
    return jax.lax.while_loop(goes_on, attempt, first)[-1]


def has_holding(system: System) -> bool:
    """Return whether frictions may stick, or bodies rest on hard stops."""
    equation = system.equation()
    if not isinstance(equation, EquationOfMotion):
        return False
    return bool(equation.frictions) or any(equation.hard_contacts())


def rate_of(
    system: System, state: Array, engine: str | Engine = "auto"
) -> Float[Array, " n"]:
    """Return the rate of a state, with the forces of frictions and stops that hold.

    A state is held only up to rounding, within which the vector field jumps: the rate is
    that of the flow, which knows what holds.
    """
    if not has_holding(system):
        return system.equation().vector_field(0.0, state)

    def end(time):
        return flow(system, state, 0.0, time, engine=engine)

    return jax.jvp(end, (jnp.zeros(()),), (jnp.ones(()),))[1]


def window_parts(number: int) -> np.ndarray:
    """Return parts of a window in geometric progression.

    A motion is sampled as finely in its period, whatever its ratio to the window's width.
    """
    return np.geomspace(_SHORTEST, 1.0, number)


def return_time(states: Array, times: Array) -> Array:
    """Return the time of the first return of a motion to its first sample, or NaN."""
    extent = _extent(states)
    extent = jnp.where(extent > 0, extent, 1.0)
    places = (states - states[:1]) / extent[None]
    distance = jnp.max(jnp.abs(places), axis=1)
    been = jax.lax.cummax(distance)[1:-1] > _AWAY
    inner, before, after = distance[1:-1], distance[:-2], distance[2:]
    turns = been & (inner <= before) & (inner <= after)
    # Squared distances are parabolas; distances have a corner.
    bend = before**2 - 2 * inner**2 + after**2
    shift = (before**2 - after**2) / (2 * jnp.where(bend > 0, bend, 1.0))
    shift = jnp.where(bend > 0, shift, 0.0)
    # Samples miss the nearest state by more than a return is close.
    nearest = jnp.max(jnp.abs(_between(places, shift[:, None])), axis=1)
    least = jnp.min(jnp.where(turns, nearest, jnp.inf))
    nearly = turns & (nearest < _NEARLY)
    which = jnp.argmax(nearly & (nearest < jnp.maximum(_RETURNS, 2 * least)))
    back = _between(times, shift)[which] - times[0]
    return jnp.where(jnp.any(nearly), back, jnp.nan)


def _between(values: Array, shift: Array) -> Array:
    """Return parabolas through three neighbours each, at a shift from the middle one."""
    low, mid, high = values[:-2], values[1:-1], values[2:]
    return mid + shift * (high - low) / 2 + shift**2 * (low - 2 * mid + high) / 2


def _repeats(apart: Array, rtol: Number) -> Array:
    """Return at which samples a motion has left its start and is there again.

    `apart`: distances from the start, after ascending times.
    """
    reach = jnp.max(apart)
    been = jnp.append(0.0, jax.lax.cummax(apart)[:-1]) > _AWAY * reach
    return been & (apart < jnp.maximum(SAME_STATE * reach, _OF_FLOW * rtol))


def _extent(states):
    return jnp.max(states, axis=0) - jnp.min(states, axis=0)


def cycle_matrix(
    monodromy: Array, rate: Array, end_rate: Array, units: Array, period: Array
) -> Array:
    """Return the matrix for (ds / units, dT / period), with the phase condition.

    Its last row excludes steps along the cycle.
    """
    size = units.shape[0]
    moved = (monodromy - jnp.eye(size)) * units[None] / units[:, None]
    along = rate / units
    along = along / jnp.maximum(linalg.norm(along), jnp.finfo(float).tiny)
    matrix = jnp.zeros((size + 1, size + 1))
    matrix = matrix.at[:size, :size].set(moved)
    matrix = matrix.at[:size, size].set(end_rate * period / units)
    return matrix.at[size, :size].set(along)


def shoot(
    system: System,
    guess: Array,
    period: Array,
    largest: Array,
    rtol: Number,
    tight: Number,
    engine: str = "auto",
) -> CycleShooting:
    """Return the Newton iteration from a guess; `largest`: maxima of an earlier motion."""
    size, equation = guess.shape[0], system.equation()
    known = scales_of(equation, equation.vector_field, jnp.zeros(()), period, guess)
    usual = jnp.maximum(known.least, known.sizes(guess - known.zero))

    def body(last: CycleShooting) -> CycleShooting:
        progress = last.progress
        begins, at = progress.iterations == 0, progress.tried
        state, span = at[:size], at[size]
        tolerance = jnp.where(progress.checking, tight, rtol)
        inside = (span < _LONGER * period) & (span > period / _LONGER)
        end = jnp.where(inside, span, 0.0)
        observation = observe_with_monodromy(
            system, state, 0.0, end, rtol=tolerance, grazing=0.0, engine=engine
        )
        reached, moved = motion_sizes(observation.observables, observation.state, span)
        why = jnp.where(inside, observation.result, Reason.DIVERGED).astype(jnp.int32)
        first = jnp.where(begins, largest, last.size)
        units = jnp.maximum(jnp.maximum(reached, _NEGLIGIBLE * first), _OF_OTHERS * usual)
        units = jnp.where(units > 0, units, 1.0)
        rate, end_rate = (rate_of(system, s, engine) for s in (state, observation.state))
        rate, end_rate = across_drift(system, rate), across_drift(system, end_rate)
        observation = observation._replace(
            state=modulo_drift(system, observation.state, state),
            monodromy=across_drift(system, observation.monodromy.T).T,
            result=why,
            steps=None,
        )
        residual = observation.state - state
        extent = jnp.max(moved / units)
        # A motion at rest returns as well: the residual is relative to the extent.
        length = jnp.max(jnp.abs(residual) / units) / extent
        sound = (why == Reason.SUCCESS) & jnp.isfinite(length)
        length = jnp.where(sound, length, jnp.inf)
        matrix = cycle_matrix(observation.monodromy, rate, end_rate, units, span)
        solver = linalg.inverse(matrix)
        scaled = solver @ jnp.append(-residual / units, 0.0)
        far = jnp.max(jnp.abs(scaled[:size]))
        cut = jnp.minimum(_REACH * extent / far, _STRETCH / jnp.abs(scaled[size]))
        full = scaled * jnp.append(units, span)
        step = full * jnp.minimum(1.0, jnp.where(jnp.isnan(cut), 1.0, cut))
        stride = jnp.max(jnp.abs(scaled))
        miss = jnp.max(jnp.abs(residual) / units)
        growth = growth_of(observation.monodromy, units)
        apart = jnp.max(jnp.abs(observation.monodromy @ rate - rate) / units)
        at_event = apart > _AT_EVENT * jnp.max(jnp.abs(rate) / units)
        trial = Trial(why, length, stride, miss, growth, step, full, observation.monodromy)
        return CycleShooting(
            advanced(progress, trial, rtol, tight),
            jnp.where(begins, jnp.maximum(units, largest), last.size),
            at,
            full,
            solver,
            units,
            observation,
            at_event,
        )

    start = jnp.append(guess, period)
    first = _initial_iteration(system, start)
    last = jax.lax.while_loop(lambda last: last.result < 0, body, first)
    # A motion at rest is no cycle; one that was not followed has no extent either.
    _, moved = motion_sizes(last.seen.observables, last.seen.state, last.period)
    still = jnp.max(moved / jnp.maximum(last.units, last.size)) < _AT_REST
    still = still & (last.seen.result == Reason.SUCCESS)
    return last.with_result(jnp.where(still, Reason.EQUILIBRIUM, last.result))


def motion_sizes(
    observables: Observables, state: Array, span: Number
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return the largest size, and the extent, of each component of a motion.

    Those of the velocities of bodies are those of harmonic motions of a period `span`, s.
    """
    highest, lowest = observables.highest, observables.lowest
    reached, moved = jnp.maximum(jnp.abs(highest), jnp.abs(lowest)), highest - lowest
    if highest.shape == state.shape:
        return reached, moved
    speeds = jnp.pi / span * moved
    return jnp.append(reached, speeds), jnp.append(moved, 2 * speeds)


def _initial_iteration(system, start) -> CycleShooting:
    """Return the iteration's state before its first step."""
    unknowns = start.shape[0]
    size, state = unknowns - 1, start[:-1]
    observables = init_observables(jnp.zeros(()), state, system.equation())
    code = jnp.asarray(Reason.DIVERGED, jnp.int32)
    seen = Motion(state, code, observables=observables, monodromy=jnp.eye(size))
    return CycleShooting(
        begun(start, size),
        jnp.zeros(size),
        start,
        jnp.zeros(unknowns),
        jnp.zeros((unknowns, unknowns)),
        jnp.ones(size),
        seen,
        jnp.asarray(False),
    )
