"""The report of a study, made from its store: a page, data files, picture files."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..drawing.chosen_units import in_chosen_units
from ..foundation.suggestions import unknown_key
from ..studies.analyses.kinds import ANALYSES
from ..studies.analyses.kinds.continuation.stability_chart import (
    has_curves_for,
    with_boundaries,
)
from ..studies.pictures.picture import Chart, Picture
from ..studies.pictures.swept_lines import MOST_COMPARED
from ..studies.pictures.swept_planes import long_paths
from ..studies.store.finished_study import Run, read_run
from ..studies.store.folder import Folder
from .files import numbers_of, picture_files
from .page import page


class Written(NamedTuple):
    """The path of a report, and why its page has no live motion; "" if it needs none."""

    path: Path
    no_live: str


def write_report(
    directory: Path | str, *others: Path | str, pictures: bool = False
) -> Path:
    """Write `report.html` and `pictures/` to a study's folder; return the page's path.

    The page is self-contained; its script draws the pictures. `pictures/` contains
    their data as CSV. With `pictures=True`, matplotlib also draws them there as SVG, PDF
    and PNG files at journal column width; otherwise matplotlib is not imported, and
    such files of an earlier report stay as they are.

    With `others`, up to seven more studies of the same kind and paths are compared with
    the first; curves of a two-parameter continuation are drawn over a map of the same
    parameters. **Raises:** `FileNotFoundError` if there is no study, `OSError` if it is
    damaged, `ValueError` if it is unfinished or not comparable.

    >>> try:
    ...     jv.reports.write_report("no_such_folder")
    ... except FileNotFoundError:
    ...     print("no study there")
    no study there
    """
    return written_report(directory, *others, pictures=pictures).path


def written_report(
    directory: Path | str, *others: Path | str, pictures: bool = False
) -> Written:
    """Write the report as `write_report` does."""
    directory = Path(directory)
    if len(others) >= MOST_COMPARED:
        number = 1 + len(others)
        raise ValueError(f"{number} studies; allowed: at most {MOST_COMPARED} in a report")
    runs = [read_run(each) for each in (directory, *others)]
    curves = [run for run in runs if has_curves_for(run, runs[0])]
    runs = [run for run in runs if not has_curves_for(run, runs[0])]
    check_comparable(runs)
    if len({run.name for run in runs}) < len(runs):
        runs = [
            dataclasses.replace(run, name=f"{run.name} {i}")
            for i, run in enumerate(runs, 1)
        ]
    found = pictures_of(runs)
    for lent in curves:
        found = with_boundaries(found, runs, lent)
    found = [_in_chosen_units(each, runs[0]) for each in found]
    files = {f"{each.name}.csv": numbers_of(each).encode() for each in found}
    if pictures:
        files |= picture_files(found)
    folder = Folder(directory)
    for name, content in files.items():
        folder.write(f"pictures/{name}", content, sync=False)
    made = page(found, runs, files)
    folder.write("report.html", made.html.encode(), sync=False)
    return Written(directory / "report.html", made.no_live)


def pictures_of(runs: Sequence[Run]) -> list[Picture]:
    """Return the pictures of one study or of several compared ones."""
    kind = runs[0].analysis
    if kind not in ANALYSES:
        raise ValueError(unknown_key("analysis", kind, ANALYSES))
    return ANALYSES[kind].pictures(runs)


def _in_chosen_units(picture: Picture, run: Run) -> Picture:
    charts = tuple(in_chosen_units(chart, run.chosen_units) for chart in picture.charts)
    slices = picture.slices
    if slices is not None:
        axes = (
            in_chosen_units(Chart(each, each, ()), run.chosen_units).x
            for each in slices.axes
        )
        slices = dataclasses.replace(slices, axes=tuple(axes))
    return dataclasses.replace(picture, charts=charts, slices=slices)


def check_comparable(runs: Sequence[Run]) -> None:
    """Raise `ValueError` unless all runs are of the same kind and paths."""
    first = runs[0]
    for run in runs[1:]:
        for key, found, expected in (
            ("analysis", run.analysis, first.analysis),
            ("coordinates", run.paths, first.paths),
            ("paths of several values", long_paths(run), long_paths(first)),
        ):
            if found != expected:
                raise ValueError(
                    f"{key} = {found!r} of {run.name} is not {expected!r} of {first.name}: "
                    "the studies cannot be compared"
                )
