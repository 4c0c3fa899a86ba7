"""The event-driven engine."""

from typing import ClassVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from ...foundation.arrays import is_concrete, partition_arrays
from ...foundation.quantity import Range, check_range
from ...foundation.types import Number
from ...systems.equation import Equation
from ...systems.system import System
from ..events import (
    ORDER,
    end_kernel,
    event_problem,
    monodromy_kernel,
    observe_kernel,
    periods_along_kernel,
    periods_problem,
    samples_kernel,
    unsupported_reason,
)
from ..observables import Observables, init_observables
from ..solve import Solution
from ..time_blocks import map_time_blocks
from .engine import Engine, Observation, Segment


class EventEngine(Engine):
    """Event-driven integration: exact flights and smooth contacts, see `dynamics.events`.

    For bodies on linear, polynomial and piecewise linear springs, with hard stops,
    Hertz, linear or piecewise linear contacts, damped or not, or dry friction: several
    times as fast as time stepping. Its integrations are kernels, usable in all JAX
    programs.

    **Fields:** `order`: of the Taylor steps in flight, from 6 to 30; in contact it is
    two thirds of that. A higher order takes longer steps, each of more work.
    """

    order: int = eqx.field(static=True, default=ORDER)
    # Lanes wait for the slowest at the end of so many periods: at the end of each one
    # that takes a seventh of the time, and more of them make longer records.
    at_once: ClassVar[int] = 4

    def __check_init__(self):
        check_range("order", self.order, "", Range(at_least=6, at_most=30))

    def refusal(self, equation: Equation) -> str:
        """Return why an equation has no event-driven form, "" if it has."""
        return unsupported_reason(equation)

    def end(
        self, system: System, state: Array, t0: Number, t1: Number, rtol: Number
    ) -> Solution:
        """Return the end of a motion, differentiable to any order."""
        parameters, static = partition_arrays(system)
        return event_problem(static, state, parameters, t0, t1, rtol, self.order)

    def end_with_forces(
        self, system: System, state: Array, t0: Number, t1: Number, rtol: Number
    ) -> tuple[Array, Array, Array]:
        """Return state and contact forces at `t1`, and a reason code."""
        parameters, static = partition_arrays(system)
        end = end_kernel(static, self.order)
        state, result, _, forces = end(state, parameters, t0, t1, rtol)
        return state, system.equation().at(t1).forces_at(state) + forces, result

    def observe_with_monodromy(
        self, system: System, segment: Segment, observables: Observables | None = None
    ) -> Observation:
        """Return a motion's end, its sensitivities by the state, and observables."""
        parameters, static = partition_arrays(system)
        if observables is None:
            observables = init_observables(segment.t0, segment.state, system.equation())
        go = monodromy_kernel(static, self.order)
        found = go(segment.state, parameters, *segment.settings(), observables)
        return Observation(*found)

    def observe(
        self, system: System, segment: Segment, observables: Observables | None = None
    ) -> tuple[Array, Observables, Array]:
        """Return the end of a motion, its observables, and a reason code."""
        parameters, static = partition_arrays(system)
        go = observe_kernel(static, self.order)
        return go(segment.state, parameters, *segment.settings(), observables)

    def periods_along(
        self,
        system: System,
        segment: Segment,
        change: Array,
        count: int,
        observables: Observables | None = None,
    ) -> tuple[Array, Array, Observables, Array]:
        """Return `observe` over `count` periods, with sensitivities along a change.

        They are exact for the steps taken, and cost less than a second motion.
        """
        parameters, static = partition_arrays(system)
        go = periods_along_kernel(static, count, self.order)
        _, period, rtol, grazing = segment.settings()
        return go(segment.state, parameters, period, rtol, grazing, observables, change)

    def periods(
        self, system: System, state: Array, period: Number, count: int, rtol: Number
    ) -> tuple[Array, Array]:
        """Return the state after each of `count` periods, and a reason code."""
        parameters, static = partition_arrays(system)
        at_once = max(k for k in range(1, self.at_once + 1) if count % k == 0)
        given = state, parameters, period, count, rtol
        return periods_problem(static, *given, at_once=at_once, order=self.order)

    def sampled(
        self, system: System, state: Array, times: Array, rtol: Number
    ) -> tuple[Array, Array, Array]:
        """Return states and contact forces at times, including holding forces."""
        parameters, static = partition_arrays(system)
        if is_concrete(parameters, state, times, rtol):
            samples = samples_kernel(static, self.order)

            def go_on(state, span):
                return samples.on_host((parameters, state, span, rtol))

            found = map_time_blocks(go_on, np.asarray(state), np.asarray(times))
            return jax.device_put(found)
        states, forces, result = super().sampled(system, state, times, rtol)
        if any(system.equation().hard_contacts()):
            end = end_kernel(static, self.order)

            def held(state, time):
                return end(state, parameters, time, time, rtol)[3]

            forces = forces + jax.vmap(held)(jax.lax.stop_gradient(states), times)
        return states, forces, result
