"""A level whose crossings are detected, without a force."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..event_form import ContactForm
from ..law import ContactLaw


class Threshold(ContactLaw):
    r"""The law $F(z) = 0$ of a level that is monitored like a contact.

    Event-driven engines stop at each crossing, so that none is missed between two
    steps. Arrays of any shape are mapped elementwise.
    """

    jumps = False

    def event_form(self) -> ContactForm:
        """Return the form of the force for event-driven integration."""
        return ContactForm(jnp.zeros(()))

    def force(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the force, 0 N."""
        return jnp.zeros_like(penetration)

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, 0 J."""
        return jnp.zeros_like(penetration)
