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
from ..dynamics.observables import Observables, init_observables
from ..ensemble import Reason
from .newton import newton
from .shooting import SAME_STATE, Progress, Trial, advanced, begun, judged

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


class CycleShootingResult(NamedTuple):
    """End of the Newton iteration for a cycle, and the flow over one period.

    `rate`: f at the state; `image` and `monodromy` at the tighter tolerance;
    `coarse_monodromy`, `correction`: see `shooting.ShootingResult`, the latter of
    (state, period); `left`: the remaining step, and `solver` the inverse of its matrix, of
    (state, period); `units` of the state.
    """

    state: Float[Array, " n"]
    period: Float[Array, ""]
    rate: Float[Array, " n"]
    image: Float[Array, " n"]
    monodromy: Float[Array, "n n"]
    watched: Observables
    coarse_monodromy: Float[Array, "n n"]
    correction: Float[Array, " unknowns"]
    left: Float[Array, " unknowns"]
    solver: Float[Array, "unknowns unknowns"]
    units: Float[Array, " n"]
    result: Int[Array, ""]


class _Iteration(NamedTuple):
    """State of the Newton iteration for (state, period), and its last trial.

    `size`: initial scale of the motion; `full`: the last step without its limit.
    """

    progress: Progress
    size: Float[Array, " n"]
    at: Float[Array, " unknowns"]
    full: Float[Array, " unknowns"]
    solver: Float[Array, "unknowns unknowns"]
    units: Float[Array, " n"]
    seen: Observation


def shoot_cycle(system, guess, period, rtol, tight, engine="auto") -> CycleShootingResult:
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
        apart = jnp.max(jnp.abs(states - origin[None]) / shooting.units[None], axis=1)
        repeats = jnp.stack([apart[_SAMPLES // part] for part in _PARTS]) < SAME_STATE
        shorter = found & jnp.any(repeats)
        code = jnp.where(shorter, Reason.SHORTER_PERIOD, shooting.result).astype(jnp.int32)
        later = return_time(states[1:], width / _SAMPLES)
        later = jnp.where(jnp.isfinite(later), later, span)
        size = jnp.where(index == 0, jnp.max(jnp.abs(states), axis=0), size)
        rests = ~found & jnp.all(_extent(states[1:]) <= _AT_REST * size)
        code = jnp.where(rests, Reason.EQUILIBRIUM, code).astype(jnp.int32)
        # The guess of the period may be a multiple of the cycle's own.
        part = jnp.max(jnp.where(repeats, jnp.asarray(_PARTS, float), 1.0))
        start = jnp.where(shorter, shooting.state, states[1])
        later = jnp.where(shorter, shooting.period / part, later)
        ended = (found & ~shorter) | (shorter & (index == 0)) | rests
        return index + 1, start, later, size, ended, shooting._replace(result=code)

    def goes_on(last):
        index, start, _, _, ended, _ = last
        return ~ended & (index < len(_TRANSIENTS)) & jnp.all(jnp.isfinite(start))

    start, span = jnp.asarray(guess, float), jnp.asarray(period, float)
    nothing = _shot(system, _begun(system, jnp.append(start, span)))
    begun = jnp.asarray(False)
    first = jnp.asarray(0), start, span, jnp.abs(start), begun, nothing
    return jax.lax.while_loop(goes_on, attempt, first)[-1]


def return_time(states, apart):
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


def cycle_matrix(monodromy, rate, end_rate, units, period):
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


def _shoot(system, guess, period, largest, rtol, tight, engine) -> CycleShootingResult:
    """Run the Newton iteration; `largest`: maxima of an earlier motion."""
    size = guess.shape[0]
    field = system.equation().vector_field

    def body(last: _Iteration) -> _Iteration:
        progress = last.progress
        begins, at = progress.iterations == 0, progress.tried
        state, span = at[:size], at[size]
        tolerance = jnp.where(progress.checking, tight, rtol)
        inside = (span < _LONGER * period) & (span > period / _LONGER)
        end = jnp.where(inside, span, 0.0)
        seen = observe(system, state, 0.0, end, rtol=tolerance, grazing=0.0, engine=engine)
        highest, lowest = seen.watched.highest, seen.watched.lowest
        reached = jnp.maximum(jnp.abs(highest), jnp.abs(lowest))
        failed = (seen.result != Reason.SUCCESS) | ~inside
        first = jnp.where(begins, largest, last.size)
        units = jnp.maximum(reached, _NEGLIGIBLE * first)
        units = jnp.where(units > 0, units, 1.0)
        residual = seen.state - state
        extent = jnp.max((highest - lowest) / units)
        # A motion at rest returns as well: the residual is relative to the extent.
        length = jnp.max(jnp.abs(residual) / units) / extent
        length = jnp.where(failed | ~jnp.isfinite(length), jnp.inf, length)
        better = length < progress.least
        rate, end_rate = field(0.0, state), field(0.0, seen.state)
        matrix = cycle_matrix(seen.monodromy, rate, end_rate, units, span)
        solver = linalg.inverse(matrix)
        scaled = solver @ jnp.append(-residual / units, 0.0)
        far = jnp.max(jnp.abs(scaled[:size]))
        cut = jnp.minimum(_REACH * extent / far, _STRETCH / jnp.abs(scaled[size]))
        full = scaled * jnp.append(units, span)
        step = full * jnp.minimum(1.0, jnp.where(jnp.isnan(cut), 1.0, cut))
        stride = jnp.max(jnp.abs(scaled))
        miss = jnp.max(jnp.abs(residual) / units)
        growth = jnp.max(jnp.abs(seen.monodromy) * units[None] / units[:, None])
        growth = jnp.maximum(1.0, growth)
        why = jnp.where(inside, seen.result, Reason.DIVERGED).astype(jnp.int32)
        trial = Trial(why, failed, length, better, stride, miss, growth)
        verdict = judged(progress, trial, rtol, tight)
        return _Iteration(
            advanced(progress, trial, verdict, step, full, seen.monodromy),
            jnp.where(begins, jnp.maximum(units, largest), last.size),
            at,
            full,
            solver,
            units,
            seen,
        )

    start = jnp.append(guess, period)
    last = newton(body, _begun(system, start), lambda last: last.progress.result < 0)
    return _shot(system, last)


def _shot(system, last: _Iteration) -> CycleShootingResult:
    """Return the result of the iteration; a motion at rest is no cycle."""
    seen, size = last.seen, last.at.shape[0] - 1
    extent = seen.watched.highest - seen.watched.lowest
    still = jnp.max(extent / jnp.maximum(last.units, last.size)) < _AT_REST
    code = jnp.where(still, Reason.EQUILIBRIUM, last.progress.result)
    state = last.at[:size]
    return CycleShootingResult(
        state,
        last.at[size],
        system.equation().vector_field(0.0, state),
        seen.state,
        seen.monodromy,
        seen.watched,
        last.progress.monodromy,
        last.progress.correction,
        last.full,
        last.solver,
        last.units,
        code.astype(jnp.int32),
    )


def _begun(system, start) -> _Iteration:
    """Return the iteration's state before its first step."""
    unknowns = start.shape[0]
    size, state = unknowns - 1, start[:-1]
    watched = init_observables(jnp.zeros(()), state, system.equation())
    code = jnp.asarray(Reason.DIVERGED, jnp.int32)
    seen = Observation(state, jnp.eye(size), watched, code)
    return _Iteration(
        begun(start, size),
        jnp.zeros(size),
        start,
        jnp.zeros(unknowns),
        jnp.zeros((unknowns, unknowns)),
        jnp.ones(size),
        seen,
    )
