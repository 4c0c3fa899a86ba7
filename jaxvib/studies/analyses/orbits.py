"""Fields of many orbits as a study stores them."""

import dataclasses
from collections.abc import Mapping

import equinox as eqx
import numpy as np

from ..store.fields import Variable, unit_of, variables


def orbit_variables(orbits, axis: str, fields: Mapping[str, str]) -> dict[str, Variable]:
    """Return fields of a `PeriodicOrbit` that has a leading axis of that name.

    `fields`: their descriptions by name, in order; an empty one stands for the orbit's own.
    """
    declared = {field.name: field.metadata for field in dataclasses.fields(orbits)}
    return {
        name: Variable(
            (axis, *declared[name]["axes"]),
            np.asarray(getattr(orbits, name)),
            unit_of(orbits, name),
            words or declared[name]["description"],
        )
        for name, words in fields.items()
    }


def own_variables(result, *others: str) -> dict[str, Variable]:
    """Return the fields of a result but for the `others`, each a result itself."""
    plain = eqx.tree_at(
        lambda one: [getattr(one, name) for name in others], result, [None] * len(others)
    )
    return variables(plain)
