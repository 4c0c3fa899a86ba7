"""A viscoelastic element: a spring and a damper in series."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.quantity import Quantity, quantity
from ...foundation.types import Number
from .element import StateLaw


class MaxwellElement(StateLaw):
    r"""A spring and a damper in series, with the force $F$ as its state.

    $$\dot F = k \left(\dot e - \frac{F}{d}\right).$$

    Beside a spring it is Zener's standard solid; several, with different relaxation
    times $d/k$, are a Prony series. **Fields:** `stiffness` $k > 0$ (N/m), `damping`
    $d > 0$ (N s/m), scalars. **Raises:** `ValueError` naming a field out of its range.

    >>> rubber = jv.MaxwellElement(stiffness=100.0, damping=5.0)
    >>> rubber.rate(jnp.array([2.0]), 0.0, 1.0, 0.0).tolist()
    [60.0]
    """

    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N/m", "stiffness of the spring", above=0.0
    )
    damping: Float[Quantity, ""] = quantity(
        "damping", "N s/m", "damping of the damper", above=0.0
    )

    states, units = ("force",), ("N",)
    pulses = jumps = False

    def rate(self, states: Array, elongation: Number, speed: Number, time: Number) -> Array:
        """Return the rate of the force, N/s."""
        return jnp.stack([self.stiffness * (speed - states[0] / self.damping)])

    def force(
        self, states: Array, elongation: Number, speed: Number, time: Number
    ) -> Array:
        """Return the force on the bodies, N."""
        return states[0]
