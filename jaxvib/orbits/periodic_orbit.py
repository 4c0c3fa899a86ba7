"""Periodic orbits of a system by shooting, with stability and error estimates."""

from collections.abc import Sequence
from typing import Any, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Real

from ..dynamics.engines import Plan, plan_for
from ..dynamics.flow import checked_state
from ..ensemble import Reason, raise_if_empty
from ..ensemble.blas import one_blas_thread
from ..foundation.arrays import (
    as_array,
    is_concrete,
    partition_arrays,
    stop_gradient,
    stop_gradient_tree,
    to_numpy,
)
from ..foundation.environment import require_float64
from ..foundation.quantity import Range, check_range
from ..foundation.types import AnyArray, Number
from ..systems.base.system import System
from ..systems.conservative import why_not_conservative
from ..systems.drift import modulo_drift
from ..systems.fields import AutonomousSystem, is_autonomous
from ..systems.impact import ImpactSystem
from ..systems.periods import check_period
from ..systems.unforced import is_unforced, refuse_period
from .limit_cycle import LimitCycle, limit_cycle
from .orbit import PeriodicOrbit as PeriodicOrbit
from .orbit import (
    orbit_from_shooting,
    with_failure,
    with_fields,
    without_derivative,
)
from .orbit import unknown_orbits as unknown_orbits
from .shooting.error_estimates import error_factor as error_factor
from .shooting.implicit import differentiable_once
from .shooting.motion_kernels import shoot_in_modes, shooting_kernel
from .shooting.multipliers import UNSTABLE
from .shooting.orbit_shooting import scales
from .shooting.settling import GRAZING as GRAZING
from .shooting.transient import LONGEST_PERIOD as LONGEST_PERIOD
from .shooting.transient import PLAUSIBLE, run_transient

_NEAR = 0.1  # of its size: an orbit farther from the end of a transient is another one
_OF_GUESS = "omit the guess to settle first, or see jv.orbits.regimes"
_OF_TRANSIENT = (
    "the motion from rest does not settle to the given number of periods: periods=None "
    "tries others, and jv.orbits.regimes tells what it is"
)
_MOST_PERIODS = 10_000  # a Newton step over more of them takes minutes


@overload
def periodic_orbit(system: AutonomousSystem, *_: Any, **__: Any) -> LimitCycle: ...


@overload
def periodic_orbit(system: eqx.Module, *_: Any, **__: Any) -> PeriodicOrbit: ...


