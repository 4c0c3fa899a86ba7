"""The system of a config, which may be a `[system]` table; completion in a shell."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from click import Context, Parameter
from click.shell_completion import CompletionItem

from ..analyses.kinds import SYSTEMS
from ..config.document import read
from ..config.tables import validated
from ..systems.base import Role
from .builtin_studies import find, titles
from .study import SECTIONS, Title, kind_of, read_output


class SystemFile(NamedTuple):
    """The system of a config, its title and the units of its pictures."""

    system: Any
    title: str
    units: list[str]


def read_system(
    path: Path, assignments: Sequence[str] = (), *, transient: bool = False
) -> SystemFile:
    """Read and build the system of a config, with `path=value` assignments.

    Other tables may be absent; `transient`: loads need not be periodic. **Raises:**
    `ValueError` for a fault in `[system]`, naming its place, or for a kind of system
    without periodic motions.
    """
    document = read(path).override(assignments, SECTIONS)
    tables = document.tables
    kind = kind_of(document, "system", SYSTEMS)
    if Role.PERIODIC not in kind.roles:
        allowed = ", ".join(
            f'"{name}"' for name in sorted(SYSTEMS) if Role.PERIODIC in SYSTEMS[name].roles
        )
        raise ValueError(
            f'{document.where("system.kind")}: system.kind = "{kind.name}" has no periodic '
            f"motions; allowed: {allowed}"
        )
    options = kind.read(document)
    if not transient:
        kind.refuse_transients(options, document)
    given = {"title": tables["title"]} if "title" in tables else {}
    title = validated(Title, given, "", document).title
    units = read_output(document, options).units
    return SystemFile(kind.build(options), title or path.stem, units)


def studies(context: Context, parameter: Parameter, incomplete: str) -> list:
    """Return the built-in studies that begin with a text, and the shell's own files."""
    named = [
        CompletionItem(name, help=title)
        for name, title in titles().items()
        if name.startswith(incomplete)
    ]
    return [*named, CompletionItem(incomplete, type="file")]


def assignments(context: Context, parameter: Parameter, incomplete: str) -> list:
    """Return the parameters of the command's config that begin with a text."""
    # Behind an option without its value click has parsed no argument yet.
    given = [*filter(None, map(context.params.get, ("config", "source"))), *context.args]
    try:
        document = read(find(str(given[0])))
        kind = kind_of(document, "system", SYSTEMS)
        paths = [*kind.declared(kind.read(document))]
    except (
        IndexError,
        ValueError,
        OSError,
    ):  # nothing is completed for a config with a fault
        return []
    return [CompletionItem(path) for path in paths if path.startswith(incomplete)]
