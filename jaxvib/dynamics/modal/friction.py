"""Friction of annular contacts in a step: the energy that it takes, and its jumps."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...systems.law import force_of
from .axes import axes_of, in_its_axes
from .collocation import WEIGHTS
from .contact import Forces


def rubbed(
    contacts: Sequence, closed: Bool[Array, " c"], found: Forces, length: Array
) -> Float[Array, " c"]:
    """Return the energy lost to friction in a step, J, by quadrature at its nodes."""
    powers = _rubbing_powers(contacts, found.depths, found.rates)
    powers = jnp.where(closed[None], powers, 0.0)
    return length * jnp.tensordot(jnp.asarray(WEIGHTS), powers, 1)


def reverses(
    contacts: Sequence, closed: Bool[Array, " c"], path: Float[Array, "2 k d"]
) -> Bool[Array, ""]:
    """Return whether the friction of a closed contact jumps in a step along a path."""
    if not any(contact.reverses for contact in contacts):
        return jnp.asarray(False)
    sides = _sliding_sides(contacts, *path)
    return jnp.any(closed & (jnp.max(sides, axis=0) > jnp.min(sides, axis=0)))


def _rubbing_powers(
    contacts: Sequence, places: Float[Array, "k d"], rates: Float[Array, "k d"]
) -> Float[Array, "k c"]:
    """Return the powers lost to the friction of annular contacts, W, 0 for others."""
    powers = []
    for contact, x, y in zip(contacts, *axes_of(contacts)[1:3], strict=True):
        if contact.has_linear_gap:
            powers.append(jnp.zeros(len(places)))
            continue
        here = in_its_axes(contact)

        def power(place, rate, here=here):
            motion = here.penetration(place), here.closing_rate(place, rate)
            return here.rubbing_power(force_of(here.law, *motion), place, rate)

        powers.append(jax.vmap(power)(places[:, x : y + 1], rates[:, x : y + 1]))
    return jnp.stack(powers, axis=1)


def _sliding_sides(
    contacts: Sequence, places: Float[Array, "k d"], rates: Float[Array, "k d"]
) -> Float[Array, "k c"]:
    """Return on which side of zero surfaces slide where their friction may jump, else 0."""
    sides = []
    for contact, x, y in zip(contacts, *axes_of(contacts)[1:3], strict=True):
        if not contact.reverses:
            sides.append(jnp.zeros(len(places)))
            continue
        sliding = jax.vmap(in_its_axes(contact).sliding_speed)
        speed = sliding(places[:, x : y + 1], rates[:, x : y + 1])
        sides.append(jnp.sign(contact.friction_coefficient) * jnp.sign(speed))
    return jnp.stack(sides, axis=1)
