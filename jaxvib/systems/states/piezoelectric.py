"""A piezoelectric transducer: a capacitance on a resistor."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.quantity import Quantity, quantity
from ...foundation.types import Number
from .element import StateLaw


class PiezoelectricCircuit(StateLaw):
    r"""A piezoelectric element closed by a resistor, with the voltage $V$.

    $$C \frac{dV}{dt} = \theta \dot e - \frac{V}{R}, \qquad F = \theta V.$$

    The stiffness at zero voltage is that of a spring beside it. The load has the power
    $V^2/R$. **Fields:** `capacitance` $C > 0$ (F), `resistance` $R > 0$ (ohm),
    `coupling` $\theta$ (N/V or C/m), scalars. **Raises:** `ValueError` naming a field
    out of its range. **Source:** Erturk and Inman, *Piezoelectric Energy Harvesting*
    (2011), section 1.3.

    >>> patch = jv.PiezoelectricCircuit(1e-7, resistance=1e5, coupling=1e-3)
    >>> float(patch.rate(jnp.array([1.0]), 0.0, 0.02, 0.0)[0].round(6))
    100.0
    """

    capacitance: Float[Quantity, ""] = quantity(
        "capacitance", "F", "capacitance of the element", above=0.0
    )
    resistance: Float[Quantity, ""] = quantity(
        "resistance", "ohm", "resistance of the load", above=0.0
    )
    coupling: Float[Quantity, ""] = quantity("coupling", "N/V", "force per voltage")

    states, units = ("voltage",), ("V",)
    pulses = jumps = False

    def rate(self, states: Array, elongation: Number, speed: Number, time: Number) -> Array:
        """Return the rate of the voltage, V/s."""
        current = self.coupling * speed - states[0] / self.resistance
        return jnp.stack([current / self.capacitance])

    def force(
        self, states: Array, elongation: Number, speed: Number, time: Number
    ) -> Array:
        """Return the force on the bodies, N."""
        return self.coupling * states[0]
