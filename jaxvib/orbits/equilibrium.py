"""Equilibria of autonomous systems, with stability and error estimates."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Complex, Float, Int, PyTree, Real

from .. import linalg
from ..drawing import Chart, Labels, spectrum_chart
from ..dynamics.flow import checked_state
from ..ensemble import Reason, raise_if_empty, reason
from ..ensemble.result import Result
from ..foundation.arrays import combine_arrays, partition_arrays
from ..foundation.environment import require_float64
from ..foundation.quantity import result_field
from ..foundation.types import AnyArray
from ..systems.base.system import System
from ..systems.fields import check_autonomous
from .shooting.implicit import differentiable_once, implicit_root
from .shooting.multipliers import VERDICTS, multiplier_error, verdict

# About ten halvings and doublings of the damping, several times.
_MOST_ITERATIONS = 100
# Relative length of a step from which the next may be the last; below the other:
# rounding.
_SMALL, _SMALLEST = 1e-9, 1e-15
_SMALLEST_DAMPING = 1 / 1024  # the iteration ends if shorter steps do not improve
# It has converged then if the step is below this part of the largest component.
_AT_ROUNDING = 1e-12
# Rounding error of a field, relative to its terms.
FIELD_ROUNDING = 16 * float(jnp.finfo(float).eps)
# A condition of the Jacobian beyond this leaves at most three digits of a double.
_SINGULAR = 1e13


class Equilibrium(Result):
    r"""A state $x$ with $f(x, p) = 0$, and the eigenvalues of $J = \partial f/\partial x$.

    `state` and `eigenvalues` are differentiable with respect to every parameter of the
    system by the implicit function theorem. It is stable if all real parts of
    eigenvalues are below minus `eigenvalue_error`, unstable if one is above
    `eigenvalue_error`.

    >>> pendulum = jv.autonomous_system(
    ...     lambda x, p: [x[1], -p["g"] * jnp.sin(x[0]) - 0.1 * x[1]],
    ...     parameters={"g": 9.81},
    ...     dimension=2,
    ... )
    >>> upright = jv.equilibrium(pendulum, [3.0, 0.0])
    >>> round(float(upright.state[0]), 5), int(upright.stable)
    (3.14159, 0)
    """

    state: Float[Array, " n"] = result_field("state", "", ("state",))
    eigenvalues: Complex[Array, " n"] = result_field(
        "eigenvalues, largest real part first", "1/s", ("eigenvalue",)
    )
    stable: Int[Array, ""] = result_field("1 stable, 0 unstable, -1 undecided")
    residual: Float[Array, ""] = result_field("largest component of the residual f")
    state_error: Float[Array, ""] = result_field("error bar of the state")
    eigenvalue_error: Float[Array, ""] = result_field(
        "bound on the error of each eigenvalue", "1/s"
    )
    condition: Float[Array, ""] = result_field("condition number of the Jacobian, balanced")
    iterations: Int[Array, ""] = result_field("Newton iterations")
    result: Int[Array, ""] = result_field("reason code")
    labels: Labels = eqx.field(static=True, default=Labels())

    @property
    def drawable(self) -> bool:
        """Whether this is a single equilibrium, and was found."""
        return np.ndim(self.result) == 0 and not self._empty()

    def charts(self) -> list[Chart]:
        """Return the chart of the eigenvalues, and those of all fields."""
        return [spectrum_chart(self.eigenvalues, "1/s"), *super().charts()]

    def _empty(self) -> bool:
        return not np.isfinite(self.state).all()

    def _lines(self) -> list[str]:
        state = self.labels.shown(np.asarray(self.state))
        rates = ", ".join(f"{value:.6g}" for value in np.asarray(self.eigenvalues))
        return [
            f"Equilibrium: {VERDICTS[int(self.stable)]}",
            f"  state         {state} (error {self.state_error:.1e})",
            f"  eigenvalues   {rates} 1/s (error {self.eigenvalue_error:.1e})",
            f"  result        {reason(self.result)}",
        ]


def equilibrium(
    system: System,
    guess: Real[ArrayLike, " n"] | Sequence[Any] | None = None,
    *,
    throw: bool = True,
) -> Equilibrium:
    r"""Return the equilibrium of an autonomous system near a guess.

    Newton iteration solves $f(x, p) = 0$, with steps that are halved until the next one
    would be shorter (the natural monotonicity test), down to the rounding of the field.
    The state's error bar is the effect of rounding; the eigenvalues' also includes the
    rounding of $J$. Works under `jit`, `vmap`, `jacfwd` and `grad`.

    **Arguments:** `guess`: a state; `None` starts from `system.rest()`.

    **Raises:** `ValueError` for a non-autonomous system, or a guess of the
    wrong shape; `RuntimeError` with the reason if a single call finds none, unless
    `throw=False`: then, in a batch and under transformations the reason is in `.result`
    and the numbers are NaN. With a singular $J$ (a fold or a branch point) the result
    has that reason and keeps its numbers.

    **Source:** Deuflhard, *Newton Methods for Nonlinear Problems* (2004), section 2.1.

    >>> pendulum = jv.autonomous_system(
    ...     lambda x, p: [x[1], -p["g"] * jnp.sin(x[0]) - 0.1 * x[1]],
    ...     parameters={"g": 9.81},
    ...     dimension=2,
    ... )
    >>> int(jv.equilibrium(pendulum, [0.2, 0.0]).stable)
    1
    """
    require_float64()
    check_autonomous(system, "equilibrium")
    system = differentiable_once(system, "an equilibrium")
    start = system.rest() if guess is None else checked_state(system, guess)
    found = equilibrium_near(system, start)
    raise_if_empty("equilibrium", throw, found.result, found.state)
    return found


def rates(static: System, state: Array, leaves: PyTree) -> Array:
    """Return f(x, p) from a system's leaves and its static part."""
    return combine_arrays(leaves, static).equation().vector_field(0.0, state)


