"""Completion of studies, paths of parameters and files in a shell."""

from click import Context, Parameter
from click.shell_completion import CompletionItem

from ..analyses.kinds import SYSTEMS
from ..config.document import read
from .builtin_studies import find, titles
from .study import kind_of


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
