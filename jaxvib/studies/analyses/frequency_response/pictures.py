"""Frequency response: amplitude and phase of every degree of freedom."""

from collections.abc import Sequence

import numpy as np

from ...pictures.comparison_styles import look, named
from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_planes import slider_samples
from ...store.finished_study import Run


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return amplitude and phase over frequency, with a slider over samples."""
    run = runs[0]
    samples, choice = slider_samples(run)
    amplitude = [*_lines(runs, samples, "amplitude", choice is not None)]
    phase = [*_lines(runs, samples, "phase", choice is not None)]
    positive = np.concatenate([line.y[line.y > 0] for line in amplitude])
    low = float(max(positive.min(), 1e-6 * positive.max()))
    x = Axis("frequency (rad/s)")
    force = run.study["config"]["analysis"]["force"]
    return [
        Picture(
            "frequency_response",
            f"Response to a unit force on {force}",
            "Displacement (m) or rotation (rad) per unit force or moment, 0-peak, and its "
            "phase: 0 in phase with the force, -pi in antiphase.",
            "Amplitude and phase of each degree of freedom over frequency.",
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
                    named(name, run, runs),
                    *look(freedom, number, runs),
                    option=option if chosen else None,
                )


def _unbroken(values: np.ndarray, field: str) -> np.ndarray:
    """Return values with a gap where the phase jumps from -pi to pi."""
    if field != "phase":
        return values
    jumps = np.append(np.abs(np.diff(values)) > np.pi, False)
    return np.where(jumps, np.nan, values)
