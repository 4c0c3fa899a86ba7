"""Draws curves of bifurcations over the maps of another study."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from ....config.tables import flattened
from ....pictures.picture import Axis, Cells, Chart, Picture
from ....store.finished_study import Run
from .stability_chart import KINDS, bifurcation_lines, paths_of


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
    kinds = dict.fromkeys(
        KINDS[code].replace("_", " ") for code in curves.field("curve.kind")
    )
    periods = curves.study["config"]["analysis"]["periods"]
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
        dataclasses.replace(line, rim=True) for line in bifurcation_lines(curves, here)
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
    for path, here, there in _differences(run, curves):
        if path not in paths:
            raise ValueError(
                f"{path} = {there} of {curves.name}, and {here} of {run.name}; allowed: "
                "the same system"
            )


def _differences(run: Run, curves: Run) -> Iterator[tuple[str, object, object]]:
    here, there = (flattened(each.study["config"]["system"]) for each in (run, curves))
    for path in {**here, **there}:
        if here.get(path) != there.get(path):
            yield path, here.get(path), there.get(path)
