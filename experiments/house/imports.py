"""Draw the imports between packages in CONTRIBUTING.md.

    python -m experiments.house.imports

Arrows implied by others are omitted: everything above a folder may import it.
"""

import graphlib
import re
from collections.abc import Callable
from pathlib import Path

from experiments.house.sources import PACKAGE, folder, imports

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
_BETWEEN = re.compile(r"(?<=<!-- imports -->\n).*(?=<!-- /imports -->)", re.DOTALL)
_COMMAND = ("__main__", "cli", "session")

Arrows = dict[str, set[str]]


def page() -> str:
    """Return CONTRIBUTING.md with the imports as they are."""
    drawn = f"{_drawn(arrows(_place))}\nInside `studies`:\n\n{_drawn(arrows(_room))}"
    return _BETWEEN.sub(lambda _: drawn, PAGE.read_text(encoding="utf-8"))


def arrows(place: Callable[[str], str]) -> Arrows:
    """Return which places import from which, `place` telling where a module lies."""
    found: Arrows = {}
    for link in imports():
        above, below = place(link.importer), place(link.imported)
        if above and below and above != below:
            found.setdefault(above, set()).add(below)
            found.setdefault(below, set())
    return found


def _place(module: str) -> str:
    first = folder(module)
    if first in _COMMAND:
        return "cli"
    return first if first and (PACKAGE / first).is_dir() else "jaxvib/*.py"


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "studies" and len(parts) > 2 else ""


def _drawn(found: Arrows) -> str:
    below: Arrows = {}  # all that a place reaches
    lines = ["```mermaid", "flowchart TD"]
    for place in graphlib.TopologicalSorter(found).static_order():
        reached = [below[other] for other in found[place]]
        implied = set().union(*reached)
        below[place] = found[place] | implied
        lines += [
            f"  {_node(place)} --> {_node(to)}" for to in sorted(found[place] - implied)
        ]
    return "\n".join([*lines[:2], *sorted(lines[2:]), "```", ""])


def _node(place: str) -> str:
    return place if place.isalpha() else f'ground["{place}"]'


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
