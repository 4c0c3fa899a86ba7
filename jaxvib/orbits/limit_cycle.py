"""Limit cycles of autonomous systems, with stability and error estimates."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Complex, Float, Int

from .. import linalg
from ..drawing import Labels
from ..dynamics.engines import check_engine
from ..dynamics.flow import checked_state
from ..ensemble import Reason, reason
from ..foundation.arrays import combine_arrays, partition_arrays, stop_gradient_tree
from ..foundation.environment import require_float64
from ..foundation.quantity import Range, check_number, check_range, result_field
from ..foundation.types import Number
from ..systems.base.system import System
from ..systems.drift import across_drift, check_drift, modulo_drift
from .equilibrium import FIELD_ROUNDING
from .orbit import BAND, WithProgress, invalidate
from .shooting.cycle_shooting import CycleShooting, rate_of, shoot_cycle
from .shooting.error_estimates import error_factor
from .shooting.implicit import implicit_root
from .shooting.motion_pictures import PlottableMotion
from .shooting.multipliers import (
    VERDICTS,
    floquet_multipliers,
    modulus,
    multiplier_error,
    verdict,
)
from .shooting.orbit_derivatives import Revolution, differentiable_values

# Of the condition and of the residual, in units, of a cycle that is one of a family.
_SINGULAR, _COMES_BACK = 1e10, 1e-6


class LimitCycle(PlottableMotion):
    r"""A motion $s(t)$ with $s(t + T) = s(t)$ of an autonomous field, T its own period.

    `state` is a point of the cycle near the guess, or near the end of a transient from
    there. One multiplier, that of a shift along the cycle, is 1: it is the first, as
    computed, and its distance from 1 is part of the error bar. The others decide
    stability.

    Every field is differentiable with respect to every parameter of the system by the
    implicit function theorem, except for error estimates. The derivative of `state` is
    across the flow: a shift along the flow gives the same cycle.

    >>> oscillator = jv.autonomous_system(
    ...     lambda x, p: [x[1], p["mu"] * (1 - x[0] ** 2) * x[1] - x[0]],
    ...     parameters={"mu": 1.0},
    ...     dimension=2,
    ... )
    >>> cycle = jv.periodic_orbit(oscillator, [2.0, 0.0], period=6.6)
    >>> round(float(cycle.period), 6)
    6.663287
    """

    state: Float[Array, " n"] = result_field("state at t = 0", "", ("state",))
    period: Float[Array, ""] = result_field("period of the cycle", "s")
    monodromy: Float[Array, "n n"] = result_field(
        "monodromy matrix", "", ("state", "column")
    )
    floquet_multipliers: Complex[Array, " n"] = result_field(
        "Floquet multipliers: the trivial one, then largest modulus first",
        "",
        ("multiplier",),
    )
    largest_multiplier: Float[Array, ""] = result_field(
        "modulus of the largest multiplier but the trivial one"
    )
    stable: Int[Array, ""] = result_field("1 stable, 0 unstable, -1 undecided")
    amplitude: Float[Array, " freedoms"] = result_field(
        "half of highest minus lowest value", "", ("freedom",)
    )
    highest: Float[Array, " freedoms"] = result_field("highest value", "", ("freedom",))
    lowest: Float[Array, " freedoms"] = result_field("lowest value", "", ("freedom",))
    residual: Float[Array, ""] = result_field(
        "largest component of s(T) - s(0), tighter tolerance"
    )
    state_error: Float[Array, ""] = result_field("error bar of the state")
    period_error: Float[Array, ""] = result_field("error bar of the period", "s")
    monodromy_error: Float[Array, ""] = result_field("change of M at the tighter tolerance")
    multiplier_error: Float[Array, ""] = result_field(
        "bound on the error of each multiplier"
    )
    condition: Float[Array, ""] = result_field("condition number of M - I with its phase")
    result: Int[Array, ""] = result_field("reason code")
    labels: Labels = eqx.field(static=True, default=Labels())

    default_picture: ClassVar[str] = "displacement"

    def _lines(self) -> list[str]:
        state = self.labels.shown(np.asarray(self.state))
        amplitude = self.labels.amplitudes(np.asarray(self.amplitude))
        trivial = abs(complex(self.floquet_multipliers[0]) - 1)
        return [
            f"{self._title()}: {VERDICTS[int(self.stable)]}, "
            f"largest |multiplier| {self.largest_multiplier:.6g} "
            f"(error {self.multiplier_error:.1e})",
            f"  period        {self.period:.10g} s (error {self.period_error:.1e})",
            f"  state, t = 0  {state} (error {self.state_error:.1e})",
            f"  amplitude     {amplitude}",
            f"  evidence      residual {self.residual:.1e}, "
            f"trivial multiplier off by {trivial:.1e}",
            f"  result        {reason(self.result)}",
        ]


class DriftingCycle(WithProgress, LimitCycle):
    r"""A cycle $s(t + T) = s(t) + a\,d$ of a system with a drift, see `drifting`.

    Its multipliers are those of the motion modulo the shift, see `DriftingOrbit`.

    >>> rotor = jv.autonomous_system(
    ...     lambda x, p: [x[1], p["torque"] - 0.1 * x[1] - jnp.sin(x[0])],
    ...     parameters={"torque": 0.5},
    ...     dimension=2,
    ... )
    >>> rotor = jv.drifting(rotor, "0", step=2 * np.pi)
    >>> cycle = jv.periodic_orbit(rotor, [0.0, 5.0], period=1.3)
    >>> round(float(cycle.progress / (2 * np.pi)), 9)  # turns per period
    1.0
    """


def limit_cycle(
    system: System,
    guess: ArrayLike | Sequence[Any] | None,
    period: ArrayLike | None,
    *,
    engine: str,
    rtol: Number,
    evidence: str,
) -> LimitCycle:
    """Return the cycle near a guess, see `periodic_orbit`."""
    require_float64()
    check_engine(engine)
    check_drift(system)
    check_range("rtol", rtol, "", Range(above=0.0, at_most=1e-2))
    factor = error_factor(evidence)
    if guess is None or period is None:
        missing = "guess" if guess is None else "period"
        raise ValueError(
            f"{missing} = None of an autonomous system; allowed: a state near the cycle, "
            "or from which a motion leads to it, and a guess of the cycle's period, s"
        )
    check_number("period", period, "s", Range(above=0.0))
    start = modulo_drift(system, checked_state(system, guess))
    if start.shape[0] < 2:
        raise ValueError("a cycle of one state; allowed: a system of two or more")
    numbers = (jnp.asarray(number, float) for number in (period, rtol, factor))
    return cycle_near(system, start, *numbers, engine)


@eqx.filter_jit
def cycle_near(
    system: System,
    guess: Array,
    period: Array,
    rtol: Array,
    factor: Array,
    engine: str = "auto",
) -> LimitCycle:
    """Return the cycle found by Newton's method, from the guess or a transient."""
    frozen = stop_gradient_tree(system)
    guess, period = jax.lax.stop_gradient((guess, period))
    shooting = shoot_cycle(frozen, guess, period, rtol, rtol * factor, engine)
    return cycle_from_shooting(system, shooting, rtol * factor, factor < 1)


