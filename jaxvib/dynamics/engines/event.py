"""The engine that goes from contact to contact."""

import equinox as eqx
import jax
import jax.numpy as jnp

from ...ensemble import Reason
from ..events import travel, travel_columns, travel_problem, why_not
from .engine import Engine, Observation


class EventEngine(Engine):
    """Exact flights and smooth contacts, see `events.engine.travel`.

    For linear bodies with hard stops, Hertz or linear contacts under harmonic loads:
    several times as fast as steps, but slower to compile.
    """

    def refusal(self, equation) -> str:
        """Return what of an equation has no event-driven form."""
        return why_not(equation)

    def end(self, system, state, t0, t1, rtol):
        """Return the end of a motion, differentiable to any order."""
        parameters, static = eqx.partition(system, eqx.is_inexact_array)

        def prepare(parameters):
            return eqx.combine(parameters, static).equation()

        return travel_problem(prepare, state, parameters, t0, t1, rtol)

    def observe(
        self, system, state, t0, t1, *, rtol, grazing, watched=None, longest=None
    ) -> Observation:
        """Return the end of a motion, its columns by the state, and what was watched."""
        equation = system.equation()
        columns, found = travel_columns(equation, state, t0, t1, rtol, grazing, watched)
        return Observation(found.state, columns, found.watched, found.result)

    def watch(self, system, state, t0, t1, *, rtol, grazing):
        """Return the end of a motion, what was watched, and a reason code."""
        found = travel(system.equation(), state, t0, t1, rtol, grazing=grazing)
        return found.state, found.watched, found.result

    def sampled(self, system, state, times, rtol):
        """Return states and contact forces at times: those of hard stops that hold too."""
        equation = system.equation()

        def force_of(state, held):
            return equation.contact_forces(equation.penetrations(state)) + held

        def step(carry, span):
            state, result = carry
            found = travel(equation, state, span[0], span[1], rtol)
            result = jnp.where(result == Reason.SUCCESS, found.result, result)
            return (found.state, result), (found.state, force_of(found.state, found.held))

        begin = travel(equation, state, times[0], times[0], rtol)
        force = force_of(state, begin.held)
        spans = jnp.stack([times[:-1], times[1:]], axis=1)
        (_, result), (states, forces) = jax.lax.scan(step, (state, begin.result), spans)
        states = jnp.concatenate([state[None], states])
        return states, jnp.concatenate([force[None], forces]), result
