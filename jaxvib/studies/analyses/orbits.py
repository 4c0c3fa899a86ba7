"""Converts fields of many orbits to labelled arrays."""

import dataclasses
from collections.abc import Mapping

import equinox as eqx
import numpy as np

from ..store.fields import Variable, unit_of, variables

_OF_DRIFTS = ("progress", "progress_error")


def orbit_variables(
    orbits: eqx.Module, axis: str, fields: Mapping[str, str]
) -> dict[str, Variable]:
    """Return fields of a batched `PeriodicOrbit`, with the name of its leading axis.

    `fields`: descriptions by name, in order; an empty one stands for the orbit's own. The
    progress of a system with a drift is added.
    """
    declared = {field.name: field.metadata for field in dataclasses.fields(orbits)}
    fields = {**fields, **{name: "" for name in _OF_DRIFTS if name in declared}}
    return {
        name: Variable(
            (axis, *declared[name]["axes"]),
            np.asarray(getattr(orbits, name)),
            unit_of(orbits, name),
            words or declared[name]["description"],
        )
        for name, words in fields.items()
    }


def own_variables(result: eqx.Module, *others: str) -> dict[str, Variable]:
    """Return the fields of a result except for the nested results `others`."""
    plain = eqx.tree_at(
        lambda one: [getattr(one, name) for name in others], result, [None] * len(others)
    )
    return variables(plain)
