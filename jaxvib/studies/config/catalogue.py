"""What may be set in a system, known before JAX is imported.

A config is checked in a fraction of the second that importing JAX takes, so what
systems declare of their parameters (`quantity`) is kept beside this file, in
`catalogue.json`. `python -m jaxvib.studies.run.write_catalogue` writes it anew, and a test
holds it against the declarations.
"""

import dataclasses
import functools
import json
from pathlib import Path

from ..._range import Range

FILE = Path(__file__).with_name("catalogue.json")


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
    kinds = json.loads(FILE.read_text())
    return {
        kind: {
            path: Declared(allowed=Range(**entry.pop("allowed")), **entry)
            for path, entry in paths.items()
        }
        for kind, paths in kinds.items()
    }
