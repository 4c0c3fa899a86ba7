"""The measures of contacts, elements and bodies, and their integrals along a motion."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..foundation.arrays import partition_arrays
from ..foundation.types import Number
from ..systems.equation import Equation
from ..systems.system import System
from .engines.choice import ENGINES, engine_for
from .engines.engine import states_at
from .events import event_problem
from .integrated_system import IntegratedSystem
from .measure import Measure, bodies_of, velocities_in
from .solve import Solution


class ElementPowers(Measure):
    """The power that each element takes from the bodies, W."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the powers."""
        return equation.element_powers(time, state)


class FrictionPowers(Measure):
    """The power lost to each contact's own friction, W."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the powers."""
        return equation.at(time).rubbing_powers(state)


class LostPowers(Measure):
    """The power lost in each contact, to damping and to its own friction, W."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the powers."""
        motion = equation.penetrations(state), equation.closing_rates(state)
        rubbed = equation.at(time).rubbing_powers(state)
        return equation.damping_powers(time, *motion) + rubbed

    def stored(self, equation: Any, state):
        """Return the energies of damped contacts."""
        return equation.damping_energies(equation.penetrations(state))


class ContactForces(Measure):
    """The force of each contact, N."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the forces."""
        return equation.at(time).forces_at(state)

    def sizes(self, equation: Equation, start, pace, time):
        """Return the impulses that change velocities by their sizes, N s."""
        bodies = bodies_of(equation)
        weights = jnp.sqrt(bodies.inertia)
        momentum = jnp.max(weights * velocities_in(bodies, start))
        reaches = [
            jnp.max(jnp.abs(jnp.atleast_2d(response)) * weights[None])
            for response in bodies.contact_responses
        ]
        return momentum / jnp.stack(reaches) if reaches else jnp.zeros(0)


class ContactSums(Measure):
    """Of each contact: force, time times force, lost power and that lost to friction."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the four rates of all contacts, one after the other."""
        force = ContactForces().rates(equation, time, state)
        lost = LostPowers().rates(equation, time, state)
        rubbed = FrictionPowers().rates(equation, time, state)
        return jnp.concatenate([force, time * force, lost, rubbed])

    def stored(self, equation: Any, state):
        """Return the energies of damped contacts in the place of their losses."""
        energies = LostPowers().stored(equation, state)
        return jnp.pad(energies, (2 * energies.shape[0], energies.shape[0]))

    def sizes(self, equation: Equation, start, pace, time):
        """Return the sizes of their integrals."""
        of_motion = equation, start, pace, time
        impulse, energy = ContactForces().sizes(*of_motion), super().sizes(*of_motion)
        energies = jnp.broadcast_to(energy, (2 * impulse.shape[0],))
        return jnp.concatenate([impulse, time * impulse, energies])


class Squares(Measure):
    """Displacements from rest, their squares, and the squares of velocities."""

    def rates(self, equation: Any, time, state, borne=tuple):
        """Return the values of all bodies, one after the other."""
        size = equation.offset.shape[0]
        position, velocity = state[:size] - equation.offset, state[size : 2 * size]
        return jnp.concatenate([position, position**2, velocity**2])

    def sizes(self, equation: Equation, start, pace, time):
        """Return the sizes of their integrals."""
        bodies = bodies_of(equation)
        place, speed = start[: bodies.inertia.shape[0]], velocities_in(bodies, start)
        return pace * jnp.concatenate([place, place**2, speed**2])


def integrals(
    system: System, measure: type[Measure], state: Array, times: Array, rtol: Number
) -> tuple[Array, Array, Array]:
    """Return states at ascending times, integrals since the first one, and a reason code.

    By the engine that "auto" selects for one motion; differentiable.
    """
    engine, _ = engine_for(system, "auto", lanes=1)
    size = state.shape[0]
    metered: Any = IntegratedSystem(system, measure)
    begun = metered.begun(state)
    if engine == "event":
        found, result = _by_events(system, measure, begun, times, rtol)
    else:
        found, _, result = ENGINES[engine].sampled(metered, begun, times, rtol)
    states, sums = found[:, :size], found[:, size:]
    known, equation = measure.of(system), system.equation()
    stored = jax.vmap(functools.partial(known.stored, equation))(states)
    if stored is not None:
        sums = sums - stored + stored[:1]
    return states, sums, result


@eqx.filter_jit
def _by_events(system, measure, begun, times, rtol):
    parameters, static = partition_arrays(system)
    size = system.rest().shape[0]

    def go(state, t0, t1):
        given = static, state[:size], parameters, t0, t1, rtol
        found = event_problem(*given, measure=measure)
        summed = found.state[size:] + state[size:]
        moved = jnp.concatenate([found.state[:size], summed])
        return Solution(moved, found.result, found.steps)

    return states_at(times, begun, go)
