"""Time-stepping engines, which integrate the rates of a state."""

import abc
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ...foundation.arrays import combine_arrays, is_concrete, partition_arrays
from ...foundation.environment import require_float64
from ...foundation.types import Number
from ...kernels import Kernel
from ...kernels.calls.kernel_cache import cached_kernel
from ...kernels.lower.tangents import map_rows
from ...systems.base.equation import Equation
from ...systems.base.system import System
from ..events import requires_events_reason
from ..integrated_system import IntegratedSystem
from ..motion import Motion, Want
from ..observables import init_observables, steps_over_contact, update_observables
from ..stepping.breakpoints import crossed
from ..stepping.scales import scales_of
from ..stepping.solve import Problem, Tolerance, augmented, solve
from ..stepping.step_limits import PROBES, has_jump, longest_step
from ..stepping.time_blocks import sampled
from .engine import Engine, forces_in, states_at


class SteppedEngine(Engine):
    """A time-stepping engine for any vector field.

    To add one, write `steps`; sensitivities, observables and derivatives follow. All
    integrations are kernels.
    """

    @abc.abstractmethod
    def steps(
        self,
        problem: Problem,
        state: PyTree,
        prepared: PyTree,
        t0: Number,
        t1: Number,
        tolerance: Tolerance,
        observer: tuple[Any, Callable] | None = None,
    ) -> Motion:
        """Integrate a problem from `t0` to `t1`.

        `observer`: a pair (initial observables, `update(observables, t0, t1, start,
        end)` over a step between two pairs (state, rate)).
        """

    def refusal(self, equation: Equation) -> str:
        """Return which part requires event-driven integration, "" if none does."""
        return requires_events_reason(equation)

    def problem(self, static: PyTree) -> Problem:
        """Return the initial value problem of systems with the same `static` part."""

        def scales(t0, t1, state, equation):
            return scales_of(equation, equation.vector_field, t0, t1, state)

        def longest(t0, t1, state, equation):
            return longest_step(equation, equation.vector_field, t0, t1, state, PROBES)

        def jumps(scales, time, first, last, equation):
            if not equation.may_jump():
                return None
            return has_jump(lambda y: equation.vector_field(time, y), scales, first, last)

        def behind(time, state, equation):
            return crossed(equation.vector_field, equation.next_breakpoint, time, state)

        return Problem(
            lambda parameters: combine_arrays(parameters, static).equation(),
            lambda time, state, equation: equation.vector_field(time, state),
            scales,
            self.steps,
            skips=steps_over_contact if static.has_contacts else None,
            longest=longest,
            jumps=jumps,
            next_breakpoint=lambda time, equation: equation.next_breakpoint(time),
            crossed=behind,
            key=(self, static),
        )

    def integrate(
        self, system: System, state: Array, t0: Number, t1: Number, want: Want
    ) -> Motion:
        """Return a motion, with what is wanted of it."""
        require_float64()
        if want.measure is not None:
            metered: Any = IntegratedSystem(system, want.measure)
            alone = dataclasses.replace(want, measure=None)
            found = self.integrate(metered, metered.begun(state), t0, t1, alone)
            return metered.parted(found)
        parameters, static = partition_arrays(system)
        problem, kernel = _problem(self, static), _motion_kernel(self, static)
        if want.times is not None:
            if not is_concrete(parameters, state, want.times, want.rtol):
                return _sampled(problem, state, parameters, want)
            return sampled(kernel, state, parameters, want)
        if want.periods is not None or want.along is not None:
            return self.in_parts(system, state, t0, t1, want)
        if want.differentiable:
            tolerance = Tolerance(want.rtol, want.longest)
            return solve(problem, state, parameters, t0, t1, tolerance)
        return kernel(state, parameters, t0, t1, want)


@functools.lru_cache(maxsize=128)
def _problem(engine: SteppedEngine, static) -> Problem:
    """Return the same problem for all systems of one structure: a key of kernels."""
    return engine.problem(static)


def _sampled(problem: Problem, state, parameters, want: Want) -> Motion:
    """Return states, differentiable, and contact forces at times."""
    prepared, times = problem.prepare(parameters), want.times
    # Computed once: the range between two times says nothing about the others.
    longest = problem.longest(times[0], times[-1], jax.lax.stop_gradient(state), prepared)
    run = functools.partial(solve, problem, tolerance=Tolerance(want.rtol, longest))
    states, result = states_at(
        times, state, lambda state, t0, t1: run(state, parameters, t0=t0, t1=t1)
    )
    forces = map_rows(forces_in(prepared), times, states)
    return Motion(states[-1], result, states=states, forces=forces)


@functools.lru_cache(maxsize=64)
def _motion_kernel(engine: SteppedEngine, static) -> Kernel:
    """Return the kernel from (state, parameters, t0, t1, want) to a `Motion`."""

    def motion(state, parameters, t0, t1, want):
        problem = _problem(engine, static)
        if want.times is not None:
            return _sampled(problem, state, parameters, want)
        start, state_of = state, lambda y: y
        if want.monodromy:
            problem = augmented(problem, moved=False)
            start, state_of = (state, jnp.eye(state.shape[0])), lambda y: y[0]
        prepared = problem.prepare(parameters)
        equation = prepared[0] if want.monodromy else prepared
        observer, observables = None, want.observables
        if want.grazing is not None:
            if observables is None:
                observables = init_observables(t0, state, equation)
            observer = observables, _updating(equation, want.grazing, state_of)
        tolerance = Tolerance(want.rtol, want.longest)
        found = engine.steps(problem, start, prepared, t0, t1, tolerance, observer)
        if want.monodromy:
            final, sensitivities = found.state
            found = found._replace(state=final, monodromy=sensitivities.T)
        if not want.forces:
            return found
        return found._replace(forces=forces_in(equation)(t1, found.state))

    return cached_kernel(motion, engine, static)


def _updating(equation, grazing, state_of):
    """Return the update of observables by a step; `state_of`: drops sensitivities."""

    def update(observables, t0, t1, first, last):
        first, last = (tuple(map(state_of, pair)) for pair in (first, last))
        return update_observables(observables, grazing, t0, t1, first, last, equation)

    return update


class DiffraxEngine(SteppedEngine):
    """An explicit pair of diffrax: the fastest to compile for few lanes.

    **Fields:** `solver`: Dormand and Prince's 8(7) pair, `diffrax.Dopri8()`, by
    default, or another pair with the FSAL property, such as `diffrax.Tsit5()`.
    **Raises:** `ValueError` for a solver without that property.

    **Source:** Prince and Dormand, *J. Comp. Appl. Math.* 7 (1981) 67.
    """

    solver: Any = None

    def __check_init__(self) -> None:
        if self.solver is not None and not _integration().repeats(self.solver):
            raise ValueError(
                f"solver = {self.solver!r}; allowed: an explicit FSAL solver of "
                "diffrax: Bosh3, Dopri5, Tsit5, Dopri8"
            )

    def problem(self, static: PyTree) -> Problem:
        """Return the initial value problem of systems with the same `static` part."""
        return super().problem(static)._replace(method=self.solver)

    def steps(
        self,
        problem: Problem,
        state: PyTree,
        prepared: PyTree,
        t0: Number,
        t1: Number,
        tolerance: Tolerance,
        observer: tuple[Any, Callable] | None = None,
    ) -> Motion:
        """Return the result of the steps of a problem."""
        run = problem, state, prepared, t0, t1, tolerance, observer
        return _integration().steps(*run)


def _integration():
    """Return the module that uses diffrax, whose import takes as long as jaxvib's."""
    from ..stepping import integration

    return integration
