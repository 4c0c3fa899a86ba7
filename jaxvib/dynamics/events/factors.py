r"""Factors $1 + v(t)$ of the forces of contacts and springs that vary in time."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array

from ...foundation.types import Number
from ...systems.base.event_form import form_of
from ...systems.impact import EquationOfMotion
from ...systems.loads import Load


class Factor(NamedTuple):
    """The variation of a force, and a bound of its factor's magnitude."""

    law: Load
    most: Any


class Acting(NamedTuple):
    """A contact or spring, its form, and the position of its factor or None."""

    part: Any
    form: Any
    factor: int | None


def acting_parts(
    equation: EquationOfMotion,
) -> tuple[list[Acting], list[Acting], list[Factor]]:
    """Return the contacts and the springs of an equation, and all their factors."""
    factors: list[Factor] = []

    def acting(part):
        law, place = part.variation, None
        if law is not None:
            place = len(factors)
            factors.append(Factor(law, 1 + law.largest()))
        return Acting(part, form_of(part.law), place)

    contacts = [acting(contact) for contact in equation.contacts]
    return contacts, [acting(spring) for spring in equation.springs], factors


class ScaledSeries:
    """Series of forces times their factors, order by order."""

    def __init__(self, parts: Sequence):
        self.parts, self.plain = parts, [[] for _ in parts]

    def term(self, i: int, force: Number, factors: Sequence) -> Number:
        """Return the next coefficient of a part's force, given that without the factor.

        `factors`: the series of each, at least up to that order or to their last.
        """
        place, plain = self.parts[i].factor, self.plain[i]
        if place is None:
            return force
        plain.append(force)
        return sum(c * x for c, x in zip(factors[place], reversed(plain), strict=False))


def scaled(part: Any, force: Array, factors: Sequence) -> Array:
    """Return a part's force in a state, given that without the factor."""
    return force if part.factor is None else factors[part.factor] * force


def steepest(motion: Any, part: Any, stiffness: Number) -> Number:
    """Return a bound of the magnitude of a stiffness with its factor."""
    if part.factor is None:
        return stiffness
    return stiffness * jnp.abs(motion.factors[part.factor].most)
