"""The fields of a result as labelled arrays, and back: names, axes, units."""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .labels import Labels

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
    module and entries of a dictionary are joined by dots. Systems, tuples and those named
    in `without` are left out.

    **Raises:** `ValueError` if the result is not a module, or a field has fewer axes than
    declared.
    """
    if not dataclasses.is_dataclass(result):
        raise ValueError(
            f"the analysis returned a {type(result).__name__}; allowed: a module of arrays"
        )
    found: dict[str, Variable] = {}
    names = {field.name for field in dataclasses.fields(result)}
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        aside = field.metadata.get("static") or field.metadata.get("system")
        if value is None or aside or isinstance(value, tuple) or field.name in without:
            continue
        if dataclasses.is_dataclass(value):
            inner = variables(value, leading)
            found |= {f"{field.name}.{name}": entry for name, entry in inner.items()}
        elif isinstance(value, dict):
            for name, one in value.items():
                entry = _labelled(field, np.asarray(one), leading, names)
                words = f"{entry.description} {name}"
                found[f"{field.name}.{name}"] = dataclasses.replace(
                    entry, description=words
                )
        else:
            entry = _labelled(field, np.asarray(value), leading, names)
            unit = unit_of(result, field.name)
            found[field.name] = dataclasses.replace(entry, unit=unit)
    return found


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


def columns(
    fields: Iterable[tuple[str, Variable]], names: Callable[[str], Sequence[str]]
) -> Iterator[tuple[str, Variable]]:
    """Yield the columns of fields along their first axis, such as `amplitude[main]`.

    Complex ones are two, `.real` and `.imag`. `names`: of the places along an axis.
    """
    for name, one in fields:
        along = [names(axis) for axis in one.axes[1:]]
        for place in np.ndindex(one.values.shape[1:]):
            inside = ",".join(
                words[i] if i < len(words) else str(i)
                for words, i in zip(along, place, strict=True)
            )
            values = one.values[:, *place]
            column = dataclasses.replace(one, axes=one.axes[:1], values=values)
            yield from real_parts(f"{name}[{inside}]" if inside else name, column)


def real_parts(name: str, one: Variable) -> list[tuple[str, Variable]]:
    """Return an array under its name, a complex one as two: `.real` and `.imag`."""
    if not np.iscomplexobj(one.values):
        return [(name, one)]
    both = {"real": one.values.real, "imag": one.values.imag}
    return [
        (f"{name}.{part}", dataclasses.replace(one, values=values))
        for part, values in both.items()
    ]


def unit_of(result: Any, name: str) -> str:
    """Return the unit of a result's field; for displacements one per component."""
    declared = type(result).__dataclass_fields__[name].metadata
    unit, axes = declared.get("unit", ""), declared.get("axes", ())
    labels = getattr(result, "labels", Labels())
    unit, units = labels.own_unit(unit), labels.freedom_units
    if unit != "m" or axes[-1:] != ("freedom",) or not units:
        return unit
    return ", ".join(dict.fromkeys(units))


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
