"""Labelled arrays of a study's results, and what joins them."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...drawing.fields import Variable as Variable
from ...drawing.fields import from_fields as from_fields
from ...drawing.fields import unit_of
from ...drawing.fields import variables as variables


def orbit_variables(
    orbits: Any, axis: str, fields: Mapping[str, str]
) -> dict[str, Variable]:
    """Return fields of a batched `PeriodicOrbit`, with the name of its leading axis.

    `fields`: descriptions by name, in order; an empty one stands for the orbit's own. The
    progress of a system with a drift is added.
    """
    declared = {field.name: field.metadata for field in dataclasses.fields(orbits)}
    drifts = [name for name in ("progress", "progress_error") if name in declared]
    return {
        name: Variable(
            (axis, *declared[name]["axes"]),
            np.asarray(getattr(orbits, name)),
            unit_of(orbits, name),
            words or declared[name]["description"],
        )
        for name, words in {**fields, **dict.fromkeys(drifts, "")}.items()
    }


def stacked(rows: Iterable[Mapping[str, Variable]], axis: str) -> dict[str, Variable]:
    """Return labelled arrays of equal shapes as one each, along a leading axis."""
    rows = list(rows)

    def all_of(name: str, one: Variable) -> Variable:
        values = np.stack([row[name].values for row in rows])
        return dataclasses.replace(one, axes=(axis, *one.axes), values=values)

    return {name: all_of(name, one) for name, one in rows[0].items()}


def joined(*parts: dict[str, Variable]) -> dict[str, Variable]:
    """Return the fields of several parts, one behind the other."""
    every = {name: [part[name].values for part in parts] for name in parts[0]}
    return {
        name: dataclasses.replace(field, values=np.concatenate(every[name]))
        for name, field in parts[0].items()
    }


def with_coordinates(
    fields: Mapping[str, Variable], coordinates: Mapping[str, Variable]
) -> dict[str, Variable]:
    """Merge coordinates and fields. **Raises:** `ValueError` for a common name."""
    both = set(fields) & set(coordinates)
    if both:
        raise ValueError(f"{min(both)} is a field of the result and a parameter")
    return {**coordinates, **fields}
