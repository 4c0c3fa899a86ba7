"""Lines of samples and over a swept path, and what tells compared studies apart."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from ..store.finished_study import Run
from .picture import Line
from .swept_planes import MOST_OF_A_SLIDER, slider_samples

MOST_COMPARED = 8  # as many as there are distinguishable colours
_STYLES = ("solid", "dash", "dashdot", "dot")
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "hexagon", "star", "cross", "x")
# Standard errors of a 95 % interval.
WIDTH = 1.96


def sample_lines(
    runs: Sequence[Run],
    x: str,
    y: str,
    along: str,
    *,
    most: int = MOST_OF_A_SLIDER,
    only: Collection[int] | None = None,
    names: Callable[[Run], Sequence[str]] | None = None,
    drawn: Callable[[np.ndarray], np.ndarray] = lambda values: values,
) -> tuple[Line, ...]:
    """Return a field over another: a line for each run, sample and name.

    **Arguments:** `x`, `y`: fields, (samples, n) and (samples, n, names); `along`: the
    axis of the names; `only`: the shown ones; `names`: theirs, if not those of the
    study; `drawn`: what is drawn of the values of a line.
    """
    found = []
    for number, sample, i, looks in slider_lines(runs, y, along, most, names):
        if only is None or i in only:
            places, values = (runs[number].field(name)[sample] for name in (x, y))
            found.append(Line(places, drawn(values[:, i]), **looks))
    return tuple(found)


def slider_lines(
    runs: Sequence[Run],
    field: str,
    along: str,
    most: int = MOST_OF_A_SLIDER,
    names: Callable[[Run], Sequence[str]] | None = None,
    axis: int = 2,
) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
    """Yield the positions of run, sample and name of lines, and how each looks.

    One for each run that has the field, sample of the slider and name along an `axis` of
    the field, as in `sample_lines`.
    """
    samples, choice = slider_samples(runs[0], most)
    for number, run in enumerate(runs):
        if not run.has(field):
            continue  # a compared study without these elements
        words = names(run) if names else run.names(along, run.field(field).shape[axis])
        for option, sample in enumerate(samples):
            for i, word in enumerate(words):
                colour, style = look(i, number, runs)
                looks = {"name": named(word, run, runs), "colour": colour, "style": style}
                yield number, sample, i, looks | {"option": option if choice else None}


def path_lines(
    runs: Sequence[Run], path: str, field: str, error: str = "", along: str = "freedom"
) -> Iterator[Line]:
    """Yield a field over a swept path, for each name `along` a second axis if it has one.

    `error`: a field of standard errors, whose 95 % interval is dotted.
    """
    for number, run in enumerate(runs):
        values = run.field(field)
        each = values.reshape(run.size, -1)
        names = run.names(along, each.shape[1]) if values.ndim > 1 else [""]
        errors = run.field(error).reshape(each.shape) if error else np.zeros(each.shape)
        for i, name in enumerate(names):
            colour, style = look(i, number, runs) if name else (number, "solid")
            word = named(name, run, runs) if name else run.name
            for side in (0.0, -WIDTH, WIDTH) if error else (0.0,):
                yield Line(run.field(path), each[:, i] + side * errors[:, i], word, colour,
                           "dot" if side else style,
                           legend=not side and (bool(name) or len(runs) > 1), run=number,
                           samples=None if side else np.arange(run.size))  # fmt: skip


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
