r"""Shooting for limit cycles: unknown state and period.

The motion of an autonomous field can begin anywhere on a cycle, so that $M - I$ is
singular: $M f = f$. The period is an additional unknown, and steps along the cycle are
excluded by a phase condition:

$$(M - I)\,\delta s + f(\varphi^T(s))\,\delta T = s - \varphi^T(s), \qquad
  f(s) \cdot \delta s = 0,$$

with components in units of the motion. **Source:** Seydel, *Practical Bifurcation and
Stability Analysis* (2010), section 7.3.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .. import linalg
from ..dynamics.engines.choice import engine_of
from ..dynamics.engines.engine import Observation
from ..dynamics.flow import observe
from ..dynamics.observables import init_observables
from ..ensemble import Reason
from ..foundation.types import Number
from ..systems.drift import across_drift, modulo_drift
from ..systems.system import System
from .newton import newton
from .shooting import SAME_STATE, Progress, Trial, advanced, begun, growth_of

# Limits of a step, relative to the motion's extent and to its period.
_REACH, _STRETCH = 0.5, 0.2
# Largest ratio to the guessed period: beyond it the cycle is a different one.
_LONGER = 4.0
# A motion with an extent below this part of its first size, or of its state, is at
# rest.
_AT_REST = 1e-6
# Components that decay are scaled by at least this part of their initial size.
_NEGLIGIBLE = 1e-10
# Starts: the guess itself, and the ends of transients of these numbers of periods.
_TRANSIENTS = (5.0, 20.0, 80.0, 320.0)
# Samples of a period, or of a longer window: a multiple of 2, 3, 5 and 7.
_SAMPLES = 420
_WINDOW = 3.0  # periods searched for a return, doubled at each start
_PARTS = (2, 3, 5, 7)  # integer fractions of a guess that may be the cycle's own period
# A return is this close, relative to the extent, after a distance of at least `_AWAY`.
_RETURNS, _NEARLY, _AWAY = 0.02, 0.2, 0.5


class CycleShooting(NamedTuple):
    """Newton iteration for a cycle's (state, period): its state or its end.

    `progress`: at the end with the monodromy matrix of the coarser tolerance, see
    `shooting.ShootingResult`. Of the last trial: its unknowns `at`; `full`, the next
    step without its limit; `solver`, the inverse of the step's matrix; the `units` of
    the state; `seen`, the flow over one period. `size`: initial scale of the motion.
    """

    progress: Progress
    size: Float[Array, " n"]
    at: Float[Array, " unknowns"]
    full: Float[Array, " unknowns"]
    solver: Float[Array, "unknowns unknowns"]
    units: Float[Array, " n"]
    seen: Observation

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
    guess of the period.
    """

    def attempt(last):
        index, start, span, size, _, _ = last
        shooting = _shoot(system, start, span, size, rtol, tight, engine)
        found = shooting.result == Reason.SUCCESS
        lead = jnp.asarray(_TRANSIENTS)[index] * span
        width = _WINDOW * span * 2.0 ** index.astype(float)
        origin = jnp.where(found, shooting.state, start)
        safe = jnp.all(jnp.isfinite(origin)) & (span > 0)
        parts = jnp.arange(1.0, _SAMPLES + 1) / _SAMPLES
        times = jnp.where(found, shooting.period * parts, lead + width * parts)
        times = jnp.where(safe, jnp.append(0.0, times), jnp.append(0.0, parts))
        origin = jnp.where(safe, origin, jnp.zeros_like(origin))
        states, _, _ = engine_of(system, engine).sampled(system, origin, times, rtol)
        apart = modulo_drift(system, states, origin) - origin[None]
        apart = jnp.max(jnp.abs(apart) / shooting.units[None], axis=1)
        repeats = jnp.stack([apart[_SAMPLES // part] for part in _PARTS]) < SAME_STATE
        shorter = found & jnp.any(repeats)
        code = jnp.where(shorter, Reason.SHORTER_PERIOD, shooting.result)
        around = modulo_drift(system, states[1:], states[1])
        later = return_time(around, width / _SAMPLES)
        later = jnp.where(jnp.isfinite(later), later, span)
        size = jnp.where(index == 0, jnp.max(jnp.abs(states), axis=0), size)
        rests = ~found & jnp.all(_extent(states[1:]) <= _AT_REST * size)
        shooting = shooting.with_result(jnp.where(rests, Reason.EQUILIBRIUM, code))
        # The guess of the period may be a multiple of the cycle's own.
        part = jnp.max(jnp.where(repeats, jnp.asarray(_PARTS, float), 1.0))
        start = jnp.where(shorter, shooting.state, modulo_drift(system, states[1]))
        later = jnp.where(shorter, shooting.period / part, later)
        ended = (found & ~shorter) | (shorter & (index == 0)) | rests
        return index + 1, start, later, size, ended, shooting

    def goes_on(last):
        index, start, _, _, ended, _ = last
        return ~ended & (index < len(_TRANSIENTS)) & jnp.all(jnp.isfinite(start))

    start, span = jnp.asarray(guess, float), jnp.asarray(period, float)
    nothing, ended = _begun(system, jnp.append(start, span)), jnp.asarray(False)
    first = jnp.asarray(0), start, span, jnp.abs(start), ended, nothing
    return jax.lax.while_loop(goes_on, attempt, first)[-1]


def return_time(states: Array, apart: Array) -> Array:
    """Return the time of the first return of a motion to its first sample, or NaN."""
    extent = _extent(states)
    extent = jnp.where(extent > 0, extent, 1.0)
    distance = jnp.max(jnp.abs(states - states[:1]) / extent[None], axis=1)
    been = jax.lax.cummax(distance)[1:-1] > _AWAY
    inner, before, after = distance[1:-1], distance[:-2], distance[2:]
    turns = been & (inner <= before) & (inner <= after)
    close, nearly = turns & (inner < _RETURNS), turns & (inner < _NEARLY)
    which = jnp.argmax(jnp.where(jnp.any(close), close, nearly))
    # Squared distances are parabolas; distances have a corner.
    low, mid, high = before[which] ** 2, inner[which] ** 2, after[which] ** 2
    bend = low - 2 * mid + high
    shift = jnp.where(bend > 0, (low - high) / (2 * jnp.where(bend > 0, bend, 1.0)), 0.0)
    return jnp.where(jnp.any(nearly), (which.astype(float) + 1 + shift) * apart, jnp.nan)


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
    whole = jnp.zeros((size + 1, size + 1))
    whole = whole.at[:size, :size].set(moved)
    whole = whole.at[:size, size].set(end_rate * period / units)
    return whole.at[size, :size].set(along)


def _shoot(system, guess, period, largest, rtol, tight, engine) -> CycleShooting:
    """Run the Newton iteration; `largest`: maxima of an earlier motion."""
    size = guess.shape[0]
    field = system.equation().vector_field

    def body(last: CycleShooting) -> CycleShooting:
        progress = last.progress
        begins, at = progress.iterations == 0, progress.tried
        state, span = at[:size], at[size]
        tolerance = jnp.where(progress.checking, tight, rtol)
        inside = (span < _LONGER * period) & (span > period / _LONGER)
        end = jnp.where(inside, span, 0.0)
        seen = observe(system, state, 0.0, end, rtol=tolerance, grazing=0.0, engine=engine)
        highest, lowest = seen.watched.highest, seen.watched.lowest
        reached = jnp.maximum(jnp.abs(highest), jnp.abs(lowest))
        why = jnp.where(inside, seen.result, Reason.DIVERGED).astype(jnp.int32)
        first = jnp.where(begins, largest, last.size)
        units = jnp.maximum(reached, _NEGLIGIBLE * first)
        units = jnp.where(units > 0, units, 1.0)
        rate, end_rate = field(0.0, state), field(0.0, seen.state)
        rate, end_rate = across_drift(system, rate), across_drift(system, end_rate)
        seen = seen._replace(
            state=modulo_drift(system, seen.state, state),
            monodromy=across_drift(system, seen.monodromy.T).T,
        )
        residual = seen.state - state
        extent = jnp.max((highest - lowest) / units)
        # A motion at rest returns as well: the residual is relative to the extent.
        length = jnp.max(jnp.abs(residual) / units) / extent
        sound = (why == Reason.SUCCESS) & jnp.isfinite(length)
        length = jnp.where(sound, length, jnp.inf)
        matrix = cycle_matrix(seen.monodromy, rate, end_rate, units, span)
        solver = linalg.inverse(matrix)
        scaled = solver @ jnp.append(-residual / units, 0.0)
        far = jnp.max(jnp.abs(scaled[:size]))
        cut = jnp.minimum(_REACH * extent / far, _STRETCH / jnp.abs(scaled[size]))
        full = scaled * jnp.append(units, span)
        step = full * jnp.minimum(1.0, jnp.where(jnp.isnan(cut), 1.0, cut))
        stride = jnp.max(jnp.abs(scaled))
        miss = jnp.max(jnp.abs(residual) / units)
        growth = growth_of(seen.monodromy, units)
        trial = Trial(why, length, stride, miss, growth, step, full, seen.monodromy)
        return CycleShooting(
            advanced(progress, trial, rtol, tight),
            jnp.where(begins, jnp.maximum(units, largest), last.size),
            at,
            full,
            solver,
            units,
            seen,
        )

    start = jnp.append(guess, period)
    last = newton(body, _begun(system, start), lambda last: last.result < 0)
    # A motion at rest is no cycle.
    extent = last.seen.watched.highest - last.seen.watched.lowest
    still = jnp.max(extent / jnp.maximum(last.units, last.size)) < _AT_REST
    return last.with_result(jnp.where(still, Reason.EQUILIBRIUM, last.result))


def _begun(system, start) -> CycleShooting:
    """Return the iteration's state before its first step."""
    unknowns = start.shape[0]
    size, state = unknowns - 1, start[:-1]
    watched = init_observables(jnp.zeros(()), state, system.equation())
    code = jnp.asarray(Reason.DIVERGED, jnp.int32)
    seen = Observation(state, jnp.eye(size), watched, code)
    return CycleShooting(
        begun(start, size),
        jnp.zeros(size),
        start,
        jnp.zeros(unknowns),
        jnp.zeros((unknowns, unknowns)),
        jnp.ones(size),
        seen,
    )
