"""Time-stepping engines, which integrate the rates of a state."""

import abc
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ...foundation.arrays import combine_arrays, is_concrete, partition_arrays
from ...foundation.environment import require_float64
from ...foundation.types import Number
from ...kernels import Kernel
from ...kernels.calls.kernel_cache import cached_kernel
from ...kernels.calls.map_rows import map_rows
from ...systems.equation import Equation
from ...systems.system import System
from ..breakpoints import crossed
from ..events import requires_events_reason
from ..observables import (
    Observables,
    init_observables,
    steps_over_contact,
    update_observables,
)
from ..scales import scales_of
from ..solve import Problem, Solution, Steps, Tolerance, augmented, solve
from ..step_limits import PROBES, has_jump, longest_step
from ..time_blocks import map_time_blocks
from .engine import Engine, Observation, Segment, forces_in, states_at


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
    ) -> Steps:
        """Integrate a problem from `t0` to `t1`.

        `observer`: a pair (initial observables, `update(observables, t0, t1, start,
        end)` over a step between two pairs (state, rate)).
        """

    def refusal(self, equation: Equation) -> str:
        """Return which part requires event-driven integration, "" if none does."""
        return requires_events_reason(equation)

    def problem(self, static: PyTree) -> Problem:
        """Return the initial value problem of systems with the same `static` part."""

        def prepare(parameters):
            return combine_arrays(parameters, static).equation()

        def field(time, state, equation):
            return equation.vector_field(time, state)

        def scales(t0, t1, state, equation):
            return scales_of(equation, equation.vector_field, t0, t1, state)

        def longest(t0, t1, state, equation):
            return longest_step(equation, equation.vector_field, t0, t1, state, PROBES)

        def jumps(scales, time, first, last, equation):
            if not equation.may_jump():
                return None
            return has_jump(lambda y: equation.vector_field(time, y), scales, first, last)

        def next_breakpoint(time, equation):
            return equation.next_breakpoint(time)

        def behind(time, state, equation):
            return crossed(equation.vector_field, equation.next_breakpoint, time, state)

        return Problem(
            prepare,
            field,
            scales,
            self.steps,
            skips=steps_over_contact if static.has_contacts else None,
            longest=longest,
            jumps=jumps,
            next_breakpoint=next_breakpoint,
            crossed=behind,
            key=(self, static),
        )

    def end(
        self, system: System, state: Array, t0: Number, t1: Number, rtol: Number
    ) -> Solution:
        """Return the end of a motion, differentiable to any order."""
        problem, parameters, _ = self._parts(system)
        return solve(problem, state, parameters, t0, t1, Tolerance(rtol))

    def observe_with_monodromy(
        self, system: System, segment: Segment, observables: Observables | None = None
    ) -> Observation:
        """Return a motion's end, its sensitivities by the state, and observables."""
        _, parameters, static = self._parts(system)
        go = _monodromy_kernel(self, static)
        settings = *segment.settings(), observables, segment.longest
        return Observation(*go(segment.state, parameters, *settings))

    def observe(
        self, system: System, segment: Segment, observables: Observables | None = None
    ) -> tuple[Array, Observables, Array]:
        """Return the end of a motion, its observables, and a reason code."""
        _, parameters, static = self._parts(system)
        go = _observe_kernel(self, static)
        return go(segment.state, parameters, *segment.settings(), observables)

    def sampled(
        self, system: System, state: Array, times: Array, rtol: Number
    ) -> tuple[Array, Array, Array]:
        """Return states and contact forces at ascending times, and a reason code."""
        _, parameters, static = self._parts(system)
        if not is_concrete(parameters, state, times, rtol):
            return super().sampled(system, state, times, rtol)
        samples = _samples_kernel(self, static)

        def go_on(state, span):
            return samples.on_host(parameters, state, span, rtol)

        found = map_time_blocks(go_on, np.asarray(state), np.asarray(times))
        return jax.device_put(found)

    def through(
        self, system: System, state: Array, times: Array, rtol: Number
    ) -> tuple[Array, Array]:
        """Return states at ascending times, differentiable, and a reason code."""
        problem, parameters, _ = self._parts(system)
        return _through(problem, state, parameters, times, rtol)

    def _parts(self, system):
        require_float64()
        parameters, static = partition_arrays(system)
        return _problem(self, static), parameters, static


@functools.lru_cache(maxsize=128)
def _problem(engine: SteppedEngine, static) -> Problem:
    """Return the same problem for all systems of one structure: a key of kernels."""
    return engine.problem(static)


def _through(problem: Problem, state, parameters, times, rtol):
    prepared = problem.prepare(parameters)
    # Computed once: the range between two times says nothing about the others.
    longest = problem.longest(times[0], times[-1], jax.lax.stop_gradient(state), prepared)
    run = functools.partial(solve, problem, tolerance=Tolerance(rtol, longest))
    return states_at(
        times, state, lambda state, t0, t1: run(state, parameters, t0=t0, t1=t1)
    )


@functools.lru_cache(maxsize=64)
def _samples_kernel(engine: SteppedEngine, static) -> Kernel:
    """Return the kernel of states and contact forces at times, and a reason code."""
    problem = _problem(engine, static)

    def samples(parameters, state, times, rtol):
        states, result = _through(problem, state, parameters, times, rtol)
        forces = map_rows(forces_in(problem.prepare(parameters)), times, states)
        return states, forces, result

    return cached_kernel(samples, engine, static)


@functools.lru_cache(maxsize=64)
def _monodromy_kernel(engine: SteppedEngine, static) -> Kernel:
    """Return the kernel of `observe_with_monodromy`."""
    problem = augmented(_problem(engine, static), moved=False)

    def observe_with_monodromy(
        state, parameters, t0, t1, rtol, grazing, observables, longest
    ):
        start = state, jnp.eye(state.shape[0])
        prepared = problem.prepare(parameters)
        if observables is None:
            observables = init_observables(t0, state, prepared[0])
        observer = observables, _updating(prepared[0], grazing, lambda y: y[0])
        tolerance = Tolerance(rtol, longest)
        found = engine.steps(problem, start, prepared, t0, t1, tolerance, observer)
        final, sensitivities = found.state
        return final, sensitivities.T, found.observables, found.result

    return cached_kernel(observe_with_monodromy, engine, static)


@functools.lru_cache(maxsize=64)
def _observe_kernel(engine: SteppedEngine, static) -> Kernel:
    """Return the kernel of `observe`."""
    problem = _problem(engine, static)

    def observe(state, parameters, t0, t1, rtol, grazing, observables):
        equation = problem.prepare(parameters)
        if observables is None:
            observables = init_observables(t0, state, equation)
        observer = observables, _updating(equation, grazing, lambda y: y)
        found = engine.steps(problem, state, equation, t0, t1, Tolerance(rtol), observer)
        return found.state, found.observables, found.result

    return cached_kernel(observe, engine, static)


def _updating(equation, grazing, state_of):
    """Return the update of observables by a step; `state_of`: drops sensitivities."""

    def update(observables, t0, t1, first, last):
        first, last = (tuple(map(state_of, pair)) for pair in (first, last))
        return update_observables(observables, grazing, t0, t1, first, last, equation)

    return update
