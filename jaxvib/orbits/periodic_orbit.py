"""A periodic motion with its stability and the evidence for both."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Complex, Float, Int, Real

from .._quantity import Range, check_range, reported
from ..drawing import Drawn, Labels, draw
from ..dynamics.engines import engine_for, engine_of_values
from ..dynamics.exponential import decoupled
from ..dynamics.flow import checked_state, flow
from ..dynamics.observables import largest_forces, times_of_largest_forces
from ..ensemble import Reason, raise_if_empty, reason
from ..ensemble.result import Result
from ..systems.autonomous import AutonomousSystem, is_autonomous
from ..systems.periods import check_period
from ..systems.system import System
from .evidence import evidence_factor as evidence_factor
from .evidence import evidence_of_shot, multiplier_bar
from .extremes import top
from .implicit import implicit_root, with_derivative_of
from .limit_cycle import LimitCycle, limit_cycle
from .motion_pictures import multipliers_chart, orbit_motion
from .multipliers import (
    UNSTABLE,
    VERDICTS,
    floquet_multipliers,
    modulus,
    verdict,
)
from .settling import GRAZING as GRAZING
from .settling import LEAST_TRANSIENT, SETTLED, TRANSIENT_RTOL, settle
from .shooting import Shot, scales, shoot

# Of the load's periods in one of a motion: three doublings.
LONGEST_PERIOD = 8
# Without evidence multipliers nearer to the unit circle than this are undecided: far more
# than what an onset of contact adds to the tolerance (`evidence.multiplier_bar`).
_BAND = 1e-3
# Of a motion that a transient leads to: an orbit with a period in which it recurs no closer
# is not tried, and one farther away is another one, per size.
_PLAUSIBLE, _NEAR = 1e-2, 0.1


class PeriodicOrbit(Drawn, Result):
    r"""A motion $s(t)$ with $s(t + nT) = s(t)$, in SI units; T the load's period.

    Every field is differentiable with respect to every parameter of the system by the
    implicit function theorem, but for the numbers that are evidence and for
    `contact_duration`, whose derivative is NaN.

    An onset is counted as a contact if the penetration then exceeds 1e-9 of the
    largest displacement; `grazing_margin` is the smallest |penetration| at which a gap
    turned from closing to opening, so that a count within it can be doubted.
    """

    state: Float[Array, " n"] = reported("state at t = 0", "", ("state",))
    period: Float[Array, ""] = reported("period of the motion", "s")
    periods: Int[Array, ""] = reported("periods of the load in one of the motion")
    monodromy: Float[Array, "n n"] = reported("monodromy matrix", "", ("state", "column"))
    floquet_multipliers: Complex[Array, " n"] = reported(
        "Floquet multipliers, largest modulus first", "", ("multiplier",)
    )
    largest_multiplier: Float[Array, ""] = reported("modulus of the largest multiplier")
    stable: Int[Array, ""] = reported("1 stable, 0 unstable, -1 undecided")
    contacts: Int[Array, ""] = reported("onsets of contact in one period of the motion")
    contacts_per_period: Float[Array, ""] = reported("contacts per period of the load")
    max_contact_force: Float[Array, ""] = reported("largest contact force", "N")
    contact_duration: Float[Array, ""] = reported("time in contact in one period", "s")
    grazing_margin: Float[Array, ""] = reported("smallest |penetration| at a turn", "m")
    amplitude: Float[Array, " freedoms"] = reported(
        "half of highest minus lowest displacement", "m", ("freedom",)
    )
    lyapunov_exponent: Float[Array, ""] = reported("largest Lyapunov exponent", "1/s")
    lyapunov_error: Float[Array, ""] = reported("standard error of the exponent", "1/s")
    residual: Float[Array, ""] = reported(
        "largest component of s(nT) - s(0), tighter tolerance"
    )
    state_error: Float[Array, ""] = reported("error bar of the state")
    monodromy_error: Float[Array, ""] = reported("change of M at the tighter tolerance")
    multiplier_error: Float[Array, ""] = reported("bound on the error of each multiplier")
    determinant_defect: Float[Array, ""] = reported(
        "det M / exp(-nT tr(D/M)) - 1, the impacts' part left out; NaN below 1e-307"
    )
    condition: Float[Array, ""] = reported("condition number of M - I")
    newton_quotient: Float[Array, ""] = reported("Newton-Kantorovich quotient")
    result: Int[Array, ""] = reported("reason code")
    labels: Labels = eqx.field(static=True, default=Labels())

    @property
    def drawable(self) -> bool:
        """Whether this is one orbit, and was found."""
        return np.ndim(self.result) == 0 and not self._empty()

    def plot(self, system: System | None = None, what: str = "phase", *, ax=None):
        """Draw the orbit on axes of matplotlib, new ones unless given, and return them.

        With its `system` the motion over one period, `what` of it as of a `Trajectory`;
        without, its Floquet multipliers about the unit circle, inside which it is stable.
        **Raises:** `ValueError` for many orbits at once or one that was not found.
        """
        if system is None:
            return draw(multipliers_chart(self), ax)
        return orbit_motion(self, system).plot(what, ax=ax)

    def animate(self, system: System, duration: float = 8.0):
        """Return a `matplotlib` animation of one period, see `Trajectory.animate`."""
        return orbit_motion(self, system).animate(duration)

    def _empty(self) -> bool:
        return not np.isfinite(self.largest_multiplier)

    def _lines(self) -> list[str]:
        state = self.labels.shown(np.asarray(self.state))
        amplitude = self.labels.amplitudes(np.asarray(self.amplitude))
        return [
            f"PeriodicOrbit: {VERDICTS[int(self.stable)]}, "
            f"largest |multiplier| {self.largest_multiplier:.6g} "
            f"(error {self.multiplier_error:.1e})",
            f"  period        {self.period:.6g} s = {int(self.periods)} of the load's",
            f"  state, t = 0  {state} (error {self.state_error:.1e})",
            f"  amplitude     {amplitude}",
            f"  contacts      {int(self.contacts)} a period, "
            f"{self.contact_duration:.4g} s in all",
            f"  peak force    {self.max_contact_force:.6g} N",
            f"  evidence      residual {self.residual:.1e}, "
            f"det M off by {self.determinant_defect:.1e}",
            f"  result        {reason(self.result)}",
        ]


@overload
def periodic_orbit(system: AutonomousSystem, *_: Any, **__: Any) -> LimitCycle: ...


@overload
def periodic_orbit(system: eqx.Module, *_: Any, **__: Any) -> PeriodicOrbit: ...


def periodic_orbit(
    system: eqx.Module,
    guess: Real[ArrayLike, " n"] | Sequence | None = None,
    periods: int | None = 1,
    *,
    engine: str = "auto",
    rtol: Real[Array, ""] | float = 1e-8,
    evidence: str = "checked",
    period: Real[ArrayLike, ""] | float | None = None,
    throw: bool = True,
) -> PeriodicOrbit | LimitCycle:
    r"""Return the periodic motion near a guess, or the one that a transient leads to.

    Newton's method solves $\varphi^{nT}(s) = s$ with the flow at `rtol`, and takes two
    steps more with that at `rtol`/100 (`evidence="checked"`; /10^4 for "strict", one at
    `rtol` for "quick"). What is reported is taken there. How far both tolerances' orbits
    are apart, and rounding, are the error bar of the state; how far their monodromy
    matrices are, and rounding, give that of the multipliers, which is infinite where the
    state is not known well enough to tell a contact from a near miss. Works under `jit`,
    `vmap`, `jacfwd` and `grad`.

    An autonomous system has cycles, with a period of their own as one unknown more: its
    result is a `LimitCycle`. Where Newton's method finds none from the guess, the motion
    from there is followed, and the cycle that it comes to is the answer.

    **Arguments:** `guess`: the state at t = 0; `None` runs a transient out from rest.
    `period`: of an autonomous system, a guess of the cycle's, s.
    `periods`: of the load in one of the motion; `None` takes the smallest number up to
    8 that the transient settles on (without a guess, not under `jit`). `engine`: that of
    Newton's method and of the evidence, see `flow`; derivatives are diffrax's wherever it
    can take the system.

    **Raises:** `ValueError` for an argument out of its range; `RuntimeError` with the
    reason where a single call finds no orbit, unless `throw=False`: then, in a batch and
    under transformations the reason is in `.result` (diverged, too many iterations) and
    the numbers are NaN. An orbit that is there and has a reason keeps both: singular M - I
    (a fold), one that repeats after a shorter period than asked for.

    **Source:** Pogorelova and Postnikova (2011) for the method; the evidence is ours.
    """
    if is_autonomous(system):
        if periods != 1:
            raise ValueError(f"periods = {periods} of an autonomous system; allowed: 1")
        settings = {"engine": engine, "rtol": rtol, "evidence": evidence}
        cycle = limit_cycle(system, guess, period, **settings)
        raise_if_empty("periodic_orbit", throw, cycle.result, cycle.largest_multiplier)
        return cycle
    if period is not None:
        raise ValueError(
            f"period = {period} of a system whose loads repeat; allowed: periods, the "
            "number of the load's in one of the motion"
        )
    found = _found(system, guess, periods, engine, rtol, evidence)
    raise_if_empty("periodic_orbit", throw, found.result, found.largest_multiplier)
    return found


def _found(system, guess, periods, engine, rtol, evidence) -> PeriodicOrbit:
    check_period(system)
    blocks = decoupled(jax.tree.map(_stopped, system)) if engine == "auto" else None
    if blocks is None:
        engine_for(system, engine, lanes=1)
    check_range("rtol", rtol, "", Range(above=0.0, at_most=1e-2))
    # As arrays, so that another value is not another compilation.
    rtol, factor = jnp.asarray(rtol, float), jnp.asarray(evidence_factor(evidence))
    if periods is not None:
        check_periods(periods)
    settings = rtol, factor, engine, blocks
    if guess is not None:
        guess = checked_state(system, guess)
        if periods is None:
            return _shortest(system, guess, *settings)
        count = jnp.asarray(periods, jnp.int32)
        return orbit_from_guess(system, guess, count, *settings)
    state, nearest, result = _settled(system if blocks is None else blocks)
    if periods is not None:
        count = jnp.asarray(periods, jnp.int32)
        return _failed_if(orbit_from_guess(system, state, count, *settings), result)
    return _first_stable(system, state, np.asarray(nearest), result, *settings)


def unknown_orbits(system, number: int) -> PeriodicOrbit:
    """Return orbits of which nothing is known, as numpy arrays: NaN, -1 of whole numbers.

    They have a leading axis of that many.
    """
    state = np.shape(eqx.filter_eval_shape(lambda s: s.rest(), system))
    freedoms = np.shape(
        eqx.filter_eval_shape(lambda s: s.equation().displaced(s.rest()), system)
    )
    shapes = {
        "state": state,
        "monodromy": state * 2,
        "floquet_multipliers": state,
        "amplitude": freedoms,
    }
    types = {
        "periods": np.int32,
        "floquet_multipliers": complex,
        "stable": np.int8,
        "contacts": np.int32,
        "contacts_per_period": np.float32,  # what JAX makes of a ratio of such integers
        "result": np.int32,
    }

    one = PeriodicOrbit(**{
        field.name: jnp.zeros(shapes.get(field.name, ()), types.get(field.name, float))
        for field in dataclasses.fields(PeriodicOrbit) if "unit" in field.metadata
    }, labels=system.labels)  # fmt: skip

    def unknown(leaf):
        nothing = np.nan if np.issubdtype(leaf.dtype, np.inexact) else -1
        return np.full((number, *leaf.shape), nothing, leaf.dtype)

    return jax.tree.map(unknown, one)


def check_periods(periods) -> None:
    """Raise `ValueError` unless `periods` is a whole number of 1 or more."""
    check_range("periods", periods, "", Range(at_least=1))
    if not isinstance(periods, jax.core.Tracer) and np.any(np.mod(periods, 1)):
        raise ValueError(f"periods = {periods} is not a whole number")


@eqx.filter_jit
def _settled(system):
    frozen = jax.tree.map(_stopped, system)
    return settle(
        frozen,
        frozen.rest(),
        LONGEST_PERIOD,
        LEAST_TRANSIENT,
        SETTLED,
        TRANSIENT_RTOL,
    )


def _shortest(system, guess, *settings) -> PeriodicOrbit:
    """Return the orbit of the smallest number of periods that has one near a guess."""
    orbit = None
    for periods in range(1, LONGEST_PERIOD + 1):
        count = jnp.asarray(periods, jnp.int32)
        orbit = orbit_from_guess(system, guess, count, *settings)
        if int(orbit.result) == Reason.SUCCESS:
            return orbit
    return orbit


def _first_stable(system, state, nearest, result, *settings) -> PeriodicOrbit:
    """Return the first stable orbit among the periods that a motion nearly recurs in."""
    order = [n for n in range(1, LONGEST_PERIOD + 1) if nearest[n - 1] < _PLAUSIBLE]
    for periods in order or [1]:
        count = jnp.asarray(periods, jnp.int32)
        orbit = orbit_from_guess(system, state, count, *settings)
        near = orbit.result == Reason.SUCCESS and bool(
            jnp.max(jnp.abs(orbit.state - state) / scales(system, state)) < _NEAR
        )
        if near and int(orbit.stable) != UNSTABLE:
            return orbit
    code = jnp.where(result == Reason.SUCCESS, Reason.UNSETTLED, result).astype(jnp.int32)
    return _failed_if(orbit, code)


@eqx.filter_jit
def orbit_from_guess(
    system, guess, periods, rtol, factor, engine="auto", blocks=None
) -> PeriodicOrbit:
    """Return the orbit of `periods` periods that Newton's method finds from a guess.

    `blocks`: the system once more, decoupled, if that is how it is followed.
    """
    frozen = jax.tree.map(_stopped, system) if blocks is None else blocks
    guess = jax.lax.stop_gradient(guess)
    shot = shoot(frozen, guess, periods, rtol, rtol * factor, GRAZING, engine)
    return orbit_of_shot(system, shot, periods, rtol * factor, factor < 1, frozen)


def orbit_of_shot(
    system, shot: Shot, periods, tight, evidenced, frozen=None
) -> PeriodicOrbit:
    """Return a shot's orbit, with the evidence for it if it is `evidenced`.

    `frozen`: the system as it was followed, without derivatives.
    """
    parameters, static = eqx.partition(system, eqx.is_inexact_array)
    if frozen is None:
        frozen = eqx.combine(jax.lax.stop_gradient(parameters), static)
    span = periods.astype(float) * frozen.period()
    evidence = evidence_of_shot(frozen, shot, evidenced)

    # From here on everything is a differentiable function of the parameters.
    seen = shot.revolution
    arguments = parameters, periods, tight
    maps = _maps(static, engine_of_values(system, "auto"))
    state = implicit_root(maps.residual, evidence.converged, arguments)
    monodromy = with_derivative_of(maps.monodromy, seen.monodromy, (state, arguments))
    multipliers = floquet_multipliers(monodromy)
    largest = modulus(multipliers)
    error, nearest = multiplier_bar(monodromy, seen.watched, evidence, tight)
    # Without evidence nothing closer to the unit circle than this is decided.
    band = jnp.where(evidenced, error, _BAND)
    equation = frozen.equation()
    forces, extremes = _peaks(maps.peaks, seen.watched, equation, (state, arguments))
    highest, lowest = jnp.split(extremes, 2)
    onsets = seen.watched.onsets
    expected = jnp.exp(equation.divergence() * span) * equation.contraction(onsets)
    held = expected > jnp.finfo(float).tiny  # a determinant that underflows says nothing
    expected = jnp.where(held, expected, jnp.nan)
    contacts = jnp.sum(onsets, dtype=jnp.int32)

    whole = PeriodicOrbit(
        state=state,
        period=periods.astype(float) * system.period(),
        periods=periods,
        monodromy=monodromy,
        floquet_multipliers=multipliers,
        largest_multiplier=largest,
        stable=verdict(jax.lax.stop_gradient(largest), band),
        contacts=contacts,
        contacts_per_period=contacts / periods,
        max_contact_force=jnp.max(forces, initial=0.0),
        contact_duration=_without_derivative(jnp.sum(seen.watched.duration), parameters),
        grazing_margin=nearest,
        amplitude=(highest - lowest) / 2,
        lyapunov_exponent=jnp.asarray(jnp.nan),
        lyapunov_error=jnp.asarray(jnp.nan),
        residual=jnp.max(jnp.abs(evidence.residual)),
        state_error=evidence.state_error,
        monodromy_error=evidence.monodromy_error,
        multiplier_error=error,
        determinant_defect=jnp.linalg.det(seen.monodromy) / expected - 1,
        condition=evidence.condition,
        newton_quotient=evidence.quotient,
        result=evidence.result.astype(jnp.int32),
        labels=system.labels,
    )
    code = jnp.where(evidence.found, 0, evidence.result)
    return _failed_if(whole, code, keep_state=True)


class _Maps(NamedTuple):
    """What an orbit is made of, as functions of its state and of the parameters."""

    residual: Callable
    monodromy: Callable
    peaks: Callable


def _maps(static, engine) -> _Maps:
    """Return the maps of systems of one structure; `engine`: of first derivatives."""

    def after(state, arguments, engine):
        leaves, periods, rtol = arguments
        system = eqx.combine(leaves, static)
        span = periods.astype(float) * system.period()
        return flow(system, state, 0.0, span, rtol=rtol, engine=engine)

    def residual(state, arguments):
        return after(state, arguments, engine) - state

    def monodromy(state, arguments):  # its derivatives are second ones of the flow
        return jax.jacfwd(after)(state, arguments, "auto")

    def peaks(state, arguments, time):
        leaves, _, rtol = arguments
        system = eqx.combine(leaves, static)
        equation = system.equation()
        there = flow(system, state, 0.0, time, rtol=rtol, engine=engine)
        rate = equation.vector_field(time, there)
        depths, speeds, accelerations = equation.contact_motion(there, rate)
        damped = np.asarray(equation.damped_contacts(), bool)
        # Where a damped force is largest its penetration still grows.
        deepest = top(depths, speeds, accelerations)
        forces = equation.contact_forces(jnp.where(damped, depths, deepest), speeds)
        return jnp.concatenate([forces, top(*equation.displacements(time, there, rate))])

    return _Maps(residual, monodromy, peaks)


def _peaks(function, watched, equation, where):
    """Return the largest forces and the extreme displacements, as functions of the orbit.

    All are one mapped flow to the times where they were seen, which is compiled once; of
    each time's vector one component counts.
    """
    contacts, size = watched.deepest.shape[0], watched.highest.shape[0]
    places = np.concatenate([np.arange(contacts), contacts + np.arange(2 * size) % size])
    forces = largest_forces(equation, watched)
    values = jnp.concatenate([forces, watched.highest, watched.lowest])
    times = jnp.concatenate(
        [
            times_of_largest_forces(equation, watched),
            watched.highest_time,
            watched.lowest_time,
        ]
    )

    def every(state, arguments, times):
        rows = jax.vmap(lambda time: function(state, arguments, time))(times)
        return jnp.take_along_axis(rows, jnp.asarray(places)[:, None], axis=1)[:, 0]

    found = with_derivative_of(every, values, (*where, times))
    return found[:contacts], found[contacts:]


def _failed_if(orbit: PeriodicOrbit, code, keep_state=False) -> PeriodicOrbit:
    """Return an orbit with NaN instead of numbers where a reason code is not 0."""
    failed = code != Reason.SUCCESS

    def spoil(leaf):
        inexact = jnp.issubdtype(leaf.dtype, jnp.inexact)
        return jnp.where(failed, jnp.nan, leaf) if inexact else leaf

    spoiled = jax.tree.map(spoil, orbit)
    names = ["period"] + (["state"] if keep_state else [])
    spoiled = eqx.tree_at(
        lambda o: [getattr(o, name) for name in names],
        spoiled,
        [getattr(orbit, name) for name in names],
    )
    return eqx.tree_at(
        lambda o: (o.stable, o.contacts, o.result),
        spoiled,
        (
            jnp.where(failed, -1, orbit.stable).astype(jnp.int8),
            jnp.where(failed, -1, orbit.contacts),
            jnp.where(failed, code, orbit.result).astype(jnp.int32),
        ),
    )


def _without_derivative(value, parameters):
    """Return a value whose derivative, which is not computed, is NaN and not 0."""
    return with_derivative_of(_nan_slope, value, (parameters,))


def _nan_slope(parameters):
    return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(parameters)) * jnp.nan


def _stopped(leaf):
    return jax.lax.stop_gradient(leaf) if eqx.is_inexact_array(leaf) else leaf
