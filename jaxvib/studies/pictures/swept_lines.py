"""Lines of the samples that a slider selects, and lines over a swept path."""

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from ..store.finished_study import Run
from .comparison_styles import look, named
from .picture import Line
from .swept_planes import MOST_OF_A_SLIDER, slider_samples

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
    samples, choice = slider_samples(runs[0], most)
    found = []
    for number, run in enumerate(runs):
        if not run.has(y):
            continue  # a compared study without these elements
        places, values = run.field(x), run.field(y)
        words = names(run) if names else run.names(along, values.shape[2])
        for option, sample in enumerate(samples):
            for i in range(len(words)) if only is None else only:
                found.append(
                    Line(places[sample], drawn(values[sample, :, i]),
                         named(words[i], run, runs), *look(i, number, runs),
                         option=option if choice else None)
                )  # fmt: skip
    return tuple(found)


def path_lines(
    runs: Sequence[Run], path: str, field: str, error: str = ""
) -> Iterator[Line]:
    """Yield a field over a swept path, for each degree of freedom if it has the axis.

    `error`: a field of standard errors, whose 95 % interval is dotted.
    """
    for number, run in enumerate(runs):
        values = run.field(field)
        each = values.reshape(run.size, -1)
        names = run.names("freedom", each.shape[1]) if values.ndim > 1 else [""]
        errors = run.field(error).reshape(each.shape) if error else np.zeros(each.shape)
        for i, name in enumerate(names):
            colour, style = look(i, number, runs) if name else (number, "solid")
            word = named(name, run, runs) if name else run.name
            for side in (0.0, -WIDTH, WIDTH) if error else (0.0,):
                yield Line(run.field(path), each[:, i] + side * errors[:, i], word, colour,
                           "dot" if side else style,
                           legend=not side and (bool(name) or len(runs) > 1), run=number,
                           samples=None if side else np.arange(run.size))  # fmt: skip
