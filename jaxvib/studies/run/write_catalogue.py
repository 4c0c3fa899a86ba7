"""Writes `catalogue.json`: python -m jaxvib.studies.run.write_catalogue."""

import dataclasses
import json

import numpy as np

from ...foundation.range import Range
from ...systems import parameters
from ..analyses.kinds import SYSTEMS
from ..config.catalogue import FILE


def declared_now() -> dict:
    """Return the current content for `catalogue.json`, from the systems."""
    return {
        kind: {
            path: {
                "default": np.asarray(entry.value).tolist(),
                "unit": entry.unit,
                "description": entry.description,
                "allowed": _bounds(entry.allowed),
            }
            for path, entry in _parameters(system.default()).items()
        }
        for kind, system in SYSTEMS.items()
    }


def _parameters(default) -> dict:
    parts = default if isinstance(default, dict) else {"": default}
    return {
        f"{name}.{path}".lstrip("."): entry
        for name, part in parts.items()
        for path, entry in parameters(part).items()
    }


def _bounds(allowed) -> dict[str, float]:
    unbounded = dataclasses.asdict(Range())
    found = dataclasses.asdict(allowed)
    return {name: found[name] for name in found if found[name] != unbounded[name]}


if __name__ == "__main__":
    FILE.write_text(json.dumps(declared_now(), indent=1) + "\n")
