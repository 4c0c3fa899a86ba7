"""Systems with integrals along their motion as further states."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..foundation.types import Number
from ..systems.base.around import AroundEquation, AroundSystem
from .measure import Measure, bodies_of
from .motion import Motion


class IntegratedSystem(AroundSystem):
    r"""A system with the integrals $\int r(t, x)\,dt$ of a measure as its last states.

    **Fields:** `measure`: a class of this library; its motions are those of `moved`.
    """

    measure: type[Measure] = eqx.field(static=True)

    def equation(self):
        """Return the equation of motion with the rates of the integrals."""
        parts = self.moved.equation(), self.measure.of(self.moved)
        return IntegratedEquation(*parts, self.moved.rest().shape[0])

    def rest(self):
        """Return the state of rest, with integrals of 0."""
        return self.begun(self.moved.rest())

    def begun(self, state: Float[Array, " own"]) -> Float[Array, " state"]:
        """Return a state of `moved` with integrals of 0 behind."""

        def rates(system, state):
            equation, time = system.equation(), jnp.zeros(())
            borne = [time] * len(bodies_of(equation).frictions)
            measure = self.measure.of(system)
            return measure.rates(equation, time, state, lambda: borne)

        count = eqx.filter_eval_shape(rates, self.moved, state).shape[0]
        return jnp.concatenate([state, jnp.zeros(count)])

    def parted(self, found: Motion) -> Motion:
        """Return a motion of this system as one of `moved` with its integral."""
        size = self.moved.rest().shape[0]
        sampled = found.states is not None
        parts = found.states if sampled else found.state
        integral, states = parts[..., size:], parts[..., :size] if sampled else None
        return found._replace(state=found.state[:size], states=states, integral=integral)


class IntegratedEquation(AroundEquation):
    """The equation of an `IntegratedSystem`; `size`: of the state without integrals."""

    measure: Measure
    size: int = eqx.field(static=True)

    def vector_field(self, time: Number, state: Float[Array, " state"]) -> Array:
        """Return the rates of the state and of the integrals."""
        own = state[: self.size]
        rates = self.measure.rates(self.moved, time, own)
        return jnp.concatenate([self.moved.vector_field(time, own), rates])

    def sizes(
        self, start: Float[Array, " own"], pace: Number, times: tuple[Number, Number]
    ) -> Float[Array, "..."]:
        """Return the sizes of the integrals of a motion of given sizes, see `Measure`."""
        latest = jnp.maximum(*map(jnp.abs, times))
        return self.measure.sizes(self.moved, start, pace, latest)
