"""The event-driven engine."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...foundation.arrays import is_concrete, partition_arrays
from ...foundation.quantity import Range, check_range
from ...foundation.types import Number
from ...systems.base.equation import Equation
from ...systems.base.system import System
from ..events import (
    ORDER,
    event_problem,
    motion_kernel,
    periods_problem,
    unsupported_reason,
)
from ..motion import Motion, Want
from ..stepping.time_blocks import sampled
from .engine import Engine


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

    def __check_init__(self) -> None:
        check_range("order", self.order, "", Range(at_least=6, at_most=30))

    def refusal(self, equation: Equation) -> str:
        """Return why an equation has no event-driven form, "" if it has."""
        return unsupported_reason(equation)

    def integrate(
        self, system: System, state: Array, t0: Number, t1: Number, want: Want
    ) -> Motion:
        """Return a motion, with what is wanted of it.

        Sensitivities along a change are exact for the steps taken, and cost less than a
        second motion.
        """
        parameters, static = partition_arrays(system)
        if want.times is not None and want.measure is not None:
            return self.in_parts(system, state, t0, t1, want)
        if want.times is not None:
            return self._sampled(system, state, parameters, static, want)
        if not want.differentiable:
            return motion_kernel(static, self.order)(state, parameters, t0, t1, want)
        if want.periods is not None:
            count = want.periods
            at_once = max(k for k in range(1, self.at_once + 1) if count % k == 0)
            given = state, parameters, t1, count, want.rtol
            return periods_problem(static, *given, at_once=at_once, order=self.order)
        given = state, parameters, t0, t1, want.rtol
        found = event_problem(static, *given, self.order, want.measure)
        if want.measure is None:
            return found
        end, integral = jnp.split(found.state, [jnp.shape(state)[0]])
        return found._replace(state=end, integral=integral)

    def _sampled(self, system, state, parameters, static, want: Want) -> Motion:
        """Return states and contact forces at times, including holding forces."""
        kernel = motion_kernel(static, self.order)
        if is_concrete(parameters, state, want.times, want.rtol):
            return sampled(kernel, state, parameters, want)
        found = self.in_parts(system, state, want.times[0], want.times[-1], want)
        hard = np.array(system.equation().hard_contacts(), bool)
        if not hard.any():
            return found

        def borne(state, time):
            asked = Want(want.rtol, forces=True)
            return kernel(state, parameters, time, time, asked).forces

        forces = jax.vmap(borne)(jax.lax.stop_gradient(found.states), want.times)
        return found._replace(forces=jnp.where(hard, forces, found.forces))
