"""Writes `catalogue.json`: python -m jaxvib.studies.run.write_catalogue."""

import dataclasses
import json
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...foundation.range import Range
from ...systems import parameters
from ..analyses.kinds import SYSTEMS
from ..config.catalogue import FILE


def declared_now() -> dict:
    """Return the current content for `catalogue.json`, from the systems."""
    return {
        kind: {
            f"{name}.{path}".lstrip("."): entry
            for name, part in _parts(system.default()).items()
            for path, entry in _declared(part)
        }
        for kind, system in SYSTEMS.items()
    }


def _parts(default: Any) -> dict[str, Any]:
    return default if isinstance(default, dict) else {"": default}


def _declared(part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and the entry of each number of a system, or of a class."""
    if not isinstance(part, type):
        for path, each in parameters(part).items():
            default = {"default": np.asarray(each.value).tolist()}
            yield path, default | _entry(each.unit, each.description, each.allowed)
        return
    for field in dataclasses.fields(part):
        if "range" in (about := field.metadata):
            given = (
                {}
                if field.default is dataclasses.MISSING
                else {"default": np.asarray(field.default).tolist()}
            )
            given |= {} if (size := _size(field)) is None else {"size": size}
            entry = _entry(about["unit"], about["description"], about["range"])
            yield about["name"], given | entry


def _size(field: dataclasses.Field) -> int | None:
    """Return the length of a declared array, 0 for any, None for a number."""
    # An array of a declared shape, or None.
    kind: Any = (*typing.get_args(field.type), field.type)[0]
    sizes = kind.dim_str.split()
    return int(sizes[0]) if sizes and sizes[0].isdigit() else 0 if sizes else None


def _entry(unit: str, description: str, allowed: Range) -> dict[str, Any]:
    return {"unit": unit, "description": description, "allowed": _bounds(allowed)}


def _bounds(allowed) -> dict[str, float]:
    unbounded = dataclasses.asdict(Range())
    found = dataclasses.asdict(allowed)
    return {name: found[name] for name in found if found[name] != unbounded[name]}


if __name__ == "__main__":
    FILE.write_text(json.dumps(declared_now(), indent=1) + "\n")