def periodic_orbit(
    system: eqx.Module,
    guess: Real[ArrayLike, " n"] | Sequence[Any] | None = None,
    periods: int | None = 1,
    *,
    engine: str = "auto",
    rtol: Real[Array, ""] | float = 1e-8,
    evidence: str = "checked",
    period: Real[ArrayLike, ""] | float | None = None,
    throw: bool = True,
) -> PeriodicOrbit | LimitCycle:
    r"""Return the periodic motion near a guess, or the one that a transient leads to.

    Newton iteration solves $\varphi^{nT}(s) = s$ with the flow at `rtol`, and takes two
    more steps with that at `rtol`/100 (`evidence="checked"`; /10^4 for "strict", one at
    `rtol` for "quick"). The results are those of the last flow. The difference of both
    tolerances' orbits, and rounding, are the error bar of the state; the difference of
    their monodromy matrices, and rounding, give that of the multipliers, which is
    infinite if the state is not accurate enough to distinguish a contact from a near
    miss. Works under `jit`, `vmap`, `jacfwd` and `grad`.

    An autonomous system has limit cycles, with the period as an additional unknown: the
    result is a `LimitCycle`. So have bodies without loads, or under constant ones, if a
    `period` is given: friction on a moving belt, with phases of sticking. If Newton
    iteration finds none from the guess, the motion from there is followed to the cycle
    that it converges to.

    **Arguments:** `guess`: the state at t = 0; `None` runs a transient from rest.
    That of a system linear except for its contacts is, where it leads to no motion of
    one period, the linear motion if this closes no gap.
    `period`: for an autonomous system or bodies under constant loads, a guess of the
    cycle's, s; from that of several revolutions one is found.
    `periods`: of the load in one of the motion, 10 000 or fewer; `None` takes the
    smallest number up to 8 to which the transient converges (without a guess, not under
    `jit`). `engine`: for Newton iteration and error estimates, see `flow`; derivatives
    use diffrax if it supports the system.

    **Raises:** `ValueError` for an argument out of its range; `RuntimeError` with the
    reason if a single call finds no orbit, unless `throw=False`: then, in a batch and
    under transformations the reason is in `.result` (diverged, too many iterations) and
    the numbers are NaN. An orbit keeps its numbers with the reasons: singular M - I
    (a fold), and repetition after a shorter period than requested.

    **Source:** Pogorelova and Postnikova (2011) for the method, without the error
    estimates.
    """
    _refuse_families(system)
    system = differentiable_once(system, "a periodic orbit")
    if is_autonomous(system) or (period is not None and is_unforced(system)):
        if periods != 1:
            raise ValueError(f"periods = {periods} of an autonomous system; allowed: 1")
        settings = {"engine": engine, "rtol": rtol, "evidence": evidence}
        cycle = limit_cycle(system, guess, period, **settings)
        raise_if_empty("periodic_orbit", throw, cycle.result, cycle.largest_multiplier)
        return cycle
    if period is not None:
        allowed = "periods, the number of load periods in one of the motion"
        refuse_period(system, period, allowed)
    if not hasattr(system, "equation"):
        raise TypeError(
            f"periodic_orbit of {type(system).__name__}, which has no loads; allowed: a "
            "system with loads, such as ImpactSystem"
        )
    found = _found(system, guess, periods, engine, rtol, evidence)
    what = _OF_TRANSIENT if guess is None else _OF_GUESS
    advice = {Reason.DIVERGED: what, Reason.ITERATION_LIMIT: what}
    answer = found.result, found.largest_multiplier
    raise_if_empty("periodic_orbit", throw, *answer, advice=advice)
    return found


def _refuse_families(system) -> None:
    """Raise `ValueError` for a system with a periodic motion of every energy."""
    bodies = isinstance(system, ImpactSystem) and is_concrete(system)
    if bodies and not why_not_conservative(system):
        raise ValueError(
            "periodic_orbit of a system without loads and losses, which has families of "
            "periodic motions, one at every energy; allowed: nonlinear_modes"
        )


def _found(system, guess, periods, engine, rtol, evidence) -> PeriodicOrbit:
    require_float64()
    check_period(system)
    plan = plan_for(system, engine, guess, rtol, periods, modal=True)
    check_range("rtol", rtol, "", Range(above=0.0, at_most=1e-2))
    # Arrays, so that other values do not cause recompilation.
    rtol, factor = as_array(rtol, float), np.asarray(error_factor(evidence))
    if periods is not None:
        check_periods(periods)
    settings = rtol, factor, plan
    if guess is not None:
        guess = checked_state(system, guess)
        if periods is None:
            return _shortest(system, guess, *settings)
        count = as_array(periods, np.int32)
        return orbit_from_guess(system, guess, count, *settings)
    by_kernels = plan.by_kernels or (plan.modal is not None and is_concrete(system))
    run = run_transient if by_kernels else _transient_by_xla
    number = 0 if periods is None else periods
    state, nearest, result = run(plan.modal or system, as_array(number, np.int32))
    if periods is not None:
        count = as_array(periods, np.int32)
        return with_failure(orbit_from_guess(system, state, count, *settings), result)
    return _first_stable(system, state, np.asarray(nearest), result, *settings)


def check_periods(periods: ArrayLike) -> None:
    """Raise `ValueError` unless `periods` is a whole number from 1 to 10 000."""
    check_range("periods", periods, "", Range(at_least=1, at_most=_MOST_PERIODS))
    if not isinstance(periods, jax.core.Tracer) and np.any(np.mod(periods, 1)):
        raise ValueError(f"periods = {periods} is not a whole number")


def _transient_by_xla(system, periods):
    # LAPACK's threads wait for each other longer than these matrices take.
    with one_blas_thread():
        return jax.block_until_ready(_compiled_transient(system, periods))


@eqx.filter_jit
def _compiled_transient(system, periods):
    return run_transient(stop_gradient_tree(system), periods)


