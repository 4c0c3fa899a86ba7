"""Systems with integrals along their motion as further states."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ..systems.equation import Equation
from ..systems.system import System


class IntegratedSystem(System):
    r"""A system with integrals $\int r(t, x)\,dt$ as its last states.

    **Fields:** `rates(equation, time, state, *given)`: $r$, of shape (`count`,), a
    function of this library; its motions are those of `system`. `given`: what the rates
    need besides the equation.
    """

    system: Any
    rates: Callable = eqx.field(static=True)
    count: int = eqx.field(static=True)
    given: tuple = ()

    @property
    def has_contacts(self):
        """Whether the system has contacts."""
        return self.system.has_contacts

    def equation(self):
        """Return the equation of motion with the rates of the integrals."""
        size = self.system.rest().shape[0]
        return _IntegratedEquation(self.system.equation(), self.rates, size, self.given)

    def rest(self):
        """Return the state of rest, with integrals of 0."""
        return jnp.concatenate([self.system.rest(), jnp.zeros(self.count)])

    def period(self):
        """Return the period of the system, s."""
        return self.system.period()


class _IntegratedEquation(Equation):
    equation: Equation
    rates: Callable = eqx.field(static=True)
    size: int = eqx.field(static=True)
    given: tuple

    def vector_field(self, time, state):
        moved = state[: self.size]
        rates = self.rates(self.equation, time, moved, *self.given)
        return jnp.concatenate([self.equation.vector_field(time, moved), rates])

    def penetrations(self, state):
        return self.equation.penetrations(state[: self.size])

    def closing_rates(self, state):
        return self.equation.closing_rates(state[: self.size])

    def contact_forces(self, penetrations, rates):
        return self.equation.contact_forces(penetrations, rates)

    def contact_motion(self, state, rate):
        return self.equation.contact_motion(state[: self.size], rate[: self.size])

    def contact_reach(self, sizes):
        return self.equation.contact_reach(sizes[: self.size])

    def damped_contacts(self):
        return self.equation.damped_contacts()

    def may_pulse(self):
        return self.equation.may_pulse()

    def may_jump(self):
        return self.equation.may_jump()

    def next_breakpoint(self, time):
        return self.equation.next_breakpoint(time)

    def repeats_in(self, span):
        return self.equation.repeats_in(span)
