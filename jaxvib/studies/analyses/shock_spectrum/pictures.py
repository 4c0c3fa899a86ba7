"""Shock response spectra: largest accelerations over the natural frequency."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...pictures.comparison_styles import named
from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_planes import slider_samples
from ...store.finished_study import Run


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the spectra, with a slider over samples."""
    run = runs[0]
    samples, choice = slider_samples(run)
    chosen = choice is not None
    x = Axis("natural frequency (rad/s)", log=True)
    return [
        Picture(
            "shock_spectrum",
            "Shock response spectrum",
            "The largest absolute acceleration of an oscillator on the base, overall and "
            "after the shock (residual, dashed), and its largest displacement relative to "
            "the base.",
            "Largest accelerations and displacements over the natural frequency.",
            (
                Chart(x, Axis("acceleration (m/s^2)", log=True),
                      (*_lines(runs, samples, "maximax", "solid", chosen),
                       *_lines(runs, samples, "residual", "dash", chosen))),
                Chart(x, Axis("relative displacement (m)", log=True),
                      tuple(_lines(runs, samples, "displacement", "solid", chosen))),
            ),
            choice=choice,
            stacked=True,
        )
    ]  # fmt: skip


def _lines(runs, samples, field: str, style: str, chosen: bool) -> Iterator[Line]:
    for number, run in enumerate(runs):
        values, frequencies = run.field(field), run.field("frequencies")
        names = run.names("damping", values.shape[1])
        for option, sample in enumerate(samples):
            for i, name in enumerate(names):
                known = np.where(values[sample, i] > 0, values[sample, i], np.nan)
                words = named(f"damping {name}", run, runs)
                yield Line(frequencies[sample, i], known, words, i + number * len(names),
                           style, legend=style == "solid",
                           option=option if chosen else None)  # fmt: skip
