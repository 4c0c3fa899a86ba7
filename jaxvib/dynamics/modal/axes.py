"""Axes of contacts: the displacements on which their forces depend, one or two each."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...systems.base.law import force_of
from ...systems.contacts.annular import AnnularContact


class Axes(NamedTuple):
    """Which axes belong to which contacts: one to a direction, two to a round hole.

    `owners` (d,): the contact of each axis; `first`, `second` (c,): the axes of each
    contact, equal for one; `partners` (d,): the other axis of each one's contact, or
    itself; `is_round` (c,): of annular contacts.
    """

    owners: np.ndarray
    first: np.ndarray
    second: np.ndarray
    partners: np.ndarray
    is_round: np.ndarray

    @property
    def some_round(self) -> bool:
        """Whether there are annular contacts."""
        return bool(self.is_round.any())

    @property
    def all_round(self) -> bool:
        """Whether all contacts are annular."""
        return self.some_round and bool(self.is_round.all())

    def sizes(self, values: Float[Array, " d"]) -> Float[Array, " c"]:
        """Return sizes along the axes for each contact: those of its vector in a plane."""
        if not self.some_round:
            return values
        first, second = values[self.first], values[self.second]
        return jnp.where(self.is_round, jnp.hypot(first, second), first)

    def of_contacts(self, values: Array) -> Array:
        """Return values of contacts, along the last axis, for each of their axes."""
        return values[..., self.owners] if self.some_round else values


def axes_of(contacts: Sequence) -> Axes:
    """Return the axes of contacts, in their order."""
    is_round = np.array([not contact.has_linear_gap for contact in contacts], bool)
    owners = np.repeat(np.arange(is_round.size), 1 + is_round)
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    second = first + is_round
    partners = np.arange(owners.size)
    partners[first], partners[second] = second, first
    return Axes(owners, first, second, partners, is_round)


def axis_limits(contacts: Sequence) -> Float[Array, " d"]:
    """Return the offsets of displacements: gaps, or that of a hole."""
    limits = [
        contact.gap[None] if contact.has_linear_gap else contact.offset
        for contact in contacts
    ]
    return jnp.concatenate(limits) if limits else jnp.zeros(0)


def axis_forces(
    contacts: Sequence, places: Float[Array, "k d"], rates: Float[Array, "k d"]
) -> Float[Array, "k d"]:
    """Return the forces of contacts along their axes, against displacements and rates."""
    axes = axes_of(contacts)
    if axes.all_round and are_alike([(c.law, c.regularization) for c in contacts]):
        numbers = map(jnp.stack, zip(*map(jax.tree.leaves, contacts), strict=True))
        every: Any = jax.tree.unflatten(jax.tree.structure(contacts[0]), list(numbers))
        shape = len(places), -1, 2
        both = places.reshape(shape), rates.reshape(shape)
        found = jax.vmap(_of_round, (0, 1, 1), 1)(every, *both)
        return found.reshape(places.shape)
    forces = []
    for contact, x, y in zip(contacts, axes.first, axes.second, strict=True):
        if contact.has_linear_gap:
            force = force_of(contact.law, places[:, x], rates[:, x])[:, None]
        else:
            force = _of_round(contact, places[:, x : y + 1], rates[:, x : y + 1])
        forces.append(force)
    return jnp.concatenate(forces, axis=1)


def _of_round(contact: AnnularContact, places: Array, rates: Array) -> Array:
    """Return the force of an annular contact against displacements in its hole (k, 2)."""
    here = in_its_axes(contact)

    def force(place, rate):
        normal = force_of(here.law, here.penetration(place), here.closing_rate(place, rate))
        return here.retarded(normal, place, rate)

    return jax.vmap(force)(places, rates)


def in_its_axes(contact: AnnularContact) -> AnnularContact:
    """Return an annular contact of the displacements in its hole, with their forces."""
    parts = jnp.eye(2), jnp.zeros(2), jnp.eye(2)
    return eqx.tree_at(lambda c: (c.directions, c.offset, c.response), contact, parts)


def are_alike(parts: Sequence) -> bool:
    """Return whether laws or contacts differ in their numbers only."""
    kinds = [
        (jax.tree.structure(part), [jnp.shape(leaf) for leaf in jax.tree.leaves(part)])
        for part in parts
    ]
    arrays = all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(parts))
    return len(parts) > 1 and arrays and all(kind == kinds[0] for kind in kinds)
