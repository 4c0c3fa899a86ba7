r"""The same motions of a field at another pace, even along slow and fast parts.

$$\frac{dx}{d\sigma} = \frac{f(x)}{\rho(x)}, \qquad \frac{dt}{d\sigma} = \frac{1}{\rho(x)},
  \qquad \rho = \sqrt{1 + \lVert f / v \rVert^2},$$

so that equal parts of $\sigma$ are no longer than $\Delta\sigma$ in time, and no longer
than $v\,\Delta\sigma$ in any direction: where a relaxation oscillation jumps, states at
equal parts of its period would change with every parameter as fast as it jumps.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..systems.equation import Equation
from ..systems.system import System


class PacedEquation(Equation):
    """The equation of a `PacedSystem`."""

    equation: Equation
    speed: Float[Array, " n"]
    clock: bool = eqx.field(static=True)

    def vector_field(self, time, state: Float[Array, " state"]) -> Array:
        """Return the state's rate of change by sigma, and with a clock that of the time."""
        rate = self.equation.vector_field(time, state[:-1] if self.clock else state)
        pace = jnp.sqrt(1 + jnp.sum((rate / self.speed) ** 2))
        return (jnp.append(rate, 1.0) if self.clock else rate) / pace

    def may_pulse(self) -> bool:
        """Return False: the field changes with its state only."""
        return False


class PacedSystem(System):
    """A system by sigma, of `speed` v; with a `clock` its last state is the time."""

    system: System
    speed: Float[Array, " n"]
    clock: bool = eqx.field(static=True, default=False)

    autonomous = True

    def equation(self) -> PacedEquation:
        """Return the equation of motion, ready to be evaluated."""
        return PacedEquation(self.system.equation(), self.speed, self.clock)

    def rest(self) -> Float[Array, " state"]:
        """Return the state of the system at rest."""
        rest = self.system.rest()
        return jnp.append(rest, 0.0) if self.clock else rest

    def period(self) -> Float[Array, ""]:
        """Return NaN: nothing moves it that repeats."""
        return jnp.asarray(jnp.nan)
