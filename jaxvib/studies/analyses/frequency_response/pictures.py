"""Frequency response: amplitude and phase of every freedom."""

from collections.abc import Sequence

import numpy as np

from ...pictures.picture import Axis, Chart, Choice, Line, Picture
from ...pictures.swept_planes import value_text
from ...store.finished import Run

_MOST_SAMPLES = 33  # of a slider: as many steps as a hand can tell apart


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return amplitude and phase over frequency, the slider walks through samples."""
    run = runs[0]
    samples = np.linspace(0, run.size - 1, min(run.size, _MOST_SAMPLES)).round().astype(int)
    chosen = len(samples) > 1
    amplitude = [*_lines(runs, samples, "amplitude", chosen)]
    phase = [*_lines(runs, samples, "phase", chosen)]
    positive = np.concatenate([line.y[line.y > 0] for line in amplitude])
    low = float(max(positive.min(), 1e-6 * positive.max()))
    x = Axis("frequency (rad/s)")
    force = run.study["config"]["analysis"]["force"]
    choice = None
    if chosen:
        labels = [
            ", ".join(value_text(run, path, run.field(path)[i]) for path in run.paths)
            for i in samples
        ]
        choice = Choice(", ".join(run.paths), tuple(labels))
    return [
        Picture(
            "frequency_response",
            f"Response to a unit force on {force}",
            "Displacement (m) or rotation (rad) per unit force or moment, 0-peak, and its "
            "phase: 0 with the force, -pi against it.",
            "Amplitude and phase of each freedom over frequency.",
            (
                Chart(
                    x,
                    Axis("amplitude per unit force", log=True,
                         low=0.8 * low, high=1.25 * float(positive.max())),
                    tuple(amplitude),
                    "amplitude",
                ),
                Chart(x, Axis("phase (rad)"), tuple(phase), "phase"),
            ),
            choice=choice,
        )
    ]  # fmt: skip


def _lines(runs: Sequence[Run], samples, field: str, chosen: bool):
    for number, run in enumerate(runs):
        values, frequencies = run.field(field), run.field("frequencies")
        names = run.names("freedom", values.shape[2])
        for option, sample in enumerate(samples):
            for freedom, name in enumerate(names):
                yield Line(
                    frequencies[sample],
                    _unbroken(values[sample, :, freedom], field),
                    name + f" ({run.name})" * (len(runs) > 1),
                    freedom,
                    ("solid", "dash")[number],
                    option=option if chosen else None,
                )


def _unbroken(values: np.ndarray, field: str) -> np.ndarray:
    """Return values with a gap where a phase jumps from -pi to pi."""
    if field != "phase":
        return values
    jumps = np.append(np.abs(np.diff(values)) > np.pi, False)
    return np.where(jumps, np.nan, values)
