"""Error estimates of an orbit found by Newton iteration."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from ... import linalg
from ...ensemble import Reason
from ...foundation.arrays import HOST, array_namespace, expand_to_lanes, one_lane
from ...foundation.types import AnyArray, Number
from ...linalg import Parts, kernel_of
from .multipliers import multiplier_error, state_rounding
from .orbit_shooting import PeriodIntegral, ShootingResult

# Factor by which the tolerance is tightened for the error estimate: the difference of
# both solutions is then the error of the first alone, to one per cent or less.
EVIDENCE = {"quick": 1.0, "checked": 1e-2, "strict": 1e-4}
# Least error of M after a contact, in units of the tolerance: measured.
_AT_ONSETS = 30.0
# Largest matrix whose whole assessment is one kernel: for 16 rows it would be half a
# million instructions, five times those of its eigensystem alone.
_AT_ONCE = 8
# A condition of M - I beyond this leaves at most three digits of a double; a motion
# that returns this closely, relative to its size, is periodic all the same.
_SINGULAR, _COMES_BACK = 1e13, 1e-6


def error_factor(evidence: str) -> float:
    """Return the factor by which a level of evidence tightens the tolerance."""
    if evidence not in EVIDENCE:
        raise ValueError(f"evidence = {evidence!r}; allowed: {', '.join(EVIDENCE)}")
    return EVIDENCE[evidence]


class Assessment(NamedTuple):
    """Error estimates and multipliers of a shooting result, see `PeriodicOrbit`.

    `converged`: the state, with `evidenced` one Newton step beyond the shooting result;
    `found`: whether there is an orbit, possibly with a reason code; `multipliers` and
    their error bound; `nearest`: the smallest distance of a gap from grazing;
    `determinant`: that of the monodromy matrix.
    """

    residual: Float[Array, " n"]
    converged: Float[Array, " n"]
    condition: Float[Array, ""]
    state_error: Float[Array, ""]
    monodromy_error: Float[Array, ""]
    quotient: Float[Array, ""]
    found: Bool[Array, ""]
    result: Int[Array, ""]
    multipliers: Parts
    multiplier_error: Float[Array, ""]
    nearest: Float[Array, ""]
    determinant: Float[Array, ""]


def assess_orbit(
    shooting: ShootingResult, units: AnyArray, tight: Number, evidenced: ArrayLike
) -> Assessment:
    """Assess a shooting result, without derivatives; errors are NaN unless `evidenced`.

    `units`: the scale of each component of its state; `tight`: the tolerance of its last
    revolution. NumPy arrays may have a leading axis of lanes, in all arguments and
    results. Matrices of up to 8 rows use one kernel, larger ones those of `linalg`.
    """
    given = shooting, units, tight, evidenced
    traced = array_namespace(given) is not HOST
    if traced:
        given = jax.tree.map(jax.lax.stop_gradient, given)
    if shooting.state.shape[-1] > _AT_ONCE:
        # Lanes that diverged may have multipliers whose squares overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            return _assessment(*given)
    compiled = kernel_of(_assessment)
    if traced:
        return compiled(*given)
    if np.ndim(shooting.state) > 1:
        return compiled.map(*given)
    one = compiled.map(*one_lane(given))
    return jax.tree.map(lambda leaf: leaf[0], one)


def _assessment(shooting: ShootingResult, units, tight, evidenced) -> Assessment:
    xp = array_namespace(shooting, units, evidenced)
    found = shooting.result == Reason.SUCCESS
    seen = shooting.revolution
    identity = xp.eye(shooting.state.shape[-1])
    residual = seen.state - shooting.state
    inverse = linalg.inverse(identity - seen.monodromy)
    left = linalg.solve_vector(identity - seen.monodromy, residual)
    converged = shooting.state + xp.where(expand_to_lanes(evidenced, left), left, 0.0)
    condition = linalg.condition(seen.monodromy - identity, inverse)

    def unless_quick(value):
        return xp.where(expand_to_lanes(evidenced, value), value, xp.nan)

    moved = xp.abs(shooting.correction) + xp.abs(left)
    moved = moved + state_rounding(seen.monodromy, units, inverse)
    state_error = unless_quick(xp.max(moved, axis=-1))
    change = unless_quick(seen.monodromy - shooting.coarse_monodromy)
    inverse_norm = xp.max(xp.sum(xp.abs(inverse), axis=-1), axis=-1)
    quotient = unless_quick(inverse_norm * shooting.bend * xp.max(moved / units, axis=-1))

    # Where M - I is singular no Newton step is short, though the motion is periodic.
    returns = xp.max(xp.abs(residual) / units, axis=-1) < _COMES_BACK
    found = found | (
        (shooting.result == Reason.ITERATION_LIMIT) & returns & ~(condition < _SINGULAR)
    )
    singular = found & ~(condition < _SINGULAR)
    result = xp.where(singular, Reason.SINGULAR, shooting.result)
    shorter = (result == Reason.SUCCESS) & seen.repeats
    result = xp.where(shorter, Reason.SHORTER_PERIOD, result)
    system = linalg.eigensystem(seen.monodromy)
    return Assessment(
        residual,
        converged,
        condition,
        state_error,
        linalg.spectral_norm(change),
        quotient,
        found,
        result,
        system.values,
        *_multiplier_bar(seen, state_error, change, tight, system),
        linalg.determinant(seen.monodromy),
    )


def _multiplier_bar(revolution: PeriodIntegral, state_error, change, tight, system):
    """Return the error bound of the multipliers, and the distance from grazing."""
    xp, observables = array_namespace(revolution, tight), revolution.observables
    # A step over a contact's onset may exceed its tolerance by far, and the rank-one
    # error in M of one onset may be small by chance at one tolerance.
    touched = xp.sum(observables.duration, axis=-1) > 0
    noise = xp.where(touched, _AT_ONSETS * tight, 0.0)
    error = multiplier_error(revolution.monodromy, change, noise, system)
    # Where the number of contacts is uncertain, derivatives may jump.
    nearest = xp.min(observables.nearest, axis=-1, initial=xp.inf)
    return xp.where(nearest < state_error, xp.inf, error), nearest
