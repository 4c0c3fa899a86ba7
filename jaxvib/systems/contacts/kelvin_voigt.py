"""Kelvin-Voigt contact: a spring and a damper in parallel."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ...foundation.quantity import Quantity, quantity
from ..base.event_form import ContactForm
from ..base.law import ContactLaw


class KelvinVoigtContact(ContactLaw):
    r"""A linear stop with a spring and a damper in parallel, never tensile.

    $$F(z, \dot z) = \max(k z + c \dot z, 0) \text{ where } z > 0, \text{ else } 0.$$

    The force jumps to $c \dot z$ at onset. It is 0 as soon as it would be tensile,
    though the stop is still compressed; the energy stored then, $k z^2 / 2$, is lost.
    Arrays of any shape are mapped elementwise. **Fields:** `stiffness`: $k > 0$, in
    N/m; `damping`: $c \ge 0$, in N s/m; scalars. **Raises:** `ValueError` naming a
    field out of its range. **Source:** Brogliato, *Nonsmooth Mechanics* (2016), section
    2.1.

    >>> float(jv.KelvinVoigtContact(1e6, damping=10.0).force(1e-3, 0.2))
    1002.0
    """

    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N/m", "stiffness k of the stop", above=0.0
    )
    damping: Float[Quantity, ""] = quantity(
        "damping", "N s/m", "damping c of the stop", at_least=0.0
    )
    jumps = True

    def event_form(self) -> ContactForm:
        """Return the form of the force for event-driven integration."""
        return ContactForm(self.stiffness, damping=self.damping)

    def force(
        self, penetration: Float[ArrayLike, "*n"], rate: Float[ArrayLike, "*n"]
    ) -> Float[Array, "*n"]:
        """Return the repelling force, N, at a penetration, m, and its rate, m/s."""
        depth = jnp.asarray(penetration)
        force = self.stiffness * depth + self.damping * jnp.asarray(rate)
        return jnp.where((depth > 0) & (force > 0), force, 0)

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the energy of the spring, J, at a penetration, m."""
        depth = jnp.asarray(penetration)
        return self.stiffness * jnp.where(depth > 0, depth, 0) ** 2 / 2
