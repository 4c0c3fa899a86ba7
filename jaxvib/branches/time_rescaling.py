r"""Time rescaling that spreads states evenly over slow and fast parts of a motion.

$$\frac{dx}{d\sigma} = \frac{f(x)}{\rho(x)}, \qquad \frac{dt}{d\sigma} = \frac{1}{\rho(x)},
  \qquad \rho = \sqrt{1 + \lVert f / v \rVert^2},$$

so that a step $\Delta\sigma$ is at most $\Delta\sigma$ in time, and at most
$v\,\Delta\sigma$ in each component. With equal steps in time, states in the jump of a
relaxation oscillation would change with every parameter as fast as it jumps.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..systems.equation import Equation, Time
from ..systems.system import System


class TimeRescaledEquation(Equation):
    """The equation of a `TimeRescaledSystem`."""

    equation: Equation
    speed: Float[Array, " n"]
    clock: bool = eqx.field(static=True)

    def vector_field(self, time: Time, state: Float[Array, " state"]) -> Array:
        """Return the derivative by sigma of the state, and with a clock of the time."""
        rate = self.equation.vector_field(time, state[:-1] if self.clock else state)
        pace = jnp.sqrt(1 + jnp.sum((rate / self.speed) ** 2))
        return (jnp.append(rate, 1.0) if self.clock else rate) / pace

    def may_pulse(self) -> bool:
        """Return False: the field changes with its state only."""
        return False


class TimeRescaledSystem(System):
    """A system in rescaled time; `speed`: v. With a `clock` its last state is the time."""

    system: System
    speed: Float[Array, " n"]
    clock: bool = eqx.field(static=True, default=False)

    autonomous = True

    def equation(self) -> TimeRescaledEquation:
        """Return the equation of motion, ready to be evaluated."""
        return TimeRescaledEquation(self.system.equation(), self.speed, self.clock)

    def rest(self) -> Float[Array, " state"]:
        """Return the state of the system at rest."""
        rest = self.system.rest()
        return jnp.append(rest, 0.0) if self.clock else rest

    def period(self) -> Float[Array, ""]:
        """Return NaN: the system is autonomous."""
        return jnp.asarray(jnp.nan)
