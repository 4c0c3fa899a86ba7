"""Colours, line styles and symbols that distinguish compared studies."""

from collections.abc import Sequence

from ..store.finished_study import Run

MOST_COMPARED = 8  # as many as there are distinguishable colours
_STYLES = ("solid", "dash", "dashdot", "dot")
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "hexagon", "star", "cross", "x")


def look(part: int, number: int, runs: Sequence[Run]) -> tuple[int, str]:
    """Return colour and line style for a part (a body, a mode) of a run.

    With two runs, colour distinguishes parts and style runs; with more, whose styles
    could not be distinguished, colour distinguishes runs.
    """
    if len(runs) > 2:
        part, number = number, part
    return part, _STYLES[number % len(_STYLES)]


def symbol(number: int) -> str:
    """Return the marker symbol of a run's points."""
    return _SYMBOLS[number]


def named(words: str, run: Run, runs: Sequence[Run]) -> str:
    """Append the run's name to a label if there are several runs."""
    return f"{words} ({run.name})".strip() if len(runs) > 1 else words
