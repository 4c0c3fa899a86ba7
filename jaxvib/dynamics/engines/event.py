"""The engine that goes from contact to contact."""

import equinox as eqx
import jax
import jax.numpy as jnp

from ..._quantity import Range, check_range
from ...ensemble import Reason
from ..events import (
    ORDER,
    end_kernel,
    observe_kernel,
    travel_problem,
    watch_along_kernel,
    watch_kernel,
    why_not,
)
from ..observables import start_watching
from .engine import Engine, Observation


class EventEngine(Engine):
    """Exact flights and smooth contacts, see `events.engine.travel`.

    For bodies on linear and polynomial springs and polygons, with hard stops, Hertz, linear
    or piecewise linear contacts, damped or not, or dry friction: several times as fast as
    steps. Its travels are kernels, for all of JAX's programs.

    **Fields:** `order`: of the Taylor steps in flight, from 6 to 30; those in contact are
    of two thirds of it. A higher one takes longer steps, each of more work.
    """

    order: int = eqx.field(static=True, default=ORDER)

    def __check_init__(self):
        check_range("order", self.order, "", Range(at_least=6, at_most=30))

    def refusal(self, equation) -> str:
        """Return what of an equation has no event-driven form."""
        return why_not(equation)

    def end(self, system, state, t0, t1, rtol):
        """Return the end of a motion, differentiable to any order."""
        parameters, static = _parts(system)
        return travel_problem(static, state, parameters, t0, t1, rtol, self.order)

    def observe(
        self, system, state, t0, t1, *, rtol, grazing, watched=None, longest=None
    ) -> Observation:
        """Return a motion's end, its sensitivities by the state, and what was watched."""
        parameters, static = _parts(system)
        if watched is None:
            watched = start_watching(t0, state, system.equation())
        settings = _floats(t0, t1, rtol, grazing)
        found = observe_kernel(static, self.order)(state, parameters, *settings, watched)
        return Observation(*found)

    def watch(self, system, state, t0, t1, *, rtol, grazing):
        """Return the end of a motion, what was watched, and a reason code."""
        parameters, static = _parts(system)
        settings = _floats(t0, t1, rtol, grazing)
        return watch_kernel(static, self.order)(state, parameters, *settings)

    def watch_along(self, system, state, change, t0, t1, *, rtol, grazing):
        """Return `watch` and, after the state, the sensitivity along a change.

        It is exact for the steps taken, and costs less than a second motion.
        """
        parameters, static = _parts(system)
        settings = _floats(t0, t1, rtol, grazing)
        go = watch_along_kernel(static, self.order)
        return go(state, parameters, *settings, change)

    def sampled(self, system, state, times, rtol):
        """Return states and contact forces at times: those of hard stops that hold too."""
        equation = system.equation()
        parameters, static = _parts(system)
        end = end_kernel(static, self.order)

        def force_of(state, held):
            return equation.forces_at(state) + held

        def step(carry, span):
            state, result = carry
            new, code, _, held = end(state, parameters, span[0], span[1], rtol)
            result = jnp.where(result == Reason.SUCCESS, code, result)
            return (new, result), (new, force_of(new, held))

        _, code, _, held = end(state, parameters, times[0], times[0], rtol)
        force = force_of(state, held)
        spans = jnp.stack([times[:-1], times[1:]], axis=1)
        (_, result), (states, forces) = jax.lax.scan(step, (state, code), spans)
        states = jnp.concatenate([state[None], states])
        return states, jnp.concatenate([force[None], forces]), result


def _parts(system):
    """Return a system's parameters, and the rest of it."""
    return eqx.partition(system, eqx.is_inexact_array)


def _floats(*numbers):
    return [jnp.asarray(number, float) for number in numbers]
