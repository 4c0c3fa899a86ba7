"""A study's report, drawn from its store alone: a page and the pictures as files."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from .._nearest import unknown_key
from ..studies.folder import Folder
from .assembly import linear_motion
from .basins import basins
from .beam import beam_eigenvalues
from .chain import chain_motion
from .curves import amplitude_curves, sweep_curves
from .diagram import diagram
from .files import write_files
from .fitting import fitted
from .front import fronts
from .history import designs
from .loading import loading_curve
from .maps import maps
from .modes import natural_modes
from .motion import motion
from .page import page
from .picture import Picture
from .planes import long_paths
from .reading import Run, read_run
from .response import frequency_response
from .scatter import scatters
from .sensitivity import sensitivities
from .split import energy_split
from .stability_chart import stability_charts


def write_report(directory: Path | str, other: Path | str | None = None) -> Path:
    """Write `report.html` and `pictures/` into a study's folder; returns the page's path.

    With `other`, a second study of the same kind over the same paths is shown beside
    the first. **Raises:** `FileNotFoundError` where there is no study, `OSError` for a
    damaged one, `ValueError` for an unfinished one or two that cannot be compared.
    """
    directory = Path(directory)
    runs = [read_run(each) for each in (directory, other) if each is not None]
    check_comparable(runs)
    if len(runs) > 1 and runs[0].name == runs[1].name:
        runs = [
            dataclasses.replace(run, name=f"{run.name} {i}")
            for i, run in enumerate(runs, 1)
        ]
    pictures = pictures_of(runs)
    write_files(pictures, directory / "pictures")
    Folder(directory).write("report.html", page(pictures, runs).encode(), sync=False)
    return directory / "report.html"


def pictures_of(runs: Sequence[Run]) -> list[Picture]:
    """Return the pictures of one study, or of two that are compared."""
    kind = runs[0].analysis
    if kind not in _PICTURES:
        raise ValueError(unknown_key("analysis", kind, _PICTURES))
    return _PICTURES[kind](runs)


def check_comparable(runs: Sequence[Run]) -> None:
    """Raise `ValueError` unless all runs are of one kind over the same paths."""
    for key in ("analysis", "coordinates"):
        found = [run.study[key] for run in runs]
        if found.count(found[0]) < len(found):
            raise ValueError(
                f"{key} = {found[1]!r} of {runs[1].name} is not {found[0]!r} of "
                f"{runs[0].name}: the two studies cannot be compared"
            )


def _of_periodic_orbits(runs: Sequence[Run]) -> list[Picture]:
    run = runs[0]
    if len(long_paths(run)) > 1:
        pictures = [*maps(runs), amplitude_curves(runs)]
    elif len(run.paths) > 1 and not run.grid:
        pictures = scatters(runs)
    else:
        pictures = sweep_curves(runs) if run.paths else []
    one = motion(runs)
    return [*pictures, one] if one else pictures


_PICTURES: dict[str, Callable[[Sequence[Run]], list[Picture]]] = {
    "periodic_orbit": _of_periodic_orbits,
    "beam_eigenvalues": beam_eigenvalues,
    "continuation": lambda runs: [*stability_charts(runs), loading_curve(runs)],
    "bifurcation_diagram": lambda runs: [diagram(runs)],
    "basins": basins,
    "design": designs,
    "pareto_front": fronts,
    "fit": fitted,
    "sensitivity": sensitivities,
    "energy_split": energy_split,
    "chain_motion": chain_motion,
    "natural_modes": natural_modes,
    "linear_motion": linear_motion,
    "frequency_response": frequency_response,
}
