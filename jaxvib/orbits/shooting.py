"""Shooting: the state that a whole number of periods maps onto itself, by Newton."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..dynamics.flow import observe
from ..dynamics.looks import FINE, LOOKS_AT_AN_ORBIT, longest_step
from ..dynamics.observables import Watched, start_watching
from ..dynamics.scales import field_scales
from ..ensemble import Reason
from ..systems.periods import period_of

MOST_ITERATIONS = 16
_SMALLEST_DAMPING = 1 / 64
# Revolutions at the tighter tolerance, each a step of Newton's method from the last one.
_LOOKS, _MOST_LOOKS = 2, 4
# A motion has come back if it is nearer to its start than this part of its size, and
# Newton's next step is to be as short as this.
_RETURNS, _CLOSE = 1e-3, 1e-4
# Two states nearer than this part of the motion's size are taken for the same.
SAME_STATE = 1e-5


class Revolution(NamedTuple):
    """What a whole number of periods does to a state.

    `repeats`: whether the state had come back to where it started after a number of
    periods that divides the whole.
    """

    state: Float[Array, " n"]
    monodromy: Float[Array, "n n"]
    watched: Watched
    repeats: Bool[Array, ""]
    result: Int[Array, ""]


class Shot(NamedTuple):
    """Where Newton's iteration ended: `state`, and what n periods make of it.

    `revolution` is integrated at the tighter tolerance; `coarse_monodromy` is that of
    the iteration, and `correction` how far the orbit of the tighter tolerance is from
    that one's; `bend` the largest change of the monodromy per length of a step (an
    estimate of its Lipschitz constant, in units of the orbit's size).
    """

    state: Float[Array, " n"]
    revolution: Revolution
    coarse_monodromy: Float[Array, "n n"]
    correction: Float[Array, " n"]
    bend: Float[Array, ""]
    iterations: Int[Array, ""]
    result: Int[Array, ""]


def scales(system, state) -> Float[Array, " n"]:
    """Return what each component of a state is measured in.

    That is for the system to say. Components of a field of which it says nothing have the
    sizes that they give each other in a period of the load, see `dynamics.scales`.
    """
    own = system.scales(state)
    if own is not None:
        return own
    period = system.period()
    field = system.equation().vector_field
    known = field_scales(field, jnp.zeros(()), state, period)
    size = 2 * jnp.pi * jnp.maximum(known.least, known.sizes(state))
    return jnp.where(size > 0, size, 1.0)


def ratios(system, state) -> Float[Array, " n"]:
    """Return `scales` of a motion of any size, which may be at rest in a state."""
    return scales(system, state if is_field(system) else jnp.ones_like(state))


def is_field(system) -> bool:
    """Return whether a state is anything else than displacements and velocities."""
    return not system.mechanical


def no_period(system, period, code) -> Int[Array, ""]:
    """Return a reason code, its own of a sound system that has no `period`."""
    sound = jnp.asarray(True)
    for leaf in jax.tree.leaves(system):
        if eqx.is_inexact_array(leaf):
            sound = sound & jnp.all(jnp.isfinite(leaf))
    lacking = jnp.isnan(period) & sound & (code == Reason.BAD_PARAMETER)
    return jnp.where(lacking, Reason.NO_COMMON_PERIOD, code).astype(jnp.int32)


def revolve(
    system, state, periods, *, rtol, grazing, active=True, engine="auto", longest=None
) -> Revolution:
    """Follow a motion, its columns and its contacts over a whole number of periods.

    `longest`: the longest step, s, unless each period is to look for it.
    """
    period = period_of(system)
    units = scales(system, state)
    size = state.shape[0]

    def one_period(index, carry):
        now, monodromy, watched, repeats, result = carry
        go = active & (result == Reason.SUCCESS) & (index < periods)
        begin = jnp.where(jnp.isnan(period), 0.0, index.astype(float) * period)
        end = jnp.where(go, begin + period, begin)
        # Columns start from a unit matrix in each period, under an error control of
        # their own.
        seen = observe(
            system,
            now,
            begin,
            end,
            rtol=rtol,
            grazing=grazing,
            watched=watched,
            engine=engine,
            longest=longest,
        )
        divides = (index + 1 < periods) & (periods % (index + 1) == 0)
        near = jnp.max(jnp.abs(seen.state - state) / units) < SAME_STATE
        new = (
            seen.state,
            seen.monodromy @ monodromy,
            seen.watched,
            repeats | (divides & near),
            seen.result,
        )
        return jax.tree.map(lambda n, o: jnp.where(go, n, o), new, carry)

    first = (
        state,
        jnp.eye(size),
        start_watching(jnp.zeros(()), state, system.equation()),
        jnp.asarray(False),
        jnp.asarray(Reason.SUCCESS, jnp.int32),
    )
    last = Revolution(*jax.lax.fori_loop(0, periods, one_period, first))
    return last._replace(result=no_period(system, period, last.result))


def _longest_steps(system, state):
    """Return the longest step of the iteration and that of the last look, None for any.

    The last look takes other steps, which do not jump over what the first ones did.
    """
    equation, period = system.equation(), system.period()
    field = equation.vector_field
    longest = longest_step(equation, field, 0.0, period, state, LOOKS_AT_AN_ORBIT)
    return None if longest is None else (longest, jnp.minimum(longest, FINE * period))


def shoot(system: eqx.Module, guess, periods, rtol, tight, grazing, engine="auto") -> Shot:
    r"""Solve $\varphi^{nT}(s) - s = 0$ for $s$ by damped Newton's method.

    $$(I - M)\,\delta s = \varphi^{nT}(s) - s, \qquad
      M = \partial\varphi^{nT}/\partial s.$$

    A step that does not make the residual smaller is halved. The iteration at
    tolerance `rtol` has converged when a step, or the residual itself, is as small as
    the tolerance lets it be. It then goes on at `tight`, for two steps or more, so that M
    is taken at the orbit of that tolerance; it has failed where the motion does not come
    back, or the steps do not shrink. The `grazing` depth is relative to the largest
    displacement.
    """
    start = jnp.asarray(guess, float)
    units = scales(system, start)
    reaches = _longest_steps(system, start)
    size = start.shape[0]
    identity = jnp.eye(size)

    def body(carry):
        best, least, monodromy, step, damping, bend, correction, *rest = carry
        iterations, looks, units, result, _ = rest
        active, looking = result < 0, looks > 0
        state = best + jnp.where(looking, 1.0, damping) * step
        seen = revolve(
            system,
            state,
            periods,
            rtol=jnp.where(looking, tight, rtol),
            grazing=grazing * units[0],
            active=active,
            engine=engine,
            longest=None if reaches is None else jnp.where(looking, reaches[1], reaches[0]),
        )
        # A guess may be at rest, or nearly, where the motion is not.
        image = jnp.where(jnp.isfinite(seen.state), seen.state, state)
        own = jnp.maximum(scales(system, state), scales(system, image))
        units = jnp.where(iterations == 0, jnp.maximum(units, own), units)
        residual = seen.state - state
        length = jnp.max(jnp.abs(residual) / units)
        failed = seen.result != Reason.SUCCESS
        length = jnp.where(failed, jnp.inf, length)
        better = length < least
        new_step = jnp.linalg.solve(identity - seen.monodromy, residual)
        travelled = jnp.max(jnp.abs(damping * step) / units)
        turned = jnp.max(jnp.abs(seen.monodromy - monodromy)) / travelled
        notable = better & (travelled > jnp.sqrt(rtol)) & (iterations > 0) & ~looking
        bend = jnp.where(notable, jnp.maximum(bend, turned), bend)

        # In what this state is measured in: the guess may have been far larger.
        stride, miss = (jnp.max(jnp.abs(x) / own) for x in (new_step, residual))
        growth = jnp.max(jnp.abs(seen.monodromy) * own[None] / own[:, None])
        growth = jnp.maximum(1.0, growth)
        # Where neighbours part a million times as far, short steps alone say nothing.
        returns = miss < _RETURNS
        done = better & returns & ((stride < 30 * rtol) | (miss < 3 * rtol * growth))
        code = jnp.where(~better & (damping / 2 < _SMALLEST_DAMPING), Reason.DIVERGED, -1)
        code = jnp.where(better & ~jnp.isfinite(stride), Reason.SINGULAR, code)
        code = jnp.where(failed & (iterations == 0), seen.result, code)
        spent = (code < 0) & ~done & (iterations + 1 >= MOST_ITERATIONS)
        code = jnp.where(spent, Reason.ITERATION_LIMIT, code)
        shrinks = (length < least / 2) | (miss < 30 * tight * growth)
        settles = returns & shrinks & (stride < _CLOSE)
        looked = settles & (looks >= jnp.where(tight < rtol, _LOOKS, 1))
        last = jnp.where(looks < _MOST_LOOKS, -1, Reason.ITERATION_LIMIT)
        last = jnp.where(looked, Reason.SUCCESS, last)
        last = jnp.where(failed, seen.result, last)
        code = jnp.where(looking, last, code).astype(jnp.int32)

        moves = better | looking
        new = (
            jnp.where(moves, state, best),
            # The residuals of another tolerance are compared among themselves.
            jnp.where(looking | ~done, jnp.where(moves, length, least), jnp.inf),
            jnp.where(better & ~looking, seen.monodromy, monodromy),
            jnp.where(moves, new_step, step),
            jnp.where(better, 1.0, damping / 2),
            bend,
            jnp.where(looks == 1, new_step, correction),
            iterations + 1,
            jnp.where(looking | done, looks + 1, 0),
            jnp.where(done & ~looking, own, units),
            code,
            seen,
        )
        return jax.tree.map(lambda n, o: jnp.where(active, n, o), new, carry)

    blank = jax.eval_shape(
        lambda s: revolve(system, s, periods, rtol=rtol, grazing=grazing), start
    )
    first = (
        start,
        jnp.asarray(jnp.inf),
        jnp.full((size, size), jnp.nan),
        jnp.zeros(size),
        jnp.asarray(1.0),
        jnp.asarray(0.0),
        jnp.zeros(size),
        jnp.asarray(0, jnp.int32),
        jnp.asarray(0, jnp.int32),
        units,
        jnp.asarray(-1, jnp.int32),
        jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), blank),
    )
    last = jax.lax.while_loop(lambda carry: carry[-2] < 0, body, first)
    state, _, monodromy, _, _, bend, correction, iterations, *_, result, seen = last
    return Shot(state, seen, monodromy, correction, bend, iterations, result)
