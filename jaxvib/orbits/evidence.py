"""How far an orbit that Newton's method has found can be trusted."""

from typing import NamedTuple

from jaxtyping import Array, Bool, Float, Int

from .._arrays import frozen, library_of, per_lane
from ..ensemble import Reason
from .multipliers import multiplier_error, state_rounding
from .shooting import Shot

# How much tighter than the solver's tolerance an orbit is followed once more: by as much
# as makes the difference of both the error of the first alone, to one per cent and less.
EVIDENCE = {"quick": 1.0, "checked": 1e-2, "strict": 1e-4}
# What M is wrong by after a contact at least, in units of the tolerance: measured.
_AT_ONSETS = 30.0
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
    left = xp.linalg.solve(identity - seen.monodromy, residual[..., None])[..., 0]
    converged = shot.state + xp.where(per_lane(evidenced, left), left, 0.0)
    condition = xp.linalg.cond(seen.monodromy - identity)

    def unless_quick(value):
        return xp.where(per_lane(evidenced, value), value, xp.nan)

    moved = xp.abs(shot.correction) + xp.abs(left)
    moved = moved + state_rounding(seen.monodromy, units)
    state_error = unless_quick(xp.max(moved, axis=-1))
    change = unless_quick(seen.monodromy - shot.coarse_monodromy)
    monodromy_error = xp.linalg.norm(change, 2, axis=(-2, -1))
    inverse = xp.linalg.inv(seen.monodromy - identity)
    inverse_norm = xp.linalg.norm(inverse, xp.inf, axis=(-2, -1))
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


def multiplier_bar(monodromy, watched, evidence: Evidence, tight):
    """Return the error bar of the multipliers, and how nearly a gap touched or parted."""
    xp = library_of(monodromy, watched, tight)
    # A step over the onset of a contact may err by much more than it is told to, and one
    # onset's error in M, which is of rank one, may be small by chance at one tolerance.
    touched = xp.sum(watched.duration, axis=-1) > 0
    noise = xp.where(touched, _AT_ONSETS * tight, 0.0)
    error = multiplier_error(frozen(monodromy), evidence.change, noise)
    # Where it cannot be said which contacts there are, derivatives may jump.
    nearest = xp.min(watched.nearest, axis=-1, initial=xp.inf)
    return xp.where(nearest < evidence.state_error, xp.inf, error), nearest
