"""The measures of contacts, elements and bodies, and their integrals along a motion."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..foundation.types import Number
from ..systems.equation import Equation
from ..systems.system import System
from .engines.choice import ENGINES, engine_for
from .measure import Measure, bodies_of, velocities_in
from .motion import Motion, Want


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
            jnp.max(jnp.abs(jnp.atleast_2d(contact.response)) * weights[None])
            for contact in bodies.contacts
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
    # The kernels of time stepping run on the host for concrete values.
    run = _compiled if engine == "event" else _motion
    found = run(engine, system, state, Want(rtol, times, measure=measure))
    states, sums = found.states, found.integral
    known, equation = measure.of(system), system.equation()
    stored = jax.vmap(functools.partial(known.stored, equation))(states)
    if stored is not None:
        sums = sums - stored + stored[:1]
    return states, sums, found.result


def _motion(engine: str, system, state, want: Want) -> Motion:
    return ENGINES[engine].integrate(system, state, want.times[0], want.times[-1], want)


_compiled = eqx.filter_jit(_motion)
