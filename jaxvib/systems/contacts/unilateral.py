"""Unilateral contacts along a direction."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.quantity import Quantity, quantity
from ..base.freedoms import component
from ..base.law import ContactLaw, LoadLaw, is_impulsive
from ..base.part import Part
from ..variation import variation_field


class Contact(Part):
    r"""A unilateral contact with penetration $z = n^T q - g$.

    **Fields:** `direction` $n$, shape (n,): +1 at the degree of freedom that moves into
    the contact and -1 at the one that it hits (none for a fixed stop); `gap` $g$ (m) at
    static equilibrium; `law`: a contact law, from penetration and rate to force;
    `name`: on parameter paths, instead of the position among the contacts; `variation`
    $v(t) > -1$: a load law without a unit, by which the force varies in time, $F = [1 +
    v(t)]\,F(z, \dot z)$, such as the stiffness of a gear mesh. **Raises:** `ValueError`
    for a direction of zeros, or a variation of a hard stop.

    >>> stop = jv.Contact([0.0, 1.0], gap=0.01, law=jv.LinearContact(1e4), name="stop")
    >>> float(stop.gap)
    0.01
    """

    direction: Float[Quantity, " n"] = quantity("direction", "", "direction of the contact")
    gap: Float[Quantity, ""] = quantity("gap", "m", "gap at static equilibrium")
    law: ContactLaw
    name: str | None = eqx.field(default=None, static=True)
    variation: LoadLaw | None = variation_field()

    kind = "a contact"
    has_linear_gap = True  # in the displacements
    reverses = False  # whether a friction of its own jumps where the sliding reverses

    def __check_init__(self) -> None:
        if self.variation is not None and is_impulsive(self.law):
            raise ValueError(
                "variation of a hard stop, which has no stiffness; allowed: None, or a "
                "contact law with a force"
            )

    def penetration(self, position: Float[Array, " n"]) -> Float[Array, ""]:
        """Return the penetration, m, negative if open."""
        return component(self.direction, position) - self.gap

    def closing_rate(self, position: Array, velocity: Array) -> Float[Array, ""]:
        """Return the rate of the penetration, m/s."""
        return component(self.direction, velocity)

    def closing_acceleration(
        self, position: Array, velocity: Array, acceleration: Array
    ) -> Float[Array, ""]:
        """Return the second time derivative of the penetration, m/s^2."""
        return component(self.direction, acceleration)

    def reach(self, size: Float[Array, " n"]) -> Float[Array, ""]:
        """Return the largest change of the penetration by displacements of a size, m."""
        return component(jnp.abs(self.direction), size)

    def retarded(
        self, force: Array, position: Array, velocity: Array
    ) -> Float[Array, " n"]:
        """Return the reduction of the accelerations by the normal force."""
        return self.response * force

    def rubbing_power(
        self, force: Array, position: Array, velocity: Array
    ) -> Float[Array, ""]:
        """Return 0: it has no friction of its own."""
        return jnp.zeros_like(force)

    def from_place(self, place: Float[Array, " n"]) -> "Contact":
        """Return the contact of displacements from a place at which its gap is given."""
        return eqx.tree_at(lambda c: c.gap, self, self.gap + self.direction @ place)
