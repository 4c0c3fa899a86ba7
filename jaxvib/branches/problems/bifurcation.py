"""Bifurcation points of periodic orbits: fold, flip, torus and grazing.

A point solves the equations of `equations.defining_equations`, and is differentiable by
the implicit function theorem.
"""

from collections.abc import Sequence
from typing import Any, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Real

from ...dynamics.engines.choice import engine_of
from ...dynamics.flow import checked_state, flow
from ...ensemble import raise_if_empty, reason
from ...foundation.arrays import combine_arrays, partition_arrays
from ...foundation.suggestions import did_you_mean
from ...orbits.equilibrium import Equilibrium
from ...orbits.limit_cycle import LimitCycle
from ...orbits.periodic_orbit import PeriodicOrbit, check_periods
from ...systems.base.system import System
from ...systems.fields import AutonomousSystem, is_autonomous
from ...systems.parameters import parameter_at
from ...systems.periods import check_period
from ...systems.unforced import is_unforced
from ..equations.defining_equations import (
    KINDS,
    SLOW,
    beginnings,
    equations,
    is_torus,
    onsets_of,
    section,
    state_at_zero,
    touching,
    with_values,
)
from ..equations.root import RTOL, bifurcation_near, root_near
from ..equations.touches import hard_contacts
from ..results.bifurcation_results import BifurcationPoint, FieldBifurcation
from .field_points import field_bifurcation_point

# A parameter value below this, absolute or in its effect, cannot be its own scale.
_ZERO = 1e-10
# Of a touch's distance from grazing, in steps.
_SHARES = np.array([0.75, 0.5, 0.25, 0.0])
# The longest of these steps is shorter than this many of the shortest one, and a length.
_UNEVEN, _SHORT = 4, 1e-2


@overload
def bifurcation_point(
    system: AutonomousSystem, guess: Any, kind: str, path: str, *_: Any, **__: Any
) -> FieldBifurcation: ...


@overload
def bifurcation_point(
    system: System, guess: Any, kind: str, path: str, *_: Any, **__: Any
) -> BifurcationPoint: ...


def bifurcation_point(
    system: System,
    guess: PeriodicOrbit
    | BifurcationPoint
    | Equilibrium
    | LimitCycle
    | FieldBifurcation
    | Real[ArrayLike, " n"]
    | Sequence[Any],
    kind: str,
    path: str,
    periods: int = 1,
    *,
    throw: bool = True,
) -> BifurcationPoint | FieldBifurcation:
    """Return the bifurcation of a kind near an orbit, in the parameter at `path`.

    Newton's method in state and parameter (and time, for grazing). The result is
    differentiable by the implicit function theorem; `guess` is only an initial value.
    Works under `jit`, `vmap`, `jacfwd` and `grad`.

    **Arguments:** `guess`: a periodic orbit of `system` near the bifurcation, or its
    state at t = 0, or one of a branch's `bifurcations`, whose parameter is then the
    initial value. A grazing is that of the contact nearest to it in the guess: where a
    contact is touched for an instant, or opens for one, as where two contacts merge.
    `periods`: load periods per period of the orbit, if the guess is a state. For an
    autonomous system: an `Equilibrium` or a state ("fold", "hopf"), a `LimitCycle`
    ("fold", "period_doubling", "neimark_sacker"), or one of their branches'
    `bifurcations`; the result is a `FieldBifurcation`, with period and frequency. Cycles
    are solved for by multiple shooting, in the segments of the branch's bifurcation; in 6
    to 96, as needed, for a `LimitCycle`, and in 6 under
    transformations. For canards the guess must be one of a branch's `bifurcations`.

    **Raises:** `ValueError` for an unknown kind or path, a system that cannot have such
    a point, or an orbit that was not found; `RuntimeError` with the reason if a single
    call finds no point, unless `throw=False`: then, and under transformations, the
    reason is in `.result`. It is `NO_BIFURCATION` for real multipliers with product 1
    (neutral saddles) in place of a torus bifurcation, and where the contact is not touched
    as in the guess.
    """
    at_rest = isinstance(guess, Equilibrium) or getattr(guess, "of", "") == "equilibrium"
    if is_autonomous(system) or (at_rest and is_unforced(system)):
        return field_bifurcation_point(system, guess, kind, path, throw)
    if isinstance(guess, Equilibrium | LimitCycle | FieldBifurcation):
        raise ValueError(
            f"guess = {type(guess).__name__}; allowed: a periodic orbit, its state, or a "
            "`BifurcationPoint`; `continue_orbit` locates the bifurcations of limit cycles "
            "of bodies"
        )
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS)
        raise ValueError(f"kind = {kind!r}; allowed: {', '.join(KINDS)}{hint}")
    check_period(system)
    check_periods(periods)
    declared = parameter_at(system, path)
    if kind == "grazing" and not system.has_contacts:
        raise ValueError("kind = 'grazing'; the system has no contacts")
    value = jnp.asarray(declared.value, float)
    if isinstance(guess, PeriodicOrbit | BifurcationPoint):
        lost = not isinstance(guess.result, jax.core.Tracer) and int(guess.result)
        if lost:
            raise ValueError(f"orbit was not found: {reason(guess.result)}")
        state, count = jnp.asarray(guess.state), jnp.asarray(guess.periods)
        value = value if isinstance(guess, PeriodicOrbit) else jnp.asarray(guess.parameter)
    else:
        state, count = checked_state(system, guess), jnp.asarray(periods, jnp.int32)
    if kind == "neimark_sacker" and state.shape[0] < 2:
        raise ValueError("kind = 'neimark_sacker'; the system has fewer than two states")
    sized = not isinstance(value, jax.core.Tracer) and abs(float(value)) > _ZERO
    start = jax.lax.stop_gradient((state, count, value))
    found = _found(system, *start, kind, path, sized)
    raise_if_empty(f"bifurcation_point: {kind}", throw, found.result)
    return found


