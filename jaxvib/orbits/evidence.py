"""How far an orbit that Newton's method has found can be trusted."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .. import linalg
from .._arrays import HOST, library_of, per_lane
from ..ensemble import Reason
from ..linalg import Parts, kernel_of
from .multipliers import multiplier_error, state_rounding
from .shooting import Revolution, Shot

# How much tighter than the solver's tolerance an orbit is followed once more: by as much
# as makes the difference of both the error of the first alone, to one per cent and less.
EVIDENCE = {"quick": 1.0, "checked": 1e-2, "strict": 1e-4}
# What M is wrong by after a contact at least, in units of the tolerance: measured.
_AT_ONSETS = 30.0
# Rows of a matrix whose whole assessment is one kernel: of 16 it would be half a million
# instructions, five times those of its eigensystem alone.
_AT_ONCE = 8
# A condition of M - I beyond this leaves three of a double's digits at most; a motion that
# returns this closely, per size, has come back all the same.
_SINGULAR, _COMES_BACK = 1e13, 1e-6


def evidence_factor(evidence: str) -> float:
    """Return by what factor a level of evidence tightens the tolerance."""
    if evidence not in EVIDENCE:
        raise ValueError(f"evidence = {evidence!r}; allowed: {', '.join(EVIDENCE)}")
    return EVIDENCE[evidence]


class Evidence(NamedTuple):
    """How far a shot can be trusted, as `PeriodicOrbit` tells it.

    `converged`: the state, one step of Newton's method beyond the shot's if it is
    evidenced; `change`: of the monodromy matrix at the tighter tolerance; `found`: whether
    there is an orbit, though it may have a reason.
    """

    residual: Float[Array, " n"]
    converged: Float[Array, " n"]
    condition: Float[Array, ""]
    state_error: Float[Array, ""]
    change: Float[Array, "n n"]
    monodromy_error: Float[Array, ""]
    quotient: Float[Array, ""]
    found: Bool[Array, ""]
    result: Int[Array, ""]


def evidence_of_shot(shot: Shot, units, evidenced) -> Evidence:
    """Return the evidence for a shot; NaN unless it is `evidenced`.

    `units`: what each component of its state is measured in. In numpy's arrays a shot may
    be those of many lanes, which are then the first axis of all that is given and found.
    """
    xp = library_of(shot, units, evidenced)
    found = shot.result == Reason.SUCCESS
    seen = shot.revolution
    identity = xp.eye(shot.state.shape[-1])
    residual = seen.state - shot.state
    left = linalg.solve_vector(identity - seen.monodromy, residual)
    converged = shot.state + xp.where(per_lane(evidenced, left), left, 0.0)
    condition = linalg.condition(seen.monodromy - identity)

    def unless_quick(value):
        return xp.where(per_lane(evidenced, value), value, xp.nan)

    moved = xp.abs(shot.correction) + xp.abs(left)
    moved = moved + state_rounding(seen.monodromy, units)
    state_error = unless_quick(xp.max(moved, axis=-1))
    change = unless_quick(seen.monodromy - shot.coarse_monodromy)
    monodromy_error = linalg.spectral_norm(change)
    inverse = linalg.inverse(seen.monodromy - identity)
    inverse_norm = xp.max(xp.sum(xp.abs(inverse), axis=-1), axis=-1)
    quotient = unless_quick(inverse_norm * shot.bend * xp.max(moved / units, axis=-1))

    # No step is short where M - I is singular, though the motion comes back.
    returns = xp.max(xp.abs(residual) / units, axis=-1) < _COMES_BACK
    found = found | (
        (shot.result == Reason.ITERATION_LIMIT) & returns & ~(condition < _SINGULAR)
    )
    singular = found & ~(condition < _SINGULAR)
    result = xp.where(singular, Reason.SINGULAR, shot.result)
    shorter = (result == Reason.SUCCESS) & seen.repeats
    result = xp.where(shorter, Reason.SHORTER_PERIOD, result)
    return Evidence(
        residual,
        converged,
        condition,
        state_error,
        change,
        monodromy_error,
        quotient,
        found,
        result,
    )


class Assessment(NamedTuple):
    """What the matrices of a shot say.

    `multipliers` and their error bar; `nearest`: how nearly a gap touched or parted;
    `determinant`: that of the monodromy matrix.
    """

    evidence: Evidence
    multipliers: Parts
    multiplier_error: Float[Array, ""]
    nearest: Float[Array, ""]
    determinant: Float[Array, ""]


def assess_shot(shot: Shot, units, tight, evidenced) -> Assessment:
    """Return what the matrices of a shot say, without derivatives.

    `tight`: the tolerance of its last revolution. See `evidence_of_shot`. Matrices of up
    to 8 rows go through one kernel, larger ones through those of `linalg`.
    """
    given = shot, units, tight, evidenced
    traced = library_of(given) is not HOST
    if traced:
        given = jax.tree.map(jax.lax.stop_gradient, given)
    if shot.state.shape[-1] > _AT_ONCE:
        return _assessed(*given)
    compiled = kernel_of(_assessed)
    if traced:
        return compiled(*given)
    if np.ndim(shot.state) > 1:
        return compiled.map(*given)
    one = compiled.map(*jax.tree.map(lambda leaf: np.asarray(leaf)[None], given))
    return jax.tree.map(lambda leaf: leaf[0], one)


def _assessed(shot: Shot, units, tight, evidenced) -> Assessment:
    evidence = evidence_of_shot(shot, units, evidenced)
    seen = shot.revolution
    system = linalg.eigensystem(seen.monodromy)
    error, nearest = _multiplier_bar(seen, evidence, tight, system)
    determinant = linalg.determinant(seen.monodromy)
    return Assessment(evidence, system.values, error, nearest, determinant)


def _multiplier_bar(seen: Revolution, evidence: Evidence, tight, system):
    """Return the error bar of the multipliers, and how nearly a gap touched or parted."""
    xp, watched = library_of(seen, tight), seen.watched
    # A step over the onset of a contact may err by much more than it is told to, and one
    # onset's error in M, which is of rank one, may be small by chance at one tolerance.
    touched = xp.sum(watched.duration, axis=-1) > 0
    noise = xp.where(touched, _AT_ONSETS * tight, 0.0)
    error = multiplier_error(seen.monodromy, evidence.change, noise, system)
    # Where it cannot be said which contacts there are, derivatives may jump.
    nearest = xp.min(watched.nearest, axis=-1, initial=xp.inf)
    return xp.where(nearest < evidence.state_error, xp.inf, error), nearest
