"""Motions from rest: displacements over time, and peaks along a swept path."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...pictures.comparison_styles import look, named
from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_planes import axis, long_paths, slider_samples
from ...store.finished_study import Run


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the motions, and their peaks if one path is swept."""
    samples, choice = slider_samples(runs[0])
    lines = tuple(_histories(runs, samples, choice is not None))
    found = [
        Picture(
            "history",
            "Motion over time",
            "Displacements from rest; peaks are also located between the stored times.",
            "Displacements over time.",
            (Chart(Axis("time (s)"), Axis("displacement (m)"), lines),),
            choice=choice,
        )
    ]
    if len(long_paths(runs[0])) == 1:
        (path,) = long_paths(runs[0])
        label = Axis("largest displacement (m)")
        found.append(
            Picture(
                "peaks",
                f"Peaks over {path}",
                "The largest absolute displacement from rest of each degree of freedom.",
                f"Largest displacements over {path}.",
                (Chart(axis(runs[0], path), label, tuple(_peaks(runs, path))),),
            )
        )
    return found


def _histories(runs, samples, chosen: bool) -> Iterator[Line]:
    for number, run in enumerate(runs):
        places, times = run.field("displacements"), run.field("instants")
        for option, sample in enumerate(samples):
            for i, name in enumerate(run.names("freedom", places.shape[2])):
                yield Line(times[sample], places[sample, :, i], named(name, run, runs),
                           *look(i, number, runs),
                           option=option if chosen else None)  # fmt: skip


def _peaks(runs, path: str) -> Iterator[Line]:
    for number, run in enumerate(runs):
        values, peaks = run.field(path), run.field("peak")
        for i, name in enumerate(run.names("freedom", peaks.shape[1])):
            yield Line(values, peaks[:, i], named(name, run, runs), *look(i, number, runs),
                       samples=np.arange(run.size), run=number)  # fmt: skip