def _shortest(system, guess, *settings) -> PeriodicOrbit:
    """Return the orbit near a guess with the smallest number of periods."""
    orbit = None
    for periods in range(1, LONGEST_PERIOD + 1):
        count = as_array(periods, np.int32)
        orbit = orbit_from_guess(system, guess, count, *settings)
        if int(orbit.result) == Reason.SUCCESS:
            return orbit
    return orbit


def _first_stable(system, state, nearest, result, *settings) -> PeriodicOrbit:
    """Return the first stable orbit among the periods with a close recurrence."""
    state = jnp.asarray(state)
    order = [n for n in range(1, LONGEST_PERIOD + 1) if nearest[n - 1] < PLAUSIBLE]
    for periods in order or [1]:
        count = as_array(periods, np.int32)
        orbit = orbit_from_guess(system, state, count, *settings)
        away = modulo_drift(system, orbit.state, state) - state
        near = orbit.result == Reason.SUCCESS and bool(
            jnp.max(jnp.abs(away) / scales(system, state)) < _NEAR
        )
        if near and int(orbit.stable) != UNSTABLE:
            return orbit
    code = jnp.where(result == Reason.SUCCESS, Reason.NOT_CONVERGED, result).astype(
        jnp.int32
    )
    return with_failure(orbit, code)


def orbit_from_guess(
    system: System,
    guess: AnyArray,
    periods: AnyArray | np.integer,
    rtol: Number,
    factor: Number,
    plan: Plan | None = None,
) -> PeriodicOrbit:
    """Return the orbit of `periods` periods that Newton iteration finds from a guess.

    `plan`: by default that of "auto", without the modal form.
    """
    if plan is None:
        plan = plan_for(system, "auto", guess, periods, rtol, factor)
    if plan.modal is not None and is_concrete(system, guess, periods, rtol, factor):
        # XLA takes longer to compile the evidence than the shooting.
        settings = (
            np.asarray(periods, np.int32),
            np.asarray(rtol),
            np.asarray(rtol * factor),
        )
        with one_blas_thread():
            found = _shot_in_modes(plan.modal, jnp.asarray(guess), *settings)
            return _with_evidence(system, found, periods, rtol, factor)
    if plan.modal is not None or not plan.by_kernels:
        return _orbit_by_xla(system, guess, periods, rtol, factor, plan)
    found = _shot(system, guess, periods, rtol, factor, plan)
    return _with_evidence(system, found, periods, rtol, factor)


_shot_in_modes = eqx.filter_jit(shoot_in_modes)


def _with_evidence(system, found, periods, rtol, factor) -> PeriodicOrbit:
    """Return the orbit of a shooting result, by NumPy."""
    found, periods, rtol, factor = to_numpy((found, periods, rtol, factor))
    return orbit_from_shooting(system, *found, periods, rtol * factor, factor < 1)


def _found_by_xla(system, guess, periods, rtol, factor, plan: Plan) -> PeriodicOrbit:
    fixed = stop_gradient_tree(system), jax.lax.stop_gradient(guess)
    found = _shot(*fixed, periods, rtol, factor, plan)
    orbit = orbit_from_shooting(system, *found, periods, rtol * factor, factor < 1)
    return with_fields(orbit, contact_duration=stop_gradient(orbit.contact_duration))


_compiled_orbit = eqx.filter_jit(_found_by_xla)


def _orbit_by_xla(system, *settings) -> PeriodicOrbit:
    orbit = _compiled_orbit(system, *settings)
    # Outside: `jax_debug_nans` takes a NaN among a program's tangents for a fault.
    duration = without_derivative(orbit.contact_duration, system)
    return with_fields(orbit, contact_duration=duration)


def _shot(system, guess, periods, rtol, factor, plan: Plan):
    """Return the shooting result from a guess, and its details."""
    if plan.modal is None:
        leaves, static = partition_arrays(system)
        kernel = shooting_kernel(static, plan.engine)
        lane = leaves, guess, periods, rtol, factor
        # Without derivatives the lane may be concrete, as under `jax.disable_jit`.
        return kernel.on_host(lane) if plan.by_kernels else kernel(lane)
    return shoot_in_modes(plan.modal, guess, periods, rtol, rtol * factor)
