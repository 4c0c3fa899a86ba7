"""The loading curve of a continuation: orbits followed along one parameter."""

from collections.abc import Sequence

import numpy as np

from ..ensemble import reason
from .curves import AMPLITUDE
from .picture import Axis, Chart, Line, Notes, Picture
from .planes import axis
from .reading import Run

_STYLES = {1: ("solid", "stable"), 0: ("dash", "unstable"), -1: ("dot", "undecided")}


def loading_curve(runs: Sequence[Run]) -> Picture:
    """Return amplitude and largest multiplier of a branch against its parameter."""
    path = runs[0].paths[0]
    x = axis(runs[0], path)
    amplitudes, multipliers = [], []
    for number, run in enumerate(runs):
        tag = f" ({run.name})" if len(runs) > 1 else ""
        amplitude = run.field("amplitude")
        for freedom, name in enumerate(run.names("freedom", amplitude.shape[1])):
            colour = freedom + number * amplitude.shape[1]
            amplitudes += _verdict_lines(
                run, path, amplitude[:, freedom], name + tag, colour
            )
        amplitudes += _notes(run, path, amplitude[:, 0])
        largest = run.field("largest_multiplier")
        multipliers += _verdict_lines(
            run, path, largest, "largest |multiplier|" + tag, number
        )
        multipliers += _notes(run, path, largest)
    ends = [run.field(path)[[0, -1]] for run in runs]
    limit = np.array([np.min(ends), np.max(ends)])
    multipliers.append(Line(limit, np.ones(2), "stability limit", 3, "dot"))
    return Picture(
        "loading_curve",
        f"Loading curve over {path}",
        "A branch of periodic orbits: solid where stable, dashed where unstable, dotted "
        "where undecided. Diamonds: the number of contacts per orbit changes. Squares: "
        f"why the branch ends. {_end_sentence(runs)}",
        f"Amplitude and largest multiplier of a branch over {path}, from {limit[0]:.5g} to "
        f"{limit[1]:.5g} {runs[0].unit(path)}. {_end_sentence(runs)}",
        (
            Chart(x, Axis(AMPLITUDE), tuple(amplitudes)),
            Chart(x, Axis("largest |Floquet multiplier|"), tuple(multipliers)),
        ),
    )


def _verdict_lines(run: Run, path: str, values, name: str, colour: int):
    """Return one line per verdict; neighbours share a point, so that no gap opens."""
    verdicts = run.field("stable")
    for verdict, (style, word) in _STYLES.items():
        own = verdicts == verdict
        if not own.any():
            continue
        reached = own.copy()
        reached[1:] |= own[:-1]
        yield Line(
            run.field(path),
            np.where(reached, values, np.nan),
            f"{name}, {word}",
            colour,
            style,
        )


def _notes(run: Run, path: str, values: np.ndarray) -> list[Notes]:
    x, contacts = run.field(path), run.field("contacts")
    changes = np.flatnonzero(np.diff(contacts)) + 1
    texts = tuple(f"{contacts[i - 1]} → {contacts[i]} contacts" for i in changes)
    ends = [0, -1]
    return [
        Notes(x[changes], values[changes], texts, "contacts change"),
        Notes(x[ends], values[ends], _end_reasons(run), "end of the branch", "square"),
    ]


def _end_reasons(run: Run) -> tuple[str, str]:
    first, last = run.field("ends")
    return reason(first), reason(last)


def _end_sentence(runs: Sequence[Run]) -> str:
    path = runs[0].paths[0]
    sentences = []
    for run in runs:
        values, texts = run.field(path), _end_reasons(run)
        unit = run.unit(path)
        low, high = (f"{values[i]:.5g} {unit}: {texts[i]}" for i in (0, -1))
        name = f"{run.name}: " if len(runs) > 1 else ""
        sentences.append(f"{name}It ends at {low}, and at {high}.")
    return " ".join(sentences)
