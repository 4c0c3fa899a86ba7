"""Elastic contact with a power law."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ...foundation.quantity import Quantity, quantity
from ..base.law import ContactLaw


class PowerContact(ContactLaw):
    r"""An elastic contact whose force is a power of the penetration $z$ (m).

    $$F(z) = K \max(z, 0)^n, \qquad U(z) = \frac{K}{n + 1} \max(z, 0)^{n + 1}.$$

    Arrays of any shape are mapped elementwise. **Fields:** `stiffness`: $K > 0$, in
    N/m^n; `exponent`: $n \ge 1$; scalars. **Raises:** `ValueError` naming a field out
    of its range.

    It has no event-driven form: the series of a motion at onset depends on the
    exponent, which is a parameter. Use `HertzContact` (1.5) or `LinearContact` (1) with
    `engine="event"`.

    >>> float(jv.PowerContact(1e6, exponent=2.0).force(1e-2))
    100.0
    """

    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N/m^n", "stiffness K of the contact", above=0.0
    )
    exponent: Float[Quantity, ""] = quantity(
        "exponent", "", "exponent n of the penetration", at_least=1.0
    )
    jumps = False

    def force(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the repelling force, N, at a penetration, m."""
        return self.stiffness * positive_power(penetration, self.exponent)

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at a penetration, m."""
        above = self.exponent + 1
        return self.stiffness / above * positive_power(penetration, above)


def positive_power(z: ArrayLike, exponent: ArrayLike) -> Array:
    """Return z^exponent where z > 0 and 0 elsewhere."""
    # The inner `where` gives the power a harmless 1 while the bodies are apart.
    z = jnp.asarray(z)
    touching = z > 0
    return jnp.where(touching, jnp.where(touching, z, 1) ** exponent, 0)
