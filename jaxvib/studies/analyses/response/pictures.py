"""Motions from rest: displacements over time, and peaks along a swept path."""

from collections.abc import Iterator, Sequence

import numpy as np

from ....drawing.labels import with_unit
from ...pictures.comparison_styles import look, named
from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_planes import axis, long_paths, slider_samples
from ...store.finished_study import Run, readable


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the motions, and their peaks if one path is swept."""
    samples, choice = slider_samples(runs[0])
    shown, time = choice is not None, Axis("time (s)")
    lines = tuple(_histories(runs, samples, shown, "displacements"))
    charts = [Chart(time, Axis("displacement (m)"), lines)]
    for place, name in enumerate(_further(runs[0])):
        lines = tuple(_histories(runs, samples, shown, "further_states", place))
        charts.append(Chart(time, Axis(name), lines))
    found = [
        Picture(
            "history",
            "Motion over time",
            "Displacements from rest; peaks are also located between the stored times."
            + " Below, the states of elements." * (len(charts) > 1),
            "Displacements over time.",
            tuple(charts),
            choice=choice,
            stacked=len(charts) > 1,
        )
    ]
    if len(long_paths(runs[0])) == 1:
        (path,) = long_paths(runs[0])
        label = Axis("largest displacement (m)")
        found.append(
            Picture(
                "peaks",
                f"Peaks over {readable(path)}",
                "The largest absolute displacement from rest of each degree of freedom.",
                f"Largest displacements over {readable(path)}.",
                (Chart(axis(runs[0], path), label, tuple(_peaks(runs, path))),),
            )
        )
    return found


def _further(run: Run) -> list[str]:
    """Return the names of the states of elements, with units."""
    if not run.has("further_states"):
        return []
    count = run.field("further_states").shape[2]
    states = run.names("state", run.field("state").shape[1])
    units = run.results["further_states"].attrs["component_units"].split(", ")
    return [with_unit(*each) for each in zip(states[-count:], units, strict=True)]


def _histories(
    runs, samples, chosen: bool, field: str, only: int | None = None
) -> Iterator[Line]:
    for number, run in enumerate(runs):
        if not run.has(field):
            continue  # a compared study without these elements
        places, times = run.field(field), run.field("instants")
        names = run.names("freedom", places.shape[2])
        if only is not None:
            names = [_further(run)[only]]
            places = places[:, :, only : only + 1]
        for option, sample in enumerate(samples):
            for i, name in enumerate(names):
                yield Line(times[sample], places[sample, :, i], named(name, run, runs),
                           *look(i, number, runs),
                           option=option if chosen else None)  # fmt: skip


def _peaks(runs, path: str) -> Iterator[Line]:
    for number, run in enumerate(runs):
        values, peaks = run.field(path), run.field("peak")
        for i, name in enumerate(run.names("freedom", peaks.shape[1])):
            yield Line(values, peaks[:, i], named(name, run, runs), *look(i, number, runs),
                       samples=np.arange(run.size), run=number)  # fmt: skip