@eqx.filter_jit
def equilibrium_near(system: System, guess: AnyArray) -> Equilibrium:
    """Return the equilibrium that Newton iteration finds from a guess."""
    leaves, static = partition_arrays(system)
    frozen = jax.tree.map(jax.lax.stop_gradient, leaves)

    def field(state):
        return rates(static, state, frozen)

    last = _solve(field, jax.lax.stop_gradient(jnp.asarray(guess, float)))
    found = last.code == Reason.SUCCESS
    state = jnp.where(found, last.state, jnp.nan)
    return equilibrium_at(static, leaves, state, last.units, last.code, last.iterations)


def equilibrium_at(
    static: System,
    leaves: PyTree,
    state: Array,
    units: Array,
    code: Array,
    iterations: Array,
) -> Equilibrium:
    """Return a converged state as an equilibrium with error bars and derivatives."""
    frozen = jax.tree.map(jax.lax.stop_gradient, leaves)

    def residual(state, leaves):
        return rates(static, state, leaves)

    def jacobian(state, leaves):
        return jax.jacfwd(residual)(state, leaves)

    left, matrix = residual(state, frozen), jacobian(state, frozen)
    finite = jnp.all(jnp.isfinite(matrix)) & jnp.all(jnp.isfinite(left))
    size = jnp.maximum(jnp.abs(state), FIELD_ROUNDING * units)
    rounded = FIELD_ROUNDING * (jnp.abs(matrix) @ size)
    safe = jnp.where(finite, matrix, jnp.eye(state.shape[0]))
    condition = _condition(safe, units)
    away = jnp.abs(linalg.inverse(safe)) @ (jnp.abs(left) + rounded)
    away = jnp.where(finite, away, jnp.nan)
    # For the largest error of the state.
    _, change = jax.jvp(lambda x: jacobian(x, frozen), (state,), (away,))
    bar = multiplier_error(safe, jnp.where(jnp.isfinite(change), change, jnp.inf))
    lost = finite & ~(condition < _SINGULAR)
    bar = jnp.where(lost, jnp.inf, jnp.where(finite, bar, jnp.nan))

    solved = implicit_root(residual, state, leaves)
    values = linalg.eigenvalues(jacobian(solved, leaves), "real part")
    largest = jax.lax.stop_gradient(values.real[0])
    code = jnp.where(~finite & (code == Reason.SUCCESS), Reason.DIVERGED, code)
    code = jnp.where(lost & (code == Reason.SUCCESS), Reason.SINGULAR, code)
    return Equilibrium(
        state=solved,
        eigenvalues=values,
        stable=verdict(largest, bar, limit=0.0),
        residual=jnp.max(jnp.abs(left)),
        state_error=jnp.max(away),
        eigenvalue_error=bar,
        condition=jnp.where(finite, condition, jnp.nan),
        iterations=iterations,
        result=code.astype(jnp.int32),
        labels=combine_arrays(leaves, static).labels,
    )


