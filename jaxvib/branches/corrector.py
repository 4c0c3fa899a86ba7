r"""Newton correction of predicted branch points.

The unknowns $x = (s_0/u, \dots, s_{m-1}/u, p/\ell)$ are the states at the starts of m
segments of the period and the parameter (u the scales of the components, \ell the range
of the parameter). The segments are continuous, and the point lies in a plane:

$$\varphi_i(s_i) - s_{i+1} = 0, \qquad n \cdot (x - \hat x) = 0.$$

With the branch's tangent as normal n this is a step of pseudo-arclength continuation,
whose matrix is regular at a fold. **Source:** Keller, in Rabinowitz (ed.), *Applications
of Bifurcation Theory* (1977) 359.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .. import linalg
from ..dynamics.flow import flow
from ..ensemble import TwoStageFunction
from ..foundation.arrays import combine_arrays, is_concrete, to_jax
from ..kernels import Kernel
from ..kernels.kernel_cache import cached_kernel
from ..orbits.newton import newton
from .point import at, orbit_at, shooting_at

# A prediction error of 3e-3 (`tracer.CORRECTION`) is below any tolerance after four
# quadratically convergent steps; the others are for worse predictions.
MOST_ITERATIONS = 8
# Largest first correction, relative to the size of the branch: longer ones lead to
# another part of the branch.
HOPELESS = 0.3
# Steps below this many tolerances may be due to the flow's error, which does not
# decrease.
NO_SHORTER = 30


class BranchProblem(NamedTuple):
    """The data of a corrector for a branch: system leaves, units, tolerances.

    Newton's method has converged if its step is shorter than `close`, or below 30
    `rtol` and no longer decreasing; the flow is integrated with the tolerance `tight`.
    """

    leaves: Any
    units: Any
    periods: Any
    rtol: Any
    tight: Any
    close: Any


class Corrected(NamedTuple):
    """A corrected point, with tangent and monodromy matrix, valid if `found`.

    `miss`: the relative length of the first correction.
    """

    x: Float[Array, " unknowns"]
    tangent: Float[Array, " unknowns"]
    monodromy: Float[Array, "n n"]
    miss: Float[Array, ""]
    found: Bool[Array, ""]


def system_of(problem, static):
    """Return the system of a lane from the `leaves` of its problem."""
    leaves = problem.leaves
    return combine_arrays(to_jax(leaves) if is_concrete(leaves) else leaves, static)


def state_size(system) -> int:
    """Return the number of components of a state."""
    return jax.eval_shape(system.rest).shape[0]


@functools.lru_cache(maxsize=32)
def corrector(static, path: str, unknowns: int) -> Kernel:
    """Return the kernel that corrects a lane (problem, predicted x, normal).

    The number of segments follows from that of the unknowns, which is part of the cache
    key, since maps cache compiled code by function.
    """

    def map_(problem: BranchProblem, x):
        """Return the continuity residual, its Jacobian and the monodromy matrix."""
        system = system_of(problem, static)
        size = state_size(system)
        states = (x[:-1] * problem.units[:-1]).reshape((unknowns - 1) // size, size)
        segments = states.shape[0]
        parts = jnp.arange(segments) / segments

        def end(state, value, part):
            there = at(system, path, value)
            span = problem.periods.astype(float) * there.period()
            begin = 0.0 if segments == 1 else part * span
            end = (part + 1 / segments) * span
            final = flow(there, state, begin, end, rtol=problem.tight)
            return final, final

        def sensitivities(state, part):
            value = x[-1] * problem.units[-1]
            return jax.jacfwd(end, (0, 1), has_aux=True)(state, value, part)

        if segments == 1:
            found = jax.tree.map(lambda leaf: leaf[None], sensitivities(states[0], 0.0))
        else:
            found = jax.vmap(sensitivities)(states, parts)
        (blocks, slopes), ends = found
        residual = (ends - jnp.roll(states, -1, 0)).reshape(-1)
        matrix = joined(blocks, size)
        whole = jnp.column_stack([matrix, slopes.reshape(-1)]) * problem.units[None]
        monodromy = jnp.eye(size)
        for block in blocks:
            monodromy = block @ monodromy
        scale = problem.units[:-1]
        return residual / scale, whole / scale[:, None], monodromy

    def correct(lane) -> Corrected:
        problem, predicted, normal = lane
        steps = problem.rtol, problem.close
        return in_plane(functools.partial(map_, problem), *steps, predicted, normal)

    return cached_kernel(correct, static, path, unknowns)


def joined(blocks, size: int):
    """Return the Jacobian of the continuity residual with respect to all states."""
    number = len(blocks)
    own, following = np.eye(number, dtype=bool), np.roll(np.eye(number), 1, axis=1)
    matrix = jnp.where(own[:, None, :, None], blocks[:, :, None, :], 0.0)
    matrix = matrix - following[:, None, :, None] * np.eye(size)[None, :, None, :]
    return matrix.reshape(number * size, number * size)


class _Iteration(NamedTuple):
    """State of the Newton iteration: see `Corrected`, and the last step's length."""

    x: Float[Array, " unknowns"]
    tangent: Float[Array, " unknowns"]
    monodromy: Float[Array, "n n"]
    miss: Float[Array, ""]
    length: Float[Array, ""]
    iterations: Int[Array, ""]
    going: Bool[Array, ""]
    done: Bool[Array, ""]


