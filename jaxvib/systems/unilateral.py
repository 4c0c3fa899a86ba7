"""Unilateral contacts along a direction."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..foundation.quantity import quantity
from .freedoms import check_direction, component, is_nowhere
from .law import ContactLaw, LoadLaw, check_traits, is_impulsive
from .system_repr import SystemRepr
from .variation import variation_field


class Contact(SystemRepr):
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

    direction: Float[Array, " n"] = quantity("direction", "", "direction of the contact")
    gap: Float[Array, ""] = quantity("gap", "m", "gap at static equilibrium")
    law: ContactLaw
    name: str | None = eqx.field(default=None, static=True)
    variation: LoadLaw | None = variation_field()

    has_linear_gap = True  # in the displacements
    reverses = False  # whether a friction of its own jumps where the sliding reverses

    def __check_init__(self):
        check_traits(type(self.law))
        check_direction("a contact", self.direction)
        if self.variation is not None and is_impulsive(self.law):
            raise ValueError(
                "variation of a hard stop, which has no stiffness; allowed: None, or a "
                "contact law with a force"
            )

    def contradicts(self) -> Any:
        """Return whether the direction is zero everywhere, of one or of a batch."""
        return is_nowhere(self.direction)

    @property
    def rows(self) -> Float[Array, "1 n"]:
        """The directions in which it acts."""
        return self.direction[None]

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

    def response(self, inverse: Float[Array, "n n"]) -> Float[Array, " n"]:
        """Return accelerations against a unit force, from the inverse mass matrix."""
        return inverse @ self.direction

    def retarded(
        self, response: Array, force: Array, position: Array, velocity: Array
    ) -> Float[Array, " n"]:
        """Return the reduction of the accelerations by the normal force."""
        return response * force

    def rubbing_power(
        self, force: Array, position: Array, velocity: Array
    ) -> Float[Array, ""]:
        """Return 0: it has no friction of its own."""
        return jnp.zeros_like(force)

    def from_place(self, place: Float[Array, " n"]) -> "Contact":
        """Return the contact of displacements from a place at which its gap is given."""
        return eqx.tree_at(lambda c: c.gap, self, self.gap + self.direction @ place)