def _condition(matrix, units):
    """Return the condition of a Jacobian scaled by units and by its rows."""
    scaled = matrix * units[None]
    rows = jnp.max(jnp.abs(scaled), axis=1, keepdims=True)
    return linalg.condition(scaled / jnp.where(rows > 0, rows, 1.0))


class _Iteration(NamedTuple):
    """State of the Newton iteration: the best state, its full step, and its Jacobian.

    `damping` of the next step; `code`: a reason code, -1 while iterating.
    """

    state: Float[Array, " n"]
    step: Float[Array, " n"]
    matrix: Float[Array, "n n"]
    length: Float[Array, ""]
    damping: Float[Array, ""]
    units: Float[Array, " n"]
    begun: Bool[Array, ""]
    iterations: Int[Array, ""]
    code: Int[Array, ""]


def _solve(field, start) -> _Iteration:
    """Run the iteration from a start."""

    def step(last: _Iteration) -> _Iteration:
        trial = last.state + last.damping * last.step
        left, matrix = field(trial), jax.jacfwd(field)(trial)
        # A zero residual gives a zero step, however singular the matrix.
        own_step = linalg.solve_vector(matrix, -left)
        own_step = jnp.where(jnp.all(left == 0), 0.0, own_step)
        # The residual in terms of the last matrix: independent of the units of rates.
        newton_step = jnp.where(
            last.begun, linalg.solve_vector(last.matrix, -left), own_step
        )
        units = jnp.maximum(last.units, jnp.abs(trial))
        units = jnp.where(last.begun, units, jnp.maximum(units, jnp.abs(own_step)))
        shown = _length(newton_step, units)
        better = jnp.isfinite(shown) & (shown <= (1 - last.damping / 4) * last.length)
        noise = jnp.isfinite(shown) & (last.length < _SMALL)
        better = better | noise | ~last.begun
        length = _length(own_step, units)
        # The iteration is at rounding level when steps no longer become shorter.
        done = (
            better & (length < _SMALL) & ((length > last.length / 2) | (length < _SMALLEST))
        )
        code = jnp.where(done, Reason.SUCCESS, -1)
        # A step that cannot be shortened is the field's rounding if it is so small.
        stopped, largest = ~better & (last.damping < _SMALLEST_DAMPING), jnp.max(units)
        largest = jnp.where(jnp.all(start == 0), jnp.maximum(largest, 1.0), largest)
        settled = stopped & (jnp.max(jnp.abs(last.step)) < _AT_ROUNDING * largest)
        units = jnp.where(settled, largest, units)
        code = jnp.where(stopped, Reason.DIVERGED, code)
        code = jnp.where(settled, Reason.SUCCESS, code)
        finite = jnp.all(jnp.isfinite(matrix)) & jnp.all(jnp.isfinite(left))
        flat = better & finite & ~jnp.all(jnp.isfinite(own_step))
        code = jnp.where(flat, Reason.SINGULAR, code)
        code = jnp.where(~last.begun & ~finite, Reason.BAD_PARAMETER, code)
        damping = jnp.where(better, jnp.minimum(1.0, 2 * last.damping), last.damping / 2)
        return _Iteration(
            jnp.where(better, trial + jnp.where(done, own_step, 0.0), last.state),
            jnp.where(better, own_step, last.step),
            jnp.where(better, matrix, last.matrix),
            jnp.where(better, length, last.length),
            jnp.where(last.begun, damping, 1.0),
            units,
            jnp.asarray(True),
            last.iterations + 1,
            code.astype(jnp.int32),
        )

    def goes_on(last: _Iteration):
        return (last.code < 0) & (last.iterations < _MOST_ITERATIONS)

    size = start.shape[0]
    first = _Iteration(
        start,
        jnp.zeros(size),
        jnp.eye(size),
        jnp.asarray(jnp.inf),
        jnp.asarray(0.0),
        jnp.abs(start),
        jnp.asarray(False),
        jnp.asarray(0, jnp.int32),
        jnp.asarray(-1, jnp.int32),
    )
    last = jax.lax.while_loop(goes_on, step, first)
    code = jnp.where(last.code < 0, Reason.ITERATION_LIMIT, last.code)
    return last._replace(code=code.astype(jnp.int32), units=_nonzero_units(last.units))


def _nonzero_units(units):
    return jnp.where(units > 0, units, 1.0)


def _length(step, units):
    return jnp.max(jnp.abs(step) / _nonzero_units(units))