def in_plane(map_, rtol, close, predicted, normal) -> Corrected:
    """Return the root of `map_` in the plane through a prediction, by Newton's method.

    `map_(x)` returns the residual, its Jacobian and the monodromy matrix, or any pytree
    of arrays instead. The iteration has converged if a step is shorter than
    `close`, or below 30 `rtol` and no longer decreasing.
    """
    along = jnp.zeros_like(predicted).at[-1].set(1.0)

    def step(last: _Iteration) -> _Iteration:
        x = last.x
        residual, matrix, monodromy = map_(x)
        bordered = jnp.vstack([matrix, normal])
        wrong = jnp.append(residual, normal @ (x - predicted))
        solved = linalg.solve(bordered, jnp.column_stack([-wrong, along]))
        length = jnp.max(jnp.abs(solved[:, 0]))
        tangent = solved[:, 1] / linalg.norm(solved[:, 1])
        fine = jnp.isfinite(length) & (length < HOPELESS)
        least = (length < NO_SHORTER * rtol) & (length > last.length / 2)
        done = fine & (least | (length < close))
        x = jnp.where(fine, x + solved[:, 0], x)
        miss = jnp.where(last.iterations == 0, length, last.miss)
        going = fine & ~done
        count = last.iterations + 1
        return _Iteration(x, tangent, monodromy, miss, length, count, going, done)

    def goes_on(last: _Iteration):
        return last.going & (last.iterations < MOST_ITERATIONS)

    first = _Iteration(
        predicted,
        jnp.zeros_like(predicted),
        jax.tree.map(
            lambda leaf: jnp.full(leaf.shape, jnp.nan), jax.eval_shape(map_, predicted)[2]
        ),
        jnp.asarray(jnp.inf),
        jnp.asarray(jnp.inf),
        jnp.asarray(0),
        jnp.asarray(True),
        jnp.asarray(False),
    )
    last = newton(step, first, goes_on)
    return Corrected(last.x, last.tangent, last.monodromy, last.miss, last.done)


@functools.lru_cache(maxsize=32)
def spreader(static, path: str, segments: int) -> Kernel:
    """Return the kernel from a lane (problem, state, value) to its unknowns x."""

    def spread(lane):
        problem, state, value = lane
        system = at(system_of(problem, static), path, value)
        span = problem.periods.astype(float) * system.period()
        states = [state]
        for part in np.arange(1, segments) / segments:
            states.append(flow(system, state, 0.0, part * span, rtol=problem.tight))
        return jnp.append(jnp.concatenate(states), value) / problem.units

    return cached_kernel(spread, static, path, segments)


@functools.lru_cache(maxsize=32)
def evaluator(static, path: str) -> TwoStageFunction:
    """Return the function from a lane (problem, x) to parameter, state and orbit.

    Integration runs in a kernel, the rest in NumPy.
    """

    def seen(lane):
        problem, x = lane
        unscaled = x * problem.units
        system = system_of(problem, static)
        state = unscaled[: state_size(system)]
        there = at(system, path, unscaled[-1])
        settings = problem.periods, problem.rtol, problem.tight
        return unscaled[-1], state, shooting_at(there, state, *settings)

    def finish(lanes, found):
        problem, (value, state, shooting) = lanes[0], found
        one = jax.tree.map(lambda leaf: leaf[0], problem.leaves)
        settings = problem.periods, problem.rtol, problem.tight
        return (
            value,
            state,
            orbit_at(combine_arrays(one, static), state, shooting, *settings),
        )

    return TwoStageFunction(cached_kernel(seen, static, path), finish)