def cycle_from_shooting(
    system: System, shooting: CycleShooting, tight: Array, evidenced: Array
) -> LimitCycle:
    """Return the cycle of a shooting result, with error estimates if `evidenced`."""
    leaves, static = partition_arrays(system)
    seen, units = shooting.seen, shooting.units
    condition = linalg.condition(shooting.solver)
    # Among a family of cycles no Newton step is short, though the motion is periodic.
    returns = jnp.max(jnp.abs(seen.state - shooting.state) / units) < _COMES_BACK
    endless = (shooting.result == Reason.ITERATION_LIMIT) & (condition > _SINGULAR)
    result = jnp.where(endless & returns, Reason.SINGULAR, shooting.result)
    known = (result == Reason.SUCCESS) | (result == Reason.SHORTER_PERIOD)
    known = known | (result == Reason.SINGULAR)
    converged = shooting.at + jnp.where(evidenced, shooting.full, 0.0)
    anchor, scales = converged[:-1], jnp.append(units, converged[-1])
    rate = rate_of(stop_gradient_tree(system), shooting.state)
    rate = across_drift(system, rate)

    # From here on everything is a differentiable function of the parameters.
    arguments = leaves, _Frame(anchor, rate / units, scales), tight

    def revolution(root, arguments) -> Revolution:
        leaves, _, rtol = arguments
        return Revolution(combine_arrays(leaves, static), root[:-1], root[-1], rtol)

    def residual(scaled, arguments):
        anchor, normal, scales = arguments[1]
        motion, units = revolution(scaled * scales, arguments), scales[:-1]
        image = motion.returned()
        phase = normal @ ((motion.state - anchor) / units) / linalg.norm(normal)
        return jnp.append((image - motion.state) / units, phase)

    root = implicit_root(residual, jnp.append(anchor / units, 1.0), arguments)
    where, none = (root * scales, arguments), jnp.zeros(0)
    motion = revolution(*where)
    monodromy, _, observables = differentiable_values(
        revolution, where, seen.monodromy, seen.observables, none, none
    )
    along = rate_of(motion.system, motion.state)
    along = across_drift(system, along)
    parts = transverse(monodromy, along, units)
    errors = _errors(shooting, rate, jax.lax.stop_gradient(parts))
    fields = {
        "state": motion.state,
        "period": motion.period,
        "monodromy": monodromy,
        "highest": observables.highest,
        "lowest": observables.lowest,
        "residual": jnp.max(jnp.abs(seen.state - shooting.state)),
        "condition": condition,
        "result": result,
    }
    if system.drift is not None:
        fields["progress"] = motion.progress()
        error = jax.lax.stop_gradient(_progress_error(motion, tight, errors))
        errors["progress_error"] = error
    code = jnp.where(known, Reason.SUCCESS, result)
    return cycle_of(system, fields, parts, errors, evidenced, code)


