"""Converts a result to labelled arrays: names, axes, units, descriptions."""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from ...drawing.labels import Labels
from ..resources import lazily

eqx = lazily("equinox")

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Variable:
    """A labelled array: names of its axes, values, unit, description, attributes."""

    axes: tuple[str, ...]
    values: np.ndarray
    unit: str = ""
    description: str = ""
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the array in a dataset."""
        return {"units": self.unit, "description": self.description, **self.notes}


def variables(
    result: object, leading: tuple[str, ...] = (), without: Collection[str] = ()
) -> dict[str, Variable]:
    """Return the fields of a module of arrays by name, each as a labelled array.

    Every field has the `leading` axes, followed by its declared ones (`result_field`), or
    `<name>_0`, `<name>_1`, ... if it declares too few. An axis with the name of a field
    becomes `<axis>_component`, since a dataset cannot have both. Fields of a nested
    module are joined by dots. Those named in `without` are left out.

    **Raises:** `ValueError` if the result is not a module, or a field has fewer axes than
    declared.
    """
    if not isinstance(result, eqx.Module):
        raise ValueError(
            f"the analysis returned a {type(result).__name__}; allowed: a module of arrays"
        )
    found: dict[str, Variable] = {}
    names = {field.name for field in dataclasses.fields(result)}
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        if value is None or field.metadata.get("static", False) or field.name in without:
            continue
        if isinstance(value, eqx.Module):
            inner = variables(value, leading)
            found |= {f"{field.name}.{name}": entry for name, entry in inner.items()}
        else:
            entry = _labelled(field, np.asarray(value), leading, names)
            unit = unit_of(result, field.name)
            found[field.name] = dataclasses.replace(entry, unit=unit)
    return found


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


def from_fields(kind: type[Result], read: Callable[[str], Any]) -> Result:
    """Return a result from its stored fields: the inverse of `variables`.

    **Arguments:** `kind`: a module whose fields are declared by `result_field`, or are
    such modules; `read`: returns the array of a name.
    """
    given: dict[str, Any] = {}
    for field in dataclasses.fields(kind):  # ty: ignore[invalid-argument-type]
        if "unit" in field.metadata:
            given[field.name] = read(field.name)
        elif isinstance(inner := field.type, type) and dataclasses.is_dataclass(inner):
            given[field.name] = from_fields(inner, _inside(read, field.name))
    return kind(**given)


def _inside(read: Callable[[str], Any], outer: str) -> Callable[[str], Any]:
    return lambda name: read(f"{outer}.{name}")


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


def unit_of(result: Any, name: str) -> str:
    """Return the unit of a result's field; for displacements one per component."""
    declared = type(result).__dataclass_fields__[name].metadata
    unit, axes = declared.get("unit", ""), declared.get("axes", ())
    labels = getattr(result, "labels", Labels())
    unit, units = labels.own_unit(unit), labels.freedom_units
    if unit != "m" or axes[-1:] != ("freedom",) or not units:
        return unit
    return ", ".join(dict.fromkeys(units))


def with_coordinates(
    fields: Mapping[str, Variable], coordinates: Mapping[str, Variable]
) -> dict[str, Variable]:
    """Merge coordinates and fields. **Raises:** `ValueError` for a common name."""
    both = set(fields) & set(coordinates)
    if both:
        raise ValueError(f"{min(both)} is a field of the result and a parameter")
    return {**coordinates, **fields}


def _labelled(field, values: np.ndarray, leading, names) -> Variable:
    declared = field.metadata.get("axes", ())
    own = tuple(f"{axis}_component" if axis in names else axis for axis in declared)
    number = values.ndim - len(leading)
    if number < len(own):
        raise ValueError(
            f"{field.name} has {values.ndim} axes; declared: {', '.join((*leading, *own))}"
        )
    own += tuple(f"{field.name}_{position}" for position in range(len(own), number))
    words = field.metadata.get("description", "")
    return Variable((*leading, *own), values, description=words)
