"""What the command writes: lines for people, in colour on a terminal, or JSON."""

import json
import os
from collections.abc import Callable

import click

from ._words import printable

_BAD, _GOOD, _DOUBTFUL = "red", "green", "yellow"


def say(line: str, *, err: bool = False) -> None:
    """Print a line, whatever the config or a folder's name may hold.

    A line that says how a study is has its first word in colour; a pipe, `NO_COLOR` and a
    terminal without colours get none.
    """
    text = printable(line)
    label, colour = line.partition(" ")[0], _colour(line)
    if colour is not None:
        text = click.style(label, fg=colour, bold=True) + text.removeprefix(label)
    click.echo(text, err=err, color=None if _wanted() else False)


def tell(found: dict, lines: Callable[[dict], list[str]], *, as_json: bool) -> None:
    """Print what was found: as lines, or as one JSON object and nothing else."""
    if as_json:
        click.echo(json.dumps(found, allow_nan=False))
        return
    for line in lines(found):
        say(line)


def _colour(line: str) -> str | None:
    if not line.split():
        return None
    label, *rest = line.split()[:3]
    if label == "jaxvib:":
        return _BAD
    if label == "done" and "of" not in rest:
        return _GOOD
    if label == "failed":
        return _GOOD if rest[:1] == ["0"] else _BAD
    if label == "state":
        return _DOUBTFUL if rest[0].startswith("stopped") else _GOOD
    return None


def _wanted() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
