r"""Newton correction of predicted branch points, in planes.

Of a kind of solution with the equations r(x) = 0, one fewer than its scaled unknowns, the
point in a plane is corrected:

$$r(x) = 0, \qquad n \cdot (x - \hat x) = 0.$$

With the branch's tangent as normal n this is a step of pseudo-arclength continuation,
whose matrix is regular at a fold. **Source:** Keller, in Rabinowitz (ed.), *Applications
of Bifurcation Theory* (1977) 359.
"""

import functools
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ... import linalg
from ...foundation.arrays import combine_arrays, is_concrete, to_jax
from ...foundation.types import Number
from ...orbits.shooting.implicit import implicit_root
from ...systems.base.system import System
from .point import at

# A prediction error of 3e-3 (`tracer.CORRECTION`) is below any tolerance after four
# quadratically convergent steps; the others are for worse predictions.
MOST_ITERATIONS = 8
# Largest first correction, relative to the size of the branch: longer ones lead to
# another part of the branch.
HOPELESS = 0.3
# Steps below this many tolerances may be due to the flow's error, which does not
# decrease.
NO_SHORTER = 30
# Newton's method has converged if a step is below this many tolerances.
STEP_IN_TOLERANCES = 30


class LaneData(NamedTuple):
    """The numbers of a branch's equations: system leaves, units, tolerances.

    `units`: scales of the unknowns. Newton's method has converged if its step is
    shorter than `close`, or below 30 `rtol` and no longer decreasing; the flow is
    integrated with the tolerance `tight`. Of orbits: the load `periods` of the motion;
    of cycles: the `speed` of the `TimeRescaledSystem`; of curves: the `setting` of
    `defining_equations`.
    """

    leaves: Any
    units: Any
    rtol: Any
    close: Any
    tight: Any = ()
    periods: Any = ()
    speed: Any = ()
    setting: Any = ()


class Corrected(NamedTuple):
    """A corrected point, with the branch's tangent, valid if `found`.

    `monodromy`: the matrix whose eigenvalues the test functions use; `miss`: the relative
    length of the first correction; `unresolved`: of the segments of a cycle, see
    `cycle_equations`, otherwise 0.
    """

    x: Float[Array, " unknowns"]
    tangent: Float[Array, " unknowns"]
    monodromy: Float[Array, "n n"]
    miss: Float[Array, ""]
    found: Bool[Array, ""]
    unresolved: Float[Array, ""]


def system_of(data: LaneData, static: System) -> System:
    """Return the system of a lane from the `leaves` of its data."""
    leaves = data.leaves
    return combine_arrays(to_jax(leaves) if is_concrete(leaves) else leaves, static)


def lane_corrector(equations: Callable) -> types.FunctionType:
    """Return the function that corrects a lane (data, predicted x, normal).

    `equations(data, predicted, x)` returns the residual, its Jacobian, and the other
    results of `Corrected` as a pair (monodromy, unresolved).
    """

    def correct(lane) -> Corrected:
        data, predicted, normal = lane
        map_ = functools.partial(equations, data, predicted)
        return in_plane(map_, data.rtol, data.close, predicted, normal)

    return correct


@functools.lru_cache(maxsize=96)
def system_corrector(
    equations: Callable, static: System, path: str
) -> Callable[[Any], Corrected]:
    """Return the function that corrects a lane (data, predicted x, normal).

    `equations(system, path, data, predicted, x)`: see `lane_corrector`.
    """

    def of_lane(data: LaneData, predicted, x):
        return equations(system_of(data, static), path, data, predicted, x)

    return lane_corrector(of_lane)


@functools.lru_cache(maxsize=96)
def system_evaluator(
    function: Callable, static: System, path: str
) -> Callable[[Any], tuple[Array, Any]]:
    """Return the function from a lane (data, x) to parameter and solution.

    That is `function(system, data, x)`, of the system with the point's parameter.
    """

    def evaluate(lane):
        data, x = lane
        value = x[-1] * data.units[-1]
        return value, function(at(system_of(data, static), path, value), data, x)

    return evaluate


def joined(blocks: Array, size: int) -> Array:
    """Return the Jacobian of the continuity residual with respect to all states."""
    number = len(blocks)
    own, following = np.eye(number, dtype=bool), np.roll(np.eye(number), 1, axis=1)
    matrix = jnp.where(own[:, None, :, None], blocks[:, :, None, :], 0.0)
    matrix = matrix - following[:, None, :, None] * np.eye(size)[None, :, None, :]
    return matrix.reshape(number * size, number * size)


class _Iteration(NamedTuple):
    """State of the Newton iteration: see `Corrected`, and the last step's length.

    `others`: monodromy and unresolved.
    """

    x: Float[Array, " unknowns"]
    tangent: Float[Array, " unknowns"]
    others: Any
    miss: Float[Array, ""]
    length: Float[Array, ""]
    iterations: Int[Array, ""]
    going: Bool[Array, ""]
    done: Bool[Array, ""]


def in_plane(
    map_: Callable, rtol: Number, close: Number, predicted: Array, normal: Array
) -> Corrected:
    """Return the root of `map_` in the plane through a prediction, by Newton's method.

    `map_(x)`: see `lane_corrector`. The iteration has converged if a step is shorter than
    `close`, or below 30 `rtol` and no longer decreasing.
    """
    along = jnp.zeros_like(predicted).at[-1].set(1.0)

    def step(last: _Iteration) -> _Iteration:
        x = last.x
        residual, matrix, others = map_(x)
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
        return _Iteration(x, tangent, others, miss, length, count, going, done)

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
    last = jax.lax.while_loop(goes_on, step, first)
    monodromy, unresolved = last.others
    return Corrected(last.x, last.tangent, monodromy, last.miss, last.done, unresolved)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def solved_near(
    equations: Callable, residual: Callable, static: System, leaves: Any, data, x: Array
) -> Array:
    """Return all scaled unknowns but the last of the point near others with the same last.

    They can be differentiated by the leaves of the system and the last unknown, by the
    implicit function theorem; NaN if no point is found. `equations`: see
    `system_corrector`; `residual(system, data, anchor, x)`: that of theirs.
    """
    fixed, near = jax.lax.stop_gradient((data._replace(leaves=leaves), x))
    normal = jnp.zeros_like(x).at[-1].set(1.0)
    correct = system_corrector(equations, static, "")
    found = jax.lax.stop_gradient(correct((fixed, near, normal)))

    def left(root, arguments):
        leaves, data, level, anchor = arguments
        system, x = combine_arrays(leaves, static), jnp.append(root, level)
        return residual(system, data, anchor, x)

    root = implicit_root(left, found.x[:-1], (leaves, fixed, x[-1], found.x))
    return jnp.where(found.found, root, jnp.nan)
