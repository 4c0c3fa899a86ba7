r"""A predicted point of a branch of cycles, brought back onto it, and evaluated.

The unknowns $x = (s/u, T/\theta, p/\ell)$ are a state, the period and the parameter. The
motion must repeat, start across the flow from where it was predicted, and lie in a plane:

$$\varphi^T(s) - s = 0, \qquad f(\hat s) \cdot (s - \hat s) = 0, \qquad
  n \cdot (x - \hat x) = 0.$$
"""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from .. import linalg
from ..dynamics.flow import flow, observe
from ..orbits.cycle_shooting import CycleShootingResult, cycle_matrix
from ..orbits.limit_cycle import LimitCycle, cycle_from_shooting, transverse
from .corrector import Corrected, in_plane, system_of
from .point import at

# A component smaller than this part of its size on the branch has died out.
_NEGLIGIBLE = 1e-10


class CycleProblem(NamedTuple):
    """What a corrector knows of a branch, see `corrector.BranchProblem`."""

    leaves: Any
    units: Any
    rtol: Any
    tight: Any
    close: Any


def cycle_map(system, path: str, units, rtol, anchor, x):
    """Return what is left of a cycle's equations, its matrix, and that of multipliers.

    `anchor`: the unknowns of the point across whose flow the cycle starts. The matrix of
    the multipliers has them all but the trivial one, see `limit_cycle.transverse`.
    """
    size = x.size - 2

    def rate_at(x):
        unscaled = x * units
        there = at(system, path, unscaled[-1])
        return there.equation().vector_field(0.0, unscaled[:size]) / units[:size]

    def end(x):
        unscaled = x * units
        there = at(system, path, unscaled[-1])
        final = flow(there, unscaled[:size], 0.0, unscaled[size], rtol=rtol) / units[:size]
        return final, final

    matrix, image = jax.jacfwd(end, has_aux=True)(x)
    along = rate_at(anchor)
    along = along / jnp.maximum(linalg.norm(along), jnp.finfo(float).tiny)
    rest = jnp.append(image - x[:size], along @ (x - anchor)[:size])
    _, others = transverse(matrix[:, :size], rate_at(x), jnp.ones(size))
    matrix = matrix.at[:, :size].add(-jnp.eye(size))
    phase = jnp.append(along, jnp.zeros(2))
    return rest, jnp.vstack([matrix, phase[None]]), others


@functools.lru_cache(maxsize=32)
def cycle_corrector(static, path: str):
    """Return the function of a lane (problem, predicted x, normal) that corrects it."""

    def correct(lane) -> Corrected:
        problem, predicted, normal = lane
        system = system_of(problem, static)

        def map_(x):
            return cycle_map(system, path, problem.units, problem.tight, predicted, x)

        return in_plane(map_, problem.rtol, problem.close, predicted, normal)

    return correct


@functools.lru_cache(maxsize=32)
def cycle_evaluator(static, path: str):
    """Return the function of a lane (problem, x) that gives parameter and cycle."""

    def evaluate(lane):
        problem, x = lane
        unscaled = x * problem.units
        there = at(system_of(problem, static), path, unscaled[-1])
        sizes, tolerances = problem.units[:-2], (problem.rtol, problem.tight)
        cycle = evaluate_cycle(there, unscaled[:-2], unscaled[-2], sizes, *tolerances)
        return unscaled[-1], cycle

    return evaluate


def evaluate_cycle(system, state, period, sizes, rtol, tight) -> LimitCycle:
    """Return what a state does in a period, as a cycle; errors by two tolerances.

    `sizes`: what states of the branch are measured in.
    """
    field = system.equation().vector_field
    rate = field(0.0, state)

    def revolution(tolerance):
        seen = observe(system, state, 0.0, period, rtol=tolerance, grazing=0.0)
        reached = jnp.maximum(jnp.abs(seen.watched.highest), jnp.abs(seen.watched.lowest))
        units = jnp.maximum(reached, _NEGLIGIBLE * sizes)
        end_rate = field(0.0, seen.state)
        matrix = cycle_matrix(seen.monodromy, rate, end_rate, units, period)
        solver = linalg.inverse(matrix)
        step = solver @ jnp.append((state - seen.state) / units, 0.0)
        return seen, units, solver, step * jnp.append(units, period)

    # One after the other, so that the revolution is compiled once.
    tolerances = jnp.stack([jnp.asarray(rtol, float), jnp.asarray(tight, float)])
    every = jax.lax.map(revolution, tolerances)
    coarse, fine = (jax.tree.map(lambda leaf, i=i: leaf[i], every) for i in range(2))
    seen, units, solver, left = fine
    shooting = CycleShootingResult(
        state,
        period,
        rate,
        seen.state,
        seen.monodromy,
        seen.watched,
        coarse[0].monodromy,
        coarse[3],
        left,
        solver,
        units,
        seen.result,
    )
    found = cycle_from_shooting(system, shooting, tight, tight < rtol)
    # At a fold no step leads to another cycle.
    return eqx.tree_at(lambda cycle: (cycle.state, cycle.period), found, (state, period))
