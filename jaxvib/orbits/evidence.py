"""How far an orbit that Newton's method has found can be trusted."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..ensemble import Reason
from .multipliers import multiplier_error, state_rounding
from .shooting import Shot, scales

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


def evidence_of_shot(frozen, shot: Shot, evidenced) -> Evidence:
    """Return the evidence for a shot; NaN unless it is `evidenced`."""
    units = scales(frozen, shot.state)
    found = shot.result == Reason.SUCCESS
    seen = shot.revolution
    identity = jnp.eye(shot.state.shape[0])
    residual = seen.state - shot.state
    left = jnp.linalg.solve(identity - seen.monodromy, residual)
    converged = shot.state + jnp.where(evidenced, left, 0.0)
    condition = jnp.linalg.cond(seen.monodromy - identity)

    def unless_quick(value):
        return jnp.where(evidenced, value, jnp.nan)

    moved = jnp.abs(shot.correction) + jnp.abs(left)
    moved = moved + state_rounding(seen.monodromy, units)
    state_error = unless_quick(jnp.max(moved))
    change = unless_quick(seen.monodromy - shot.coarse_monodromy)
    monodromy_error = jnp.linalg.norm(change, 2)
    inverse_norm = jnp.linalg.norm(jnp.linalg.inv(seen.monodromy - identity), jnp.inf)
    quotient = unless_quick(inverse_norm * shot.bend * jnp.max(moved / units))

    # No step is short where M - I is singular, though the motion comes back.
    returns = jnp.max(jnp.abs(residual) / units) < _COMES_BACK
    found = found | (
        (shot.result == Reason.ITERATION_LIMIT) & returns & ~(condition < _SINGULAR)
    )
    singular = found & ~(condition < _SINGULAR)
    result = jnp.where(singular, Reason.SINGULAR, shot.result)
    shorter = (result == Reason.SUCCESS) & seen.repeats
    result = jnp.where(shorter, Reason.SHORTER_PERIOD, result)
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
    # A step over the onset of a contact may err by much more than it is told to, and one
    # onset's error in M, which is of rank one, may be small by chance at one tolerance.
    noise = jnp.where(jnp.sum(watched.duration) > 0, _AT_ONSETS * tight, 0.0)
    error = multiplier_error(jax.lax.stop_gradient(monodromy), evidence.change, noise)
    # Where it cannot be said which contacts there are, derivatives may jump.
    nearest = jnp.min(watched.nearest, initial=jnp.inf)
    return jnp.where(nearest < evidence.state_error, jnp.inf, error), nearest