@eqx.filter_jit
def _found(system, state, count, value, kind: str, path: str, sized: bool):
    """Return the point; `sized`: whether the parameter's value serves as its scale."""
    leaves, static = partition_arrays(system)
    frozen = jax.tree.map(jax.lax.stop_gradient, leaves)
    here = with_values(combine_arrays(frozen, static), (path,), value[None])
    cut = section(here, state, count.astype(float), kind)
    range_ = jnp.abs(value) if sized else _range(here, path, value, cut)
    start, setting = beginnings(cut, value[None], range_[None])
    both = equations(static, kind, (path,))
    genuine, root = (is_torus if kind == "neimark_sacker" else None), None
    if kind == "grazing":
        there = both, here, path, state, cut.touches
        root, stop, grazes = _nearest_grazing(*there, start, setting)
        setting, genuine = setting._replace(stop=stop), lambda _: grazes
    found, solved = bifurcation_near(
        both, start, setting.units, (frozen, setting), (leaves, setting), genuine, root
    )
    size = state.shape[0]
    there = with_values(combine_arrays(leaves, static), (path,), solved[-1:])
    part = jnp.mod(solved[size], 1.0) if kind == "grazing" else jnp.inf
    return BifurcationPoint(
        kind=kind,
        path=path,
        parameter=solved[-1],
        state=state_at_zero(kind, there, setting, solved),
        periods=count,
        time=part * setting.periods * there.period(),
        **found.accuracy(size),
    )


def _nearest_grazing(both, here, path, state, touches, starts, setting):
    """Return the grazing nearest to a motion, its stop, and whether it is one.

    From each of the motion's touches its speed, or its distance, is decreased to 0 in
    steps. All are motions with the same other onsets, or another grazing lies between.
    """
    leaves, _ = partition_arrays(here)
    size = state.shape[0]
    units, hard = setting.units, hard_contacts(here.equation())
    onsets = onsets_of(here, state, setting.periods, units[:size])

    def one(lane):
        start, touch = lane
        mine = setting._replace(stop=touch.stop)
        arguments, x = (leaves, mine), start / units
        # The force of an elastic contact is left out, so that it is solved at once.
        stops = jnp.asarray(hard, float)[touch.stop.contact]
        apart = stops * both(x, arguments)[0][size:]
        own = jnp.arange(len(onsets)) == touch.stop.contact
        unsure = own & (touch.stop.opens | (touch.apart < SLOW * units[size - 1]))
        others = onsets - (own & touch.closed).astype(onsets.dtype)

        def nearer(last, share):
            x, fine = last
            found = root_near(
                lambda *x: both(*x)[0].at[size:].add(-share * apart), x, arguments
            )
            there = with_values(here, (path,), found.x[-1:] * units[-1])
            touches, seen = touching(there, mine, found.x * units)
            fine &= touches & jnp.all(unsure | (seen == others))
            return (found.x, fine & (found.code == 0)), found

        last, roots = jax.lax.scan(nearer, (x, jnp.asarray(True)), _SHARES)
        # Along one branch the steps are of a size, of which the first is from the motion.
        lengths = jnp.max(jnp.abs(jnp.diff(roots.x, axis=0, prepend=x[None])), axis=1)
        steady = jnp.max(lengths) < _UNEVEN * jnp.min(lengths) + _SHORT
        fine = last[1] & (steady | (stops == 0))
        found = jax.tree.map(lambda leaf: leaf[-1], roots)
        found = found._replace(iterations=roots.iterations.sum())
        return found, fine, jnp.where(fine, jnp.max(jnp.abs(last[0] - x)), jnp.inf)

    found, grazes, away = jax.lax.map(one, (starts, touches))
    # With none, the one of the nearest touch tells the reason.
    best = jnp.argmin(away)
    return jax.tree.map(lambda leaf: leaf[best], (found, touches.stop, grazes))


def _range(system, path, value, cut):
    """Return the scale of a parameter: its value, or 1 / (effect on scaled state)."""

    def moved(value):
        there = with_values(system, (path,), value[None])
        span = cut.periods * there.period()
        first = cut.begin * span
        engine = engine_of(there, "auto")
        end = flow(there, cut.state, first, first + span, rtol=RTOL, engine=engine)
        return end / cut.size

    _, column = jax.jvp(moved, (value,), (jnp.ones_like(value),))
    effect = jnp.max(jnp.abs(column))
    known = jnp.isfinite(effect) & (effect > 0)
    other = jnp.where(known, 1 / jnp.where(known, effect, 1.0), 1.0)
    small = jnp.abs(value) < _ZERO * other
    return jnp.where(small, other, jnp.abs(value))
