"""A study's report, drawn from its store alone: a page and the pictures as files."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from .._nearest import unknown_key
from ..drawing.chosen_units import in_chosen_units
from ..studies.analyses.kinds import ANALYSES
from ..studies.pictures.picture import Picture
from ..studies.store.finished import Run, read_run
from ..studies.store.folder import Folder
from .files import drawn_files
from .page import page


def write_report(directory: Path | str, other: Path | str | None = None) -> Path:
    """Write `report.html` and `pictures/` into a study's folder; returns the page's path.

    The page is whole by itself and may be sent alone; the pictures are there as SVG, PDF
    and PNG at the width of a journal's column, and their numbers as CSV.

    With `other`, a second study of the same kind over the same paths is shown beside
    the first. **Raises:** `FileNotFoundError` where there is no study, `OSError` for a
    damaged one, `ValueError` for an unfinished one or two that cannot be compared.

    >>> try:
    ...     jv.reports.write_report("no_such_folder")
    ... except FileNotFoundError:
    ...     print("no study there")
    no study there
    """
    directory = Path(directory)
    runs = [read_run(each) for each in (directory, other) if each is not None]
    check_comparable(runs)
    if len(runs) > 1 and runs[0].name == runs[1].name:
        runs = [
            dataclasses.replace(run, name=f"{run.name} {i}")
            for i, run in enumerate(runs, 1)
        ]
    pictures = [_in_chosen_units(each, runs[0]) for each in pictures_of(runs)]
    folder, files = Folder(directory), {}
    for name, content in drawn_files(pictures):
        folder.write(f"pictures/{name}", content, sync=False)
        files[name] = content
    folder.write("report.html", page(pictures, runs, files).encode(), sync=False)
    return directory / "report.html"


def pictures_of(runs: Sequence[Run]) -> list[Picture]:
    """Return the pictures of one study, or of two that are compared."""
    kind = runs[0].analysis
    if kind not in ANALYSES:
        raise ValueError(unknown_key("analysis", kind, ANALYSES))
    return ANALYSES[kind].pictures(runs)


def _in_chosen_units(picture: Picture, run: Run) -> Picture:
    charts = tuple(in_chosen_units(chart, run.chosen_units) for chart in picture.charts)
    return dataclasses.replace(picture, charts=charts)


def check_comparable(runs: Sequence[Run]) -> None:
    """Raise `ValueError` unless all runs are of one kind over the same paths."""
    for key in ("analysis", "coordinates"):
        found = [run.study[key] for run in runs]
        if found.count(found[0]) < len(found):
            raise ValueError(
                f"{key} = {found[1]!r} of {runs[1].name} is not {found[0]!r} of "
                f"{runs[0].name}: the two studies cannot be compared"
            )
