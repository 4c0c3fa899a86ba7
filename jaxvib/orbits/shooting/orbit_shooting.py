"""Shooting: Newton iteration for a fixed point of the flow over whole periods."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from ... import linalg
from ...dynamics.engines import Engine
from ...dynamics.flow import end_of, observe_with_monodromy
from ...dynamics.observables import Observables, init_observables
from ...dynamics.stepping.scales import driven_sizes, field_scales
from ...dynamics.stepping.step_limits import FINE, PROBES_OF_AN_ORBIT, longest_step
from ...ensemble import Reason
from ...foundation.types import AnyArray, Integer, Number
from ...systems.base.system import System
from ...systems.drift import across_drift, is_invariant, modulo_drift, progress_between
from ...systems.impact import EquationOfMotion
from ...systems.periods import period_of

# Iterations: six halvings of a step, and ten with quadratic convergence.
MOST_ITERATIONS = 16
# The iteration diverges if a 64th of a step does not reduce the residual.
_SMALLEST_DAMPING = 1 / 64
# The iteration has converged if a step is below 30 tolerances, the flow's error, or the
# residual is below 3 tolerances times the growth of perturbations.
_NOISE, _EXACT = 30, 3
# Revolutions at the tighter tolerance, each a further Newton step.
_CHECKS, _MOST_CHECKS = 2, 4
# Limits of the residual of a periodic motion, relative to its size, and of the next
# Newton step.
_RETURNS, _SETTLED = 1e-3, 1e-4
# States closer than this part of the motion's size are considered equal.
SAME_STATE = 1e-5
# Least size of a motion, relative to the response of bodies without contacts to the
# loads: the rounding error of a body resting on a stop is 1e-15 of that, and recurrence
# is resolved to 1e-6 of a size.
_RESOLVED = 1e-6


class PeriodIntegral(NamedTuple):
    """The flow over a whole number of periods from a state.

    `repeats`: whether the state already recurs after a number of periods that divides
    the whole. Of a system with a drift the state is shifted back to where the motion
    began, which the monodromy matrix includes; `progress`: that shift, else None.
    """

    state: Float[Array, " n"]
    monodromy: Float[Array, "n n"]
    observables: Observables
    repeats: Bool[Array, ""]
    result: Int[Array, ""]
    progress: "Shift | None" = None


class Shift(NamedTuple):
    """The shift of a motion along its drift, and its derivative to the state."""

    value: Any
    slope: Any


class ShootingResult(NamedTuple):
    """End of the Newton iteration: `state`, and the flow over n periods from it.

    `revolution` is integrated at the tighter tolerance; `coarse_monodromy` is that of
    the iteration, and `correction` the difference between the orbits of both
    tolerances; `bend` the largest change of the monodromy per length of a step (an
    estimate of its Lipschitz constant, in units of the orbit's size). `coarse_progress`:
    the shift per period of the iteration's orbit, None without a drift.
    """

    state: Float[Array, " n"]
    revolution: PeriodIntegral
    coarse_monodromy: Float[Array, "n n"]
    correction: Float[Array, " n"]
    bend: Float[Array, ""]
    iterations: Int[Array, ""]
    result: Int[Array, ""]
    coarse_progress: Any = None


def scaling(system: System) -> Callable[[Array], Float[Array, " n"]]:
    """Return the function from a state to the scale of each of its components.

    It is defined by the system, but is at least a fraction of the response of bodies
    without contacts to the loads: a body resting on a stop moves by rounding only.
    Components of a field without defined scales have the sizes that they give each
    other in a period of the load, see `dynamics.stepping.scales`.
    """
    equation, period = system.equation(), system.period()
    driven = None
    if isinstance(equation, EquationOfMotion):
        driven = driven_sizes(equation, period)

    def of(state):
        own = system.scales(state)
        if own is None:
            known = field_scales(equation.vector_field, jnp.zeros(()), state, period)
            size = 2 * jnp.pi * jnp.maximum(known.least, known.sizes(state))
            return jnp.where(size > 0, size, 1.0)
        if driven is None:
            return own
        units = ratios(system, state)
        return jnp.maximum(own, _RESOLVED * jnp.max(driven / units) * units)

    return of


def scales(system: System, state: Array) -> Float[Array, " n"]:
    """Return the scale of each component of a state, see `scaling`."""
    return scaling(system)(state)


def ratios(system: System, state: Array) -> Float[Array, " n"]:
    """Return ratios of `scales`, also for a state at rest."""
    if is_field(system):
        return scales(system, state)
    known = system.scales(jnp.ones_like(state))
    assert known is not None
    return known


def is_field(system: System) -> bool:
    """Return whether a state is not made up of displacements and velocities."""
    return not system.mechanical


def no_period(system: System, period: Array, code: Array) -> Int[Array, ""]:
    """Return a reason code, with a separate one for a system without a `period`."""
    sound = jnp.asarray(True)
    for leaf in jax.tree.leaves(system):
        if eqx.is_inexact_array(leaf):
            sound = sound & jnp.all(jnp.isfinite(leaf))
    lacking = jnp.isnan(period) & sound & (code == Reason.BAD_PARAMETER)
    why = Reason.NO_COMMON_PERIOD
    if system.drift is not None:
        why = jnp.where(is_invariant(system), why, Reason.NOT_INVARIANT)
    return jnp.where(lacking, why, code).astype(jnp.int32)


def integrate_period(
    system: System,
    state: Array,
    periods: Integer,
    *,
    rtol: Number,
    grazing: Number,
    active: ArrayLike = True,
    engine: str | Engine = "auto",
    longest: Number | None = None,
) -> PeriodIntegral:
    """Integrate a motion, its sensitivities and observables over whole periods.

    `longest`: the longest step, s, determined in each period if None.
    """
    period = period_of(system)
    units = scales(system, state)

    def one_period(index, last: PeriodIntegral) -> PeriodIntegral:
        go = active & (last.result == Reason.SUCCESS) & (index < periods)
        begin = jnp.where(jnp.isnan(period), 0.0, index.astype(float) * period)
        end = jnp.where(go, begin + period, begin)
        # Sensitivities start from the identity in each period, under their own error
        # control.
        seen = observe_with_monodromy(
            system,
            last.state,
            begin,
            end,
            rtol=rtol,
            grazing=grazing,
            observables=last.observables,
            engine=engine,
            longest=longest,
        )
        divides = (index + 1 < periods) & (periods % (index + 1) == 0)
        back = modulo_drift(system, seen.state, state)
        near = jnp.max(jnp.abs(back - state) / units) < SAME_STATE
        new = PeriodIntegral(
            seen.state,
            seen.monodromy @ last.monodromy,
            seen.observables,
            last.repeats | (divides & near),
            seen.result,
        )
        return jax.tree.map(lambda n, o: jnp.where(go, n, o), new, last)

    last = jax.lax.fori_loop(0, periods, one_period, _zero_periods(system, state))
    last = last._replace(result=no_period(system, period, last.result))
    return last if system.drift is None else _shifted_back(system, state, last)


def _shifted_back(system, start, last: PeriodIntegral) -> PeriodIntegral:
    """Return the flow with its end shifted back to the drift coordinate of its start."""
    drift = system.drift
    identity = jnp.eye(start.shape[0])
    end = modulo_drift(system, last.state, start)
    slope = drift.coordinate((last.monodromy - identity).T)
    slope = slope if drift.step is None else jnp.zeros_like(slope)
    shift = Shift(progress_between(drift, start, last.state), slope)
    rows = across_drift(system, last.monodromy.T).T
    return last._replace(state=end, monodromy=rows, progress=shift)


def _zero_periods(system, state) -> PeriodIntegral:
    """Return the flow over zero periods."""
    return PeriodIntegral(
        state,
        jnp.eye(state.shape[0]),
        init_observables(jnp.zeros(()), state, system.equation()),
        jnp.asarray(False),
        jnp.asarray(Reason.SUCCESS, jnp.int32),
    )


def _longest_steps(system, state):
    """Return the longest step of the iteration and of the last check, None for any.

    The last check uses other steps, so that both cannot miss the same feature.
    """
    equation, period = system.equation(), system.period()
    field = equation.vector_field
    longest = longest_step(equation, field, 0.0, period, state, PROBES_OF_AN_ORBIT)
    return None if longest is None else (longest, jnp.minimum(longest, FINE * period))


class Progress(NamedTuple):
    """State of the damped Newton iteration: the best unknowns, and the step from there.

    `least`: the residual there, relative to the size; `monodromy`: of the last improved
    motion, and `step` from there, to be multiplied by `damping`. `correction`: see
    `ShootingResult`. `checks`: revolutions at the tighter tolerance, 0 before convergence;
    `result`: a reason code, -1 while iterating.
    """

    best: Float[Array, " unknowns"]
    least: Float[Array, ""]
    monodromy: Float[Array, "n n"]
    step: Float[Array, " unknowns"]
    damping: Float[Array, ""]
    correction: Float[Array, " unknowns"]
    iterations: Int[Array, ""]
    checks: Int[Array, ""]
    result: Int[Array, ""]

    @property
    def checking(self) -> Bool[Array, ""]:
        """Whether it has converged, and continues at the tighter tolerance."""
        return self.checks > 0

    @property
    def tried(self) -> Float[Array, " unknowns"]:
        """The unknowns of the next trial."""
        return self.best + jnp.where(self.checking, 1.0, self.damping) * self.step


class _Iteration(NamedTuple):
    """State of the Newton iteration, the result's `bend`, and the motion's `units`.

    `drifted`: the shift along a drift at the end of the last step, see `ShootingResult`.
    """

    progress: Progress
    bend: Float[Array, ""]
    units: Float[Array, " n"]
    seen: PeriodIntegral
    drifted: Any = None


class Trial(NamedTuple):
    """Result of a step; it succeeded if it reduced the `length` of the residual.

    `stride`: the length of the next step, and `miss` of the residual, both in this
    state's units; `growth`: of perturbations over the n periods, at least 1; `step`:
    the next one, and `full`: without its limit.
    """

    result: Int[Array, ""]
    length: Float[Array, ""]
    stride: Float[Array, ""]
    miss: Float[Array, ""]
    growth: Float[Array, ""]
    step: Float[Array, " unknowns"]
    full: Float[Array, " unknowns"]
    monodromy: Float[Array, "n n"]


def growth_of(monodromy: Array, units: Array) -> Float[Array, ""]:
    """Return the growth of perturbations in units of the motion, at least 1."""
    return jnp.maximum(1.0, jnp.max(jnp.abs(monodromy) * units[None] / units[:, None]))


def advanced(last: Progress, trial: Trial, rtol: Number, tight: Number) -> Progress:
    """Return the iteration after a trial at the tolerance `rtol`, or later `tight`."""
    checking, stride, miss = last.checking, trial.stride, trial.miss
    better, failed = trial.length < last.least, trial.result != Reason.SUCCESS
    # If perturbations grow a million times, short steps alone are no evidence.
    returns = miss < _RETURNS
    done = (better & returns) & (
        (stride < _NOISE * rtol) | (miss < _EXACT * rtol * trial.growth)
    )
    stuck = ~better & (last.damping / 2 < _SMALLEST_DAMPING)
    code = jnp.where(stuck, Reason.DIVERGED, -1)
    code = jnp.where(better & ~jnp.isfinite(stride), Reason.SINGULAR, code)
    code = jnp.where(failed & (last.iterations == 0), trial.result, code)
    spent = (code < 0) & ~done & (last.iterations + 1 >= MOST_ITERATIONS)
    code = jnp.where(spent, Reason.ITERATION_LIMIT, code)
    shrinks = trial.length < last.least / 2
    shrinks = shrinks | (miss < _NOISE * tight * trial.growth)
    settles = returns & shrinks & (stride < _SETTLED)
    enough = settles & (last.checks >= jnp.where(tight < rtol, _CHECKS, 1))
    late = jnp.where(last.checks < _MOST_CHECKS, -1, Reason.ITERATION_LIMIT)
    late = jnp.where(enough, Reason.SUCCESS, late)
    late = jnp.where(failed, trial.result, late)
    moves, whole = better | checking, checking | done
    return Progress(
        jnp.where(moves, last.tried, last.best),
        # Residuals at the tighter tolerance are compared among themselves.
        jnp.where(checking | ~done, jnp.where(moves, trial.length, last.least), jnp.inf),
        jnp.where(better & ~checking, trial.monodromy, last.monodromy),
        jnp.where(moves, jnp.where(whole, trial.full, trial.step), last.step),
        jnp.where(better, 1.0, last.damping / 2),
        jnp.where(last.checks == 1, trial.full, last.correction),
        last.iterations + 1,
        jnp.where(whole, last.checks + 1, 0),
        jnp.where(checking, late, code).astype(jnp.int32),
    )


def begun(start: Array, size: int) -> Progress:
    """Return the iteration's state before its first step, for `size` states."""
    return Progress(
        start,
        jnp.asarray(jnp.inf),
        jnp.full((size, size), jnp.nan),
        jnp.zeros_like(start),
        jnp.asarray(1.0),
        jnp.zeros_like(start),
        jnp.asarray(0, jnp.int32),
        jnp.asarray(0, jnp.int32),
        jnp.asarray(-1, jnp.int32),
    )


def _first_iteration(system, start, units) -> _Iteration:
    nothing, drifted = jax.tree.map(jnp.zeros_like, _zero_periods(system, start)), None
    if system.drift is not None:
        nothing, drifted = _shifted_back(system, start, nothing), jnp.asarray(jnp.nan)
    parts = jnp.asarray(0.0), units, nothing, drifted
    return _Iteration(begun(start, start.shape[0]), *parts)


def _flow_of_iteration(
    system, periods, rtol, tight, grazing, engine, reaches, chord
) -> Callable[[_Iteration, Array, Array], PeriodIntegral]:
    """Return the flow of a step from a state, while `active`; see `shoot`."""

    def whole(last: _Iteration, state, active) -> PeriodIntegral:
        checking = last.progress.checking
        return integrate_period(
            system,
            state,
            periods,
            rtol=jnp.where(checking, tight, rtol),
            grazing=grazing * last.units[0],
            active=active,
            engine=engine,
            longest=None
            if reaches is None
            else jnp.where(checking, reaches[1], reaches[0]),
        )

    def flow(last: _Iteration, state, active) -> PeriodIntegral:
        if not chord:
            return whole(last, state, active)
        # At one tolerance the first step is the last one, whose M is a result.
        reuses = (last.progress.checks == 1) & (tight < rtol)
        return jax.lax.cond(
            reuses,
            lambda: _with_known_monodromy(system, last, state, periods, tight, engine),
            lambda: whole(last, state, active),
        )

    return flow


def _with_known_monodromy(
    system, last: _Iteration, state, periods, rtol, engine
) -> PeriodIntegral:
    """Return the flow over whole periods with the iteration's last monodromy matrix."""
    period = period_of(system)

    def one_period(index, now):
        state, result = now
        begin = index.astype(float) * period
        end = jnp.where(result == Reason.SUCCESS, begin + period, begin)
        found = end_of(system, state, begin, end, rtol, engine)
        return found.state, jnp.where(result == Reason.SUCCESS, found.result, result)

    begun = state, jnp.asarray(Reason.SUCCESS, jnp.int32)
    end, result = jax.lax.fori_loop(0, periods, one_period, begun)
    known = last.progress.monodromy
    return last.seen._replace(state=end, monodromy=known, result=result)


def _drift_after(last: _Iteration, seen: PeriodIntegral, step, accepted) -> Any:
    """Return the shift along a drift after a step; unchanged if it is not accepted."""
    if seen.progress is None:
        return None
    shift = seen.progress.value + seen.progress.slope @ step
    return jnp.where(accepted, shift, last.drifted)


def shoot(
    system: System,
    guess: AnyArray,
    periods: Integer,
    rtol: Number,
    tight: Number,
    grazing: Number,
    engine: str | Engine = "auto",
    chord: bool = False,
) -> ShootingResult:
    r"""Solve $\varphi^{nT}(s) - s = 0$ for $s$ by damped Newton iteration.

    $$(I - M)\,\delta s = \varphi^{nT}(s) - s, \qquad
      M = \partial\varphi^{nT}/\partial s.$$

    A step that does not reduce the residual is halved. The iteration at
    tolerance `rtol` has converged when a step, or the residual itself, is as small as
    the tolerance permits. It then continues at `tight`, for two steps or more, so that
    M belongs to the orbit of that tolerance; it fails if the motion does not return, or
    the steps do not shrink. The `grazing` depth is relative to the largest
    displacement. `chord`: whether the first of these steps uses the last M at `rtol`,
    for systems without a drift whose sensitivities cost more than their motion.
    """
    start = modulo_drift(system, jnp.asarray(guess, float))
    scales_at = scaling(system)
    units = scales_at(start)
    reaches = _longest_steps(system, start)
    identity = jnp.eye(start.shape[0])

    flow = _flow_of_iteration(system, periods, rtol, tight, grazing, engine, reaches, chord)

    def body(last: _Iteration) -> _Iteration:
        progress = last.progress
        active, checking, state = progress.result < 0, progress.checking, progress.tried
        seen = flow(last, state, active)
        # A guess may be at rest, or nearly, when the motion is not.
        image = jnp.where(jnp.isfinite(seen.state), seen.state, state)
        own = jnp.maximum(scales_at(state), scales_at(image))
        begins = progress.iterations == 0
        units = jnp.where(begins, jnp.maximum(last.units, own), last.units)
        residual = seen.state - state
        length = jnp.max(jnp.abs(residual) / units)
        length = jnp.where(seen.result == Reason.SUCCESS, length, jnp.inf)
        better = length < progress.least
        new_step = linalg.solve_vector(identity - seen.monodromy, residual)
        travelled = jnp.max(jnp.abs(progress.damping * progress.step) / units)
        turned = jnp.max(jnp.abs(seen.monodromy - progress.monodromy)) / travelled
        notable = better & (travelled > jnp.sqrt(rtol)) & ~begins
        notable = notable & ~checking
        bend = jnp.where(notable, jnp.maximum(last.bend, turned), last.bend)

        # In this state's units: the guess may have been far larger.
        stride, miss = (jnp.max(jnp.abs(x) / own) for x in (new_step, residual))
        growth = growth_of(seen.monodromy, own)
        trial = Trial(
            seen.result, length, stride, miss, growth, new_step, new_step, seen.monodromy
        )
        now = advanced(progress, trial, rtol, tight)
        drifted = _drift_after(last, seen, new_step, better & ~checking)
        units = jnp.where(now.checks == 1, own, units)
        new = _Iteration(now, bend, units, seen, drifted)
        return jax.tree.map(lambda n, o: jnp.where(active, n, o), new, last)

    first = _first_iteration(system, start, units)
    last = jax.lax.while_loop(lambda last: last.progress.result < 0, body, first)
    found = last.progress
    orbit = found.best, last.seen, found.monodromy, found.correction, last.bend
    return ShootingResult(*orbit, found.iterations, found.result, last.drifted)
