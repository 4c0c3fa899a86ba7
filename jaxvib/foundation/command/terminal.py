"""Output of the command: coloured lines on a terminal, or JSON; and its questions."""

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable

import click

from ..text import printable

_LABEL = re.compile(r" *\S+ {2,}| *")
_COMMANDS = ("next", "Try:", "config")
_BAD, _GOOD, _DOUBTFUL = "red", "green", "yellow"


def print_line(line: str, *, err: bool = False) -> None:
    """Print a line, with control characters escaped.

    The first word of a status line is coloured, except for pipes, with `NO_COLOR` and
    on terminals without colours. On a terminal, lines are wrapped to its width.
    """
    text = printable(line)
    if (sys.stderr if err else sys.stdout).isatty():
        text = wrapped(text, shutil.get_terminal_size().columns or 80)
    label, colour = line.partition(" ")[0], _colour(line)
    if colour is not None:
        text = click.style(label, fg=colour, bold=True) + text.removeprefix(label)
    click.echo(text, err=err, color=None if _colour_enabled() else False)


def wrapped(text: str, width: int) -> str:
    """Return a line wrapped to a width, below its text behind the label.

    A command to copy stays in one line, as the terminal breaks it.
    """
    label = text.partition(" ")[0]
    if len(text) <= width or label in _COMMANDS:
        return text
    indent = _LABEL.match(text).end()  # ty: ignore
    return textwrap.fill(
        text,
        width,
        subsequent_indent=" " * (indent if indent <= width // 2 else 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_result(found: dict, lines: Callable[[dict], list[str]], *, as_json: bool) -> None:
    """Print a result as lines, or as a single JSON object."""
    if as_json:
        click.echo(json.dumps(found, allow_nan=False))
        return
    for line in lines(found):
        print_line(line)


def pick(question: str, answers: list[str]) -> str:
    """Prompt for one of several answers by its number."""
    click.secho(question, bold=True)
    for number, answer in enumerate(answers, 1):
        click.echo(f"  {number:2}  {answer}")
    allowed = click.IntRange(1, len(answers))
    return answers[click.prompt("Number", type=allowed, default=1) - 1]


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


def _colour_enabled() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
