"""Forces of contacts and springs whose coefficients vary in time."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float

from ..foundation.types import Number
from .base.law import LoadLaw, ScaledLaw
from .loads import as_load, time_varying

# A variation is a load law whose values are relative, not forces.
_UNITS: Mapping[str, str] = {"N": ""}


def variation_field() -> Any:
    """Declare the field of a part's variation $v(t)$, a load law; None if constant."""
    return eqx.field(default=None, metadata={"units": _UNITS})


class Variation(NamedTuple):
    """The variation of a part: its law, and its path in the system."""

    law: LoadLaw
    name: str


def factor_at(part: Any, time: Number) -> Float[Array, ""]:
    """Return 1 + v(t), the factor of the force of a contact or spring that varies."""
    return 1.0 + part.variation.force(time)


def at_time(parts: Sequence, time: Number) -> tuple:
    """Return contacts or springs with the coefficients that they have at a time."""
    return tuple(
        part
        if part.variation is None
        else eqx.tree_at(
            lambda part: (part.law, part.variation),
            part,
            (ScaledLaw(part.law, factor_at(part, time)), None),
        )
        for part in parts
    )


def variations_of(system: Any) -> list[Variation]:
    """Return the variations of a system's, or an equation's, contacts and springs."""
    return [
        Variation(part.variation, f"{kind}.{part.name or place}.variation")
        for kind, parts in (("contacts", system.contacts), ("springs", system.springs))
        for place, part in enumerate(parts)
        if part.variation is not None
    ]


def without_variations(equation: Any) -> Any:
    """Return an equation with the constant variations of its forces only."""

    def still(part):
        if part.variation is None or not time_varying([Variation(part.variation, "")]):
            return part
        return eqx.tree_at(lambda part: part.variation, part, None)

    parts = tuple(tuple(map(still, each)) for each in (equation.contacts, equation.springs))
    return eqx.tree_at(lambda e: (e.contacts, e.springs), equation, parts).at(0.0)


def varies(system: Any) -> bool:
    """Return whether coefficients of a system's contacts or springs vary in time."""
    return bool(time_varying(variations_of(system)))


def known_laws(system: Any) -> list:
    """Return the laws of loads and variations that are of the library."""
    acting = [*system.loads, *variations_of(system)]
    return [law for part in acting if (law := as_load(part.law)) is not None]
