"""Shooting: the state that a whole number of periods maps onto itself, by Newton."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..dynamics.flow import solve_system
from ..ensemble import Reason

MOST_ITERATIONS = 25
_SMALLEST_DAMPING = 1 / 64


class Shot(NamedTuple):
    """Where Newton's iteration ended.

    `monodromy` is that of the last iterate but one, `step` the length of the last
    Newton step relative to the orbit's size, `bend` the largest change of the
    monodromy per length of a step (an estimate of its Lipschitz constant).
    """

    state: Float[Array, " n"]
    monodromy: Float[Array, "n n"]
    step: Float[Array, ""]
    bend: Float[Array, ""]
    iterations: Int[Array, ""]
    result: Int[Array, ""]


def scales(system, state) -> Float[Array, " n"]:
    """Return what each component of a state is measured in: the largest velocity.

    Displacements times the angular frequency of the load are velocities, so that one
    number measures both.
    """
    frequency = 2 * jnp.pi / system.period()
    half = state.shape[0] // 2
    weights = jnp.concatenate([jnp.full(half, frequency), jnp.ones(half)])
    size = jnp.max(jnp.abs(state) * weights)
    return jnp.maximum(size, jnp.finfo(state.dtype).tiny) / weights


def shoot(system: eqx.Module, guess, periods, rtol) -> Shot:
    r"""Solve $\varphi^{nT}(s) - s = 0$ for $s$ by damped Newton's method.

    $$(M - I)\,\delta s = s - \varphi^{nT}(s), \qquad
      M = \partial\varphi^{nT}/\partial s,$$

    M by `jax.jacfwd` of the flow. A step that does not make the residual smaller is
    halved. It has converged when a step, or the residual itself, is as small as the
    solver's tolerance lets it be.
    """

    def image(state, span):
        solution = solve_system(system, state, 0.0, span, rtol=rtol)
        return solution.state, solution

    def evaluate(state, span):
        monodromy, solution = jax.jacfwd(image, has_aux=True)(state, span)
        return solution.state - state, monodromy, solution.result

    def newton_step(residual, monodromy):
        return jnp.linalg.solve(jnp.eye(residual.shape[0]) - monodromy, residual)

    span = periods * system.period()
    start = jnp.asarray(guess, float)
    units = scales(system, start)

    def body(carry):
        best, least, monodromy, step, damping, bend, iterations, result = carry
        active = result < 0
        state = best + damping * step
        residual, matrix, failure = evaluate(state, jnp.where(active, span, 0.0))
        size = jnp.max(jnp.abs(residual) / units)
        size = jnp.where(failure == Reason.SUCCESS, size, jnp.inf)
        better = size < least
        new_step = newton_step(residual, matrix)
        travelled = jnp.max(jnp.abs(damping * step) / units)
        turned = jnp.max(jnp.abs(matrix - monodromy)) / travelled
        notable = (travelled > jnp.sqrt(rtol)) & (iterations > 0)
        bend = jnp.where(better & notable, jnp.maximum(bend, turned), bend)

        length = jnp.max(jnp.abs(new_step) / units)
        growth = jnp.maximum(1.0, jnp.max(jnp.abs(matrix)))
        done = better & ((length < 30 * rtol) | (size < 3 * rtol * growth))
        stuck = ~better & (damping / 2 < _SMALLEST_DAMPING)
        lost = better & ~jnp.isfinite(length)
        code = jnp.where(done, Reason.SUCCESS, result)
        code = jnp.where(stuck, Reason.DIVERGED, code)
        code = jnp.where(lost, Reason.SINGULAR, code)
        code = jnp.where((failure != 0) & (iterations == 0), failure, code)
        spent = (code < 0) & (iterations + 1 >= MOST_ITERATIONS)
        code = jnp.where(spent, Reason.ITERATION_LIMIT, code).astype(jnp.int32)

        def keep(new, old):
            return jnp.where(active, new, old)

        return (
            keep(jnp.where(better, state, best), best),
            keep(jnp.where(better, size, least), least),
            keep(jnp.where(better, matrix, monodromy), monodromy),
            keep(jnp.where(better, new_step, step), step),
            keep(jnp.where(better, 1.0, damping / 2), damping),
            keep(bend, bend),
            keep(iterations + 1, iterations),
            keep(code, result),
        )

    size = start.shape[0]
    first = (
        start,
        jnp.asarray(jnp.inf),
        jnp.full((size, size), jnp.nan),
        jnp.zeros(size),
        jnp.asarray(1.0),
        jnp.asarray(0.0),
        jnp.asarray(0, jnp.int32),
        jnp.asarray(-1, jnp.int32),
    )
    state, _, monodromy, step, _, bend, iterations, result = jax.lax.while_loop(
        lambda carry: carry[-1] < 0, body, first
    )
    final = jnp.where(result == Reason.SUCCESS, state + step, state)
    length = jnp.max(jnp.abs(step) / units)
    return Shot(final, monodromy, length, bend, iterations, result)
