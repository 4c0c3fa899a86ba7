"""What may be set in a system, known before JAX is imported.

A config is checked in a fraction of the second that importing JAX takes, so what
systems declare of their parameters (`quantity`) is kept beside this file, in
`catalogue.json`. `python -m jaxvib.studies.catalogue` writes it anew, and a test holds
it against the declarations.
"""

import dataclasses
import functools
import json
from pathlib import Path

import numpy as np

from .._range import Range

_FILE = Path(__file__).with_name("catalogue.json")


@dataclasses.dataclass(frozen=True)
class Declared:
    """What a system declares of one parameter, and the value it has by default."""

    default: float | list
    unit: str
    description: str
    allowed: Range

    def __str__(self) -> str:
        return f"{self.allowed} {self.unit}".rstrip()


@functools.cache
def catalogue() -> dict[str, dict[str, Declared]]:
    """Return what each kind of system declares, by kind and path."""
    kinds = json.loads(_FILE.read_text())
    return {
        kind: {
            path: Declared(allowed=Range(**entry.pop("allowed")), **entry)
            for path, entry in paths.items()
        }
        for kind, paths in kinds.items()
    }


def declared_now() -> dict:
    """Return the contents that `catalogue.json` should have, from the systems."""
    from .kinds import SYSTEMS

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
    from ..systems import parameters

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
    _FILE.write_text(json.dumps(declared_now(), indent=1) + "\n")