def cycle_of(
    system: System, fields: dict, parts: tuple, errors: dict, evidenced: Any, code: Array
) -> LimitCycle:
    """Return a cycle with the fields that follow from others; NaN where a code is not 0.

    `parts`: the results of `transverse`, or a matrix with the same other multipliers;
    `errors`: by field, NaN unless `evidenced`.
    """
    trivial, others = parts
    multipliers = floquet_multipliers(others)
    largest = modulus(multipliers)
    band = jnp.where(evidenced, errors["multiplier_error"], BAND)
    found = fields | {
        "floquet_multipliers": jnp.append(trivial.astype(complex), multipliers),
        "largest_multiplier": largest,
        "stable": verdict(jax.lax.stop_gradient(largest), band),
        "amplitude": (fields["highest"] - fields["lowest"]) / 2,
        **{name: jnp.where(evidenced, e, jnp.nan) for name, e in errors.items()},
    }
    kind = LimitCycle if system.drift is None else DriftingCycle
    return kind(**invalidate(found, code, kept=()), labels=system.labels)


def transverse(monodromy: Array, rate: Array, units: Array) -> tuple[Array, Array]:
    r"""Return the trivial multiplier and the matrix that has the others.

    A Householder reflection H maps the flow's direction to the first axis. The first
    column of $H M H$, in `units`, is then that multiplier and zeros, and the others are
    the eigenvalues of the remaining block. At a fold M has a double eigenvalue 1, whose
    error is the square root of M's; in the block it is simple.
    """
    reflect = reflection(rate / units)
    reflected = reflect @ (monodromy * units[None] / units[:, None]) @ reflect
    return reflected[0, 0], reflected[1:, 1:]


def reflection(along: Float[Array, " n"]) -> Float[Array, "n n"]:
    """Return the reflection that maps a direction to the first axis."""
    along = along / jnp.maximum(linalg.norm(along), jnp.finfo(float).tiny)
    mirror = along.at[0].add(jnp.where(along[0] < 0, -1.0, 1.0))
    scale = 2 / jnp.maximum(mirror @ mirror, 1.0)
    return jnp.eye(along.shape[0]) - scale * mirror[:, None] * mirror[None]


class _Frame(NamedTuple):
    """The plane of a cycle's initial state, and the scales of the unknowns.

    `anchor`: a point of the plane; `normal`: its normal, in units; `scales` of state and
    period.
    """

    anchor: Float[Array, " n"]
    normal: Float[Array, " n"]
    scales: Float[Array, " unknowns"]


def _progress_error(motion: Revolution, tight, errors) -> Array:
    """Return the error of a progress: of state and period, and of the flow itself."""
    drift: Any = motion.system.drift
    if drift.step is not None:
        return jnp.zeros(())

    def length(state, period):
        return motion._replace(state=state, period=period).progress()

    slopes = jax.jacfwd(length, (0, 1))(motion.state, motion.period)
    moved = jnp.sum(jnp.abs(slopes[0])) * errors["state_error"]
    moved = moved + jnp.abs(slopes[1]) * errors["period_error"]
    looser = motion._replace(rtol=100 * tight).progress()
    return moved + jnp.abs(looser - motion.progress())


def _errors(shooting: CycleShooting, rate, parts) -> dict:
    """Return a cycle's errors from two tolerances and from rounding, by their fields.

    `rate`: that of the state; `parts`: the results of `transverse`.
    """
    trivial, others = parts
    monodromy, units, coarse = shooting.seen.monodromy, shooting.units, shooting.progress
    # The rounding errors of one revolution.
    rounded = jnp.abs(monodromy) @ units + units
    rounded = FIELD_ROUNDING * rounded / units
    scales = jnp.append(units, shooting.period)
    rounded = jnp.abs(shooting.solver) @ jnp.append(rounded, 0.0) * scales
    moved = jnp.abs(coarse.correction) + jnp.abs(shooting.full) + rounded
    change = monodromy - coarse.monodromy
    _, before = transverse(coarse.monodromy, rate, units)
    return {
        "state_error": jnp.max(moved[:-1]),
        "period_error": moved[-1],
        "monodromy_error": linalg.spectral_norm(
            jnp.where(jnp.isfinite(change), change, 0.0)
        ),
        "multiplier_error": multiplier_error(others, others - before)
        + jnp.abs(trivial - 1),
    }
