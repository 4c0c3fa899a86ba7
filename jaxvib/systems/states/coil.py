"""An electromagnetic transducer: a coil on a resistor."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.quantity import Quantity, quantity
from ...foundation.types import Number
from .element import StateLaw


class CoilCircuit(StateLaw):
    r"""A coil that moves in a magnetic field, closed by a resistor, with the current $i$.

    $$L \frac{di}{dt} = \kappa \dot e - R\, i, \qquad F = \kappa\, i.$$

    The power $R i^2$ is that of the coil's own resistance and of the load together.
    **Fields:** `inductance` $L > 0$ (H), `resistance` $R \ge 0$ (ohm), `coupling`
    $\kappa$ (N/A or V s/m), scalars. **Raises:** `ValueError` naming a field out of its
    range. **Source:** Beeby, Tudor and White, *Meas. Sci. Technol.* 17 (2006) R175.

    >>> coil = jv.CoilCircuit(inductance=0.1, resistance=50.0, coupling=3.0)
    >>> float(coil.force(jnp.array([0.2]), 0.0, 0.0, 0.0).round(12))
    0.6
    """

    inductance: Float[Quantity, ""] = quantity(
        "inductance", "H", "inductance of the coil", above=0.0
    )
    resistance: Float[Quantity, ""] = quantity(
        "resistance", "ohm", "resistance of coil and load", at_least=0.0
    )
    coupling: Float[Quantity, ""] = quantity("coupling", "N/A", "force per current")

    states, units = ("current",), ("A",)
    pulses = jumps = False

    def rate(self, states: Array, elongation: Number, speed: Number, time: Number) -> Array:
        """Return the rate of the current, A/s."""
        change = self.coupling * speed - self.resistance * states[0]
        return jnp.stack([change / self.inductance])

    def force(
        self, states: Array, elongation: Number, speed: Number, time: Number
    ) -> Array:
        """Return the force on the bodies, N."""
        return self.coupling * states[0]
