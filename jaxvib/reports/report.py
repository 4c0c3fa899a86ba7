"""A study's report, drawn from its store alone: a page and the pictures as files."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from .._nearest import unknown_key
from ..studies.analyses.basins.pictures import basins
from ..studies.analyses.beam_eigenvalues.pictures import beam_eigenvalues
from ..studies.analyses.bifurcation_diagram.pictures import diagram
from ..studies.analyses.chain_motion.pictures import chain_motion
from ..studies.analyses.continuation.pictures import loading_curve
from ..studies.analyses.continuation.stability_chart import stability_charts
from ..studies.analyses.design.pictures import designs
from ..studies.analyses.energy_split.pictures import energy_split
from ..studies.analyses.fit.pictures import fitted
from ..studies.analyses.frequency_response.pictures import frequency_response
from ..studies.analyses.linear_motion.pictures import linear_motion
from ..studies.analyses.natural_modes.pictures import natural_modes
from ..studies.analyses.pareto_front.pictures import fronts
from ..studies.analyses.periodic_orbit.maps import maps
from ..studies.analyses.periodic_orbit.scatter import scatters
from ..studies.analyses.sensitivity.pictures import sensitivities
from ..studies.pictures.curves import amplitude_curves, sweep_curves
from ..studies.pictures.motion import motion
from ..studies.pictures.picture import Picture
from ..studies.pictures.planes import long_paths
from ..studies.store.finished import Run, read_run
from ..studies.store.folder import Folder
from .files import write_files
from .page import page


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
