"""Curves of bifurcations in two parameters: their chart, and over maps of a study."""

import dataclasses
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np

from .....drawing.labels import with_unit
from .....drawing.polyline import curve_layers, kind_words, numbered
from .....ensemble import reason
from ....nested import differences
from ....pictures.picture import Axis, Cells, Chart, Line, Notes, Picture
from ....store.finished_study import Run, readable

KINDS = ("fold", "period_doubling", "neimark_sacker", "branch_point", "grazing")


def stability_charts(runs: Sequence[Run]) -> list[Picture]:
    """Return the chart of each run with curves."""
    return [_chart(run, len(runs)) for run in runs if run.has("curve.kind")]


def _chart(run: Run, number_of_runs: int) -> Picture:
    paths = paths_of(run)
    x, y = (
        Axis(with_unit(readable(path), run.unit(f"curve.{path}")), path) for path in paths
    )
    layers = (*_curve_layers(run, paths), _beginning(run, paths))
    over = " and ".join(map(readable, paths))
    name = "stability_chart" if number_of_runs == 1 else f"stability_chart_{run.name}"
    return Picture(
        name,
        f"Bifurcations in {over}",
        "Stability boundaries of periodic motions: each bifurcation of the branch, "
        "continued in both parameters. Other marks: codimension-two points. The dotted "
        f"line is the branch itself, where the curves are. {_ends(run)}",
        f"Curves of bifurcations over {over}. {_ends(run)}",
        (Chart(x, y, layers),),
    )


def paths_of(run: Run) -> tuple[str, str]:
    """Return the two parameters of a run's curves."""
    options = run.options
    return options["path"], options["second_path"]


def _curve_layers(run: Run, paths: tuple[str, str]) -> Iterator[Line | Notes]:
    """Return a run's curves and their special points, the parameter on x first."""
    every, places = (
        np.stack([run.field(f"{part}.{path}") for path in paths], -1)
        for part in ("curve", "special")
    )
    words = run.results["special.kind"].attrs["meaning"].split(", ")
    names = dict(word.split(" ", 1) for word in words if word)
    kinds, of = (run.field(f"special.{part}") for part in ("kind", "curve"))
    special = [
        SimpleNamespace(kind=names[str(code)], parameters=place)
        for code, place in zip(kinds, places, strict=True)
    ]
    curves = [
        SimpleNamespace(
            kind=KINDS[code], paths=paths, parameters=row[np.isfinite(row).all(axis=1)],
            codimension_two=[special[i] for i in np.flatnonzero(of == number)],
        )
        for number, (code, row) in enumerate(
            zip(run.field("curve.kind"), every, strict=True)
        )
    ]  # fmt: skip
    return curve_layers(curves, paths, numbered([curve.kind for curve in curves]))


def _beginning(run: Run, paths) -> Line:
    """Return the branch as far as its curves reach, which fill the chart."""
    curves = run.field(f"curve.{paths[0]}")
    values, known = run.field(paths[0]), curves[np.isfinite(curves)]
    if known.size:
        room = 0.1 * np.ptp(known)
        values = np.clip(values, known.min() - room, known.max() + room)
    level = np.full(len(values), run.field("curve.level"))
    return Line(values, level, "the branch", 5, "dot")


def _ends(run: Run) -> str:
    counts = zip(run.field("curve.kind"), run.field("curve.ends"), strict=True)
    sentences = [
        f"The curve of kind {kind_words(KINDS[code])} ends: {reason(low)}; {reason(high)}."
        for code, (low, high) in counts
    ]
    return " ".join(dict.fromkeys(sentences))


def has_curves_for(run: Run, first: Run) -> bool:
    """Whether a run has curves to draw over the first one, rather than to compare."""
    return run.has("curve.kind") and run.analysis != first.analysis


def with_boundaries(
    pictures: Sequence[Picture], runs: Sequence[Run], curves: Run
) -> list[Picture]:
    """Return pictures of some runs with the curves of another drawn over their maps.

    **Raises:** `ValueError` unless there are maps over the two parameters of the curves
    and all other parameters of the system are equal.
    """
    for run in runs:
        _check(run, curves)
    paths = paths_of(curves)
    kinds = dict.fromkeys(kind_words(KINDS[code]) for code in curves.field("curve.kind"))
    periods = curves.options["periods"]
    words = f" Lines: {', '.join(kinds)} of motions of period {periods}, from the "
    words += f"study {curves.name}."

    def over(picture: Picture) -> Picture:
        charts = tuple(_over(chart, paths, curves) for chart in picture.charts)
        if all(new is old for new, old in zip(charts, picture.charts, strict=True)):
            return picture
        return dataclasses.replace(picture, charts=charts, text=picture.text + words)

    found = [over(picture) for picture in pictures]
    if all(new is old for new, old in zip(found, pictures, strict=True)):
        raise ValueError(f"{runs[0].name} has no map to draw curves over")
    return found


def _over(chart: Chart, paths: tuple[str, str], curves: Run) -> Chart:
    cells = [layer for layer in chart.layers if isinstance(layer, Cells)]
    here = chart.x.path, chart.y.path
    if not cells or set(here) != set(paths):
        return chart
    lines = (
        dataclasses.replace(line, rim=True)
        for line in _curve_layers(curves, here)
        if isinstance(line, Line)
    )
    x, y = _cell_limits(chart.x, cells[0].x), _cell_limits(chart.y, cells[0].y)
    return dataclasses.replace(chart, x=x, y=y, layers=(*chart.layers, *lines))


def _cell_limits(axis: Axis, places: np.ndarray) -> Axis:
    """Return an axis limited to the cells of a map, regardless of lines."""
    places = np.unique(places)
    to, back = (np.log, np.exp) if axis.log else (np.asarray, np.asarray)
    low, *_, high = to(places)
    before, after = np.diff(to(places))[[0, -1]] / 2
    ends = float(back(low - before)), float(back(high + after))
    return dataclasses.replace(axis, low=ends[0], high=ends[1])


def _check(run: Run, curves: Run) -> None:
    """Raise `ValueError` unless curves and maps belong to the same system."""
    paths = paths_of(curves)
    if not curves.field("curve.kind").size:
        raise ValueError(f"{curves.name} has no bifurcation curve to draw")
    if set(run.grid) != set(paths):
        raise ValueError(
            f"the curves of {curves.name} are over {paths[0]} and {paths[1]}, and "
            f"{run.name} over {', '.join(run.paths) or 'nothing'}; allowed: a grid of the "
            "same two"
        )
    systems = (each.study["config"]["system"] for each in (run, curves))
    for path, here, there in differences(*systems):
        if path not in paths:
            raise ValueError(
                f"{path} = {there} of {curves.name}, and {here} of {run.name}; allowed: "
                "the same system"
            )
