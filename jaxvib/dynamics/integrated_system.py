"""Systems with integrals along their motion as further states."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp

from ..systems.around import AroundEquation, AroundSystem


class IntegratedSystem(AroundSystem):
    r"""A system with integrals $\int r(t, x)\,dt$ as its last states.

    **Fields:** `rates(equation, time, state, *given)`: $r$, of shape (`count`,), a
    function of this library; its motions are those of `moved`. `given`: what the rates
    need besides the equation.
    """

    rates: Callable = eqx.field(static=True)
    count: int = eqx.field(static=True)
    given: tuple = ()

    def equation(self):
        """Return the equation of motion with the rates of the integrals."""
        size = self.moved.rest().shape[0]
        return _IntegratedEquation(self.moved.equation(), self.rates, size, self.given)

    def rest(self):
        """Return the state of rest, with integrals of 0."""
        return jnp.concatenate([self.moved.rest(), jnp.zeros(self.count)])


class _IntegratedEquation(AroundEquation):
    rates: Callable = eqx.field(static=True)
    size: int = eqx.field(static=True)
    given: tuple

    def vector_field(self, time, state):
        own = state[: self.size]
        rates = self.rates(self.moved, time, own, *self.given)
        return jnp.concatenate([self.moved.vector_field(time, own), rates])
