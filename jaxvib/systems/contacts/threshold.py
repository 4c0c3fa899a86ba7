"""A place that is watched and never pushes back."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..printed import Printed


class Threshold(Printed):
    r"""The law $F(z) = 0$ of a level that is watched as a contact is, and has no force.

    Engines that go from event to event stop where it is passed, so that no passage is
    missed between two steps. Arrays of any shape are mapped element by element.
    """

    jumps = False

    @property
    def stiffness(self) -> Float[Array, ""]:
        """The stiffness, N/m: none."""
        return jnp.zeros(())

    def force(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the force, N: none."""
        return jnp.zeros_like(penetration)

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J: none."""
        return jnp.zeros_like(penetration)
