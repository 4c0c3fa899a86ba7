"""Limits of a response and their first passages."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..foundation.quantity import Quantity, check_shape, quantity
from ..systems.base.event_form import ContactForm
from ..systems.base.freedoms import check_direction
from ..systems.base.law import ContactLaw
from ..systems.base.system import System, equation_shape
from ..systems.base.system_repr import SystemRepr, with_field
from ..systems.contacts.unilateral import Contact
from ..systems.impact import EquationOfMotion
from ..systems.states.coupled import CoupledEquation


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


Moving = EquationOfMotion | CoupledEquation  # of bodies, alone or with other states


class Limit(SystemRepr):
    r"""An upper limit $a$ of $|n^T q|$, or of $n^T q$ if not `both`.

    **Fields:** `direction` $n$, shape (n,); `level` $a > 0$ (m), from rest; `both`: on
    both sides. **Raises:** `ValueError` for a level out of its range, or a direction of
    zeros.
    """

    direction: Float[Quantity, " n"] = quantity("direction", "", "direction of the limit")
    level: Float[Quantity, ""] = quantity("level", "m", "level of the limit", above=0.0)
    both: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        check_direction("a limit", self.direction)


def check_limits(limits: Sequence[Limit], size: int) -> None:
    """Raise `ValueError` for a limit whose direction has the wrong shape."""
    for place, limit in enumerate(limits):
        check_shape(f"limit {place}: direction", limit.direction, (size,))


def freedoms_of(system: System) -> int:
    """Return the number of degrees of freedom of a system of bodies."""
    return equation_shape(system).offset.shape[0]


def with_limits(equation: Moving, limits: Sequence[Limit]) -> Moving:
    """Return an equation with two thresholds per limit appended to its contacts."""
    if isinstance(equation, CoupledEquation):
        moved = with_limits(equation.moved, limits)
        return CoupledEquation(moved, equation.elements)
    nothing = jnp.zeros_like(equation.offset)
    added = [
        with_field(Contact(sign * at.direction, at.level, Threshold()), "response", nothing)
        for at in limits
        for sign in (1.0, -1.0)
    ]
    return eqx.tree_at(lambda e: e.contacts, equation, (*equation.contacts, *added))


def extremes_and_passages(
    limits: Sequence[Limit], depths: Array, touches: Array
) -> tuple[Array, Array]:
    """Return the extreme (m) and the first passage (s) of each limit.

    `depths` (m), `touches` (s): of the thresholds, two per limit.
    """
    if not limits:
        return jnp.zeros(0), jnp.zeros(0)
    levels = jnp.repeat(jnp.stack([limit.level for limit in limits]), 2)
    heights, times = (x.reshape(-1, 2) for x in (depths + levels, touches))
    both = jnp.asarray([limit.both for limit in limits])
    extreme = jnp.where(both, jnp.max(heights, axis=1), heights[:, 0])
    return extreme, jnp.where(both, jnp.min(times, axis=1), times[:, 0])
