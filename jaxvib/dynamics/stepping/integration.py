"""Initial value problems solved with diffrax.

Importing it takes a third as long as all other imports; it is imported on demand.
"""

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ...ensemble import Reason
from ...foundation.arrays import combine_arrays, partition_arrays
from ...foundation.types import Number
from ...kernels.lower.tangents import is_lowering
from ..motion import Motion
from .scales import base, initial_scales
from .solve import Problem, Tolerance
from .stepper import Controller, Stepper


def repeats(solver: Any) -> bool:
    """Return whether a solver is an explicit pair with the FSAL property."""
    explicit = isinstance(solver, diffrax.AbstractERK)
    return explicit and getattr(solver.tableau, "fsal", False)


def steps(
    problem: Problem,
    state: PyTree,
    prepared: PyTree,
    t0: Number,
    t1: Number,
    tolerance: Tolerance,
    observer: tuple[Any, Callable] | None = None,
) -> Motion:
    """Integrate a problem; return the final state and the observables."""
    observed = problem.has_sensitivities or observer is not None
    saveat = diffrax.SaveAt(t1=True, solver_state=observed)
    run = problem, state, prepared, t0, t1, tolerance, saveat, observer
    solution, finite = _integrate(*run)
    final, result = _final_state(solution, finite)
    observables = solution.solver_state.observables if observed else None
    return Motion(final, result, solution.stats["num_steps"], observables)


def _final_state(solution, finite) -> tuple[Any, Any]:
    """Return the final state of a diffrax solution and its reason code.

    Where the field jumps, only the sensitivities are invalid (NaN).
    """
    result = _reason_of(solution.result, finite)
    good = known = result == Reason.SUCCESS
    if solution.solver_state is not None:
        jumped = solution.solver_state.jumped
        good = good & ~jumped
        result = jnp.where(known & jumped, Reason.FIELD_JUMPS, result).astype(jnp.int32)
    first, *others = jax.tree.leaves(solution.ys)
    leaves = [jnp.where(known, first[-1], jnp.nan)]
    leaves += [jnp.where(good, leaf[-1], jnp.nan) for leaf in others]
    return jax.tree.unflatten(jax.tree.structure(solution.ys), leaves), result


def _integrate(problem, state, prepared, t0, t1, tolerance, saveat, observer=None):
    """Return diffrax's solution, and whether all inputs were finite.

    `observer`: a pair (initial observables, `update(observables, t0, t1, start, end)`
    over a step between two pairs (state, rate)); the final observables are in the
    solution's `solver_state` if `saveat` asks for it.
    """
    arrays, static = partition_arrays(prepared)
    leaves = jax.tree.leaves((state, arrays, t0, t1))
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in leaves]))
    # A lane with invalid input takes no step, so that it delays no other.
    end = jnp.where(finite, t1, t0)

    def of_arrays(function):
        """Return a function of the prepared problem as one of its arrays."""
        return lambda *given: function(*given[:-1], combine_arrays(given[-1], static))

    # Traced once, though each stage of a step evaluates it.
    field = jax.jit(of_arrays(problem.field), inline=True)
    scales = jax.lax.stop_gradient(problem.scales(t0, end, base(state), prepared))
    sizes, first = initial_scales(
        lambda time, state: field(time, state, arrays),
        scales,
        t0,
        end,
        state,
        tolerance.rtol,
    )

    def relative(error, first, last):
        allowed = scales.allowed(tolerance.rtol, sizes, first, last)
        return jax.tree.map(jnp.divide, error, allowed)

    def skips(length, start, stop, arrays):
        prepared = combine_arrays(arrays, static)
        slack = scales.slack(tolerance.rtol, base(start[0]), base(stop[0]))
        return problem.skips(length, slack, start, stop, prepared)

    def jumps(time, start, stop, arrays):
        prepared = combine_arrays(arrays, static)
        return problem.jumps(scales, time, base(start), base(stop), prepared)

    least = 1e-13 * jnp.abs(end - t0)
    longest = tolerance.longest
    if longest is None:
        longest = problem.longest(t0, end, base(state), prepared)
    controller = diffrax.PIDController(
        0.0, 1.0, norm=problem.norm, dtmin=least, dtmax=longest
    )
    jumped = jumps if problem.has_sensitivities else None

    breaks = problem.next_breakpoint(t0, prepared) is not None
    following = of_arrays(problem.next_breakpoint) if breaks else None
    crossed = of_arrays(problem.crossed) if breaks else None
    skip = skips if problem.skips else None
    method = problem.method or diffrax.Dopri8()
    # Its `filter_jit` caches traces for the lifetime of the process, under functions
    # that are new in each call.
    integrate = diffrax.diffeqsolve
    if is_lowering():
        integrate = getattr(integrate, "__wrapped__", integrate)
    solution = integrate(
        diffrax.ODETerm(field),
        Stepper(method, relative, skip, observer, least, jumped, crossed),
        t0,
        end,
        dt0=None,
        y0=state,
        args=arrays,
        saveat=saveat,
        stepsize_controller=Controller(
            inner=controller, first=first, next_breakpoint=following
        ),
        adjoint=diffrax.ForwardMode(),
        max_steps=tolerance.max_steps,
        throw=False,
    )
    return solution, finite


def _reason_of(outcome: diffrax.RESULTS, finite) -> Any:
    """Convert a diffrax result to a reason code; `finite`: whether the input was."""
    code = jnp.where(
        outcome == diffrax.RESULTS.successful, Reason.SUCCESS, Reason.STEP_UNDERFLOW
    )
    code = jnp.where(outcome == diffrax.RESULTS.max_steps_reached, Reason.STEP_LIMIT, code)
    return jnp.where(finite, code, Reason.BAD_PARAMETER).astype(jnp.int32)
