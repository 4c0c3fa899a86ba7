"""Newton's method with bounded steps for the defining equations of bifurcations.

The equations are a function of (scaled unknowns, arguments) that returns the residual
and a matrix, whose eigenvalues say what the point is.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from ... import linalg
from ...ensemble import Reason
from ...orbits.shooting.implicit import implicit_root

# Tolerance of the flow, which is differentiated twice: near the limit of float64.
RTOL = 1e-11
# Iterations and largest relative step: enough for a guess with an error of ten times the
# motion's size, and a few iterations of quadratic convergence.
_MOST_ITERATIONS, _LONGEST = 60, 0.2
_RUNNING = -1  # not a reason code: still iterating
# Converged below the first relative step if steps no longer decrease, or below the
# second.
_SMALL, _SMALLEST = 1e-9, 1e-13


class Root(NamedTuple):
    """State of the iteration: unknowns, last residual, length of the last step."""

    x: Float[Array, " unknowns"]
    left: Float[Array, " unknowns"]
    length: Float[Array, ""]
    iterations: Int[Array, ""]
    code: Int[Array, ""]

    def accuracy(self, size: int) -> dict[str, Array]:
        """Return these fields of a bifurcation; the first equations are the motion's."""
        left = jnp.abs(self.left)
        return {
            "residual": jnp.max(left[:size]),
            "test": jnp.max(left[size:]),
            "iterations": self.iterations,
            "result": self.code,
        }


def root_near(map_: Callable[[Array, Any], Array], start: Array, arguments: PyTree) -> Root:
    """Return the final state of Newton's method, with its reason code."""

    def both(x):
        left = map_(x, arguments)
        return left, left

    def step(last: Root) -> Root:
        x = last.x
        matrix, left = jax.jacfwd(both, has_aux=True)(x)
        change = -linalg.solve_vector(matrix, left)
        length = jnp.max(jnp.abs(change))
        # Converged to rounding if steps no longer decrease.
        done = (length < _SMALL) & ((length > last.length / 2) | (length < _SMALLEST))
        code = jnp.where(done, Reason.SUCCESS, _RUNNING)
        code = jnp.where(jnp.isfinite(length), code, Reason.DIVERGED)
        new = jnp.where(
            code == _RUNNING, x + change * jnp.minimum(1.0, _LONGEST / length), x
        )
        return Root(new, left, length, last.iterations + 1, code.astype(jnp.int32))

    def goes_on(last: Root):
        return (last.code == _RUNNING) & (last.iterations < _MOST_ITERATIONS)

    first = Root(
        start,
        jnp.full_like(start, jnp.nan),
        jnp.asarray(jnp.inf),
        jnp.asarray(0, jnp.int32),
        jnp.asarray(_RUNNING, jnp.int32),
    )
    last = jax.lax.while_loop(goes_on, step, first)
    code = jnp.where(last.code == _RUNNING, Reason.ITERATION_LIMIT, last.code)
    return last._replace(code=code)


def bifurcation_near(
    equations: Callable,
    start: Array,
    units: Array,
    frozen: PyTree,
    arguments: PyTree,
    genuine: Callable | None = None,
    found: Root | None = None,
) -> tuple[Root, Array]:
    """Return the `Root` near unscaled unknowns, and the unscaled solution.

    The solution is differentiable with respect to the `arguments`, which Newton's method
    takes `frozen`. `genuine(matrix)`: whether the point is what the equations are
    solved for; otherwise its code is `NO_BIFURCATION`. `found`: the root, if known.
    """

    def residual(x, arguments):
        return equations(x, arguments)[0]

    if found is None:
        found = root_near(residual, start / units, frozen)
    if genuine is not None:
        matrix = equations(found.x, frozen)[1]
        good = (found.code != Reason.SUCCESS) | genuine(matrix)
        code = jnp.where(good, found.code, Reason.NO_BIFURCATION)
        found = found._replace(code=code)
    return found, implicit_root(residual, found.x, arguments) * units
