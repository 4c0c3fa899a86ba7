"""How studies that are compared in one picture are told apart."""

from collections.abc import Sequence

from ..store.finished import Run

MOST_COMPARED = 8  # as many as there are colours that keep their distance
_STYLES = ("solid", "dash", "dashdot", "dot")
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "hexagon", "star", "cross", "x")


def look(part: int, number: int, runs: Sequence[Run]) -> tuple[int, str]:
    """Return colour and style of what is drawn of a part (a body, a mode) of a run.

    Of two runs the parts differ by colour and the runs by style; of more, whose styles
    nobody would tell apart, it is the other way round.
    """
    if len(runs) > 2:
        part, number = number, part
    return part, _STYLES[number % len(_STYLES)]


def symbol(number: int) -> str:
    """Return the mark of a run's points."""
    return _SYMBOLS[number]


def named(words: str, run: Run, runs: Sequence[Run]) -> str:
    """Return words with the run that they are about, where there are several."""
    return f"{words} ({run.name})".strip() if len(runs) > 1 else words
