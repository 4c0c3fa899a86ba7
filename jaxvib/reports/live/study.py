"""The live panel of a study's report: its system, and stored samples to compare with."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...studies.analyses.kinds import SYSTEMS
from ...studies.config.toml_writer import to_toml
from ...studies.pictures.regimes import periodic
from ...studies.run.chunk import build
from ...studies.run.study import load_text
from ...studies.store.finished_study import Run
from ...studies.systems.base import Role
from ...systems.base.system import System
from ...systems.parameters import parameters, whole_path
from ..packing import Exact
from .controls import Swept
from .panel import panel

_KINDS = ("periodic_orbit", "basins", "bifurcation_diagram", "continuation")
_MOST_STORED = 1000  # samples to recompute: 100 kB for two bodies


def live_of(run: Run) -> dict[str, Any] | None:
    """Return the content of the live panel of a study, for `pack`.

    `None` for studies of neither periodic motions nor responses. **Raises:**
    `ValueError` with the reason if there can be no panel, such as a program that would
    be too long for a browser.
    """
    kind = SYSTEMS.get(run.study["system"])
    response = run.analysis == "response"
    periodic = run.analysis in _KINDS and kind and Role.PERIODIC in kind.roles
    if kind is None or not (response or periodic):
        return None
    try:
        study = load_text(to_toml(run.study["config"]), run.name)
        system = build(study)
    except OSError as error:  # such as a file of a load that is not there any more
        raise ValueError(str(error)) from None
    duration = study.analysis.duration if response else None
    swept = _swept(run, system)
    found = panel(
        system, run.chosen_units, swept, pair=kind.colliding_pair, duration=duration
    )
    stored = _responses if response else _orbits
    return found | {"stored": stored(run, list(swept))}


def _swept(run: Run, system: System) -> Swept:
    """Return the lowest and the highest value of each path that is a parameter."""
    known, found = parameters(system), {}
    for path in filter(run.has, run.paths):
        try:
            whole_path(path, known)
        except ValueError:  # a number of the analysis, not of the system
            continue
        values = run.field(path)
        found[path] = float(np.nanmin(values)), float(np.nanmax(values))
    return found


def _orbits(run: Run, paths: list[str]) -> dict[str, Any] | None:
    """Return orbits of an even subsample, with which the page compares its own."""
    if run.analysis != "periodic_orbit" or paths != run.paths:
        return None
    names = ("state", "periods", "max_contact_force", "largest_multiplier", "stable")
    return _subsample(run, np.flatnonzero(periodic(run)), names)


def _responses(run: Run, paths: list[str]) -> dict[str, Any] | None:
    """Return the peaks of responses of an even subsample."""
    if paths != run.paths:
        return None
    names = [name for name in ("peak", "max_contact_force") if run.has(name)]
    usable = np.isfinite(run.field("peak")).all(axis=1)
    return _subsample(run, np.flatnonzero(usable), names)


def _subsample(run: Run, usable: np.ndarray, names: Sequence[str]) -> dict | None:
    """Return the values of the swept paths and fields of the usable samples."""
    if not usable.size:
        return None
    number = min(usable.size, _MOST_STORED)
    chosen = usable[np.linspace(0, usable.size - 1, number).astype(int)]
    fields = {name: Exact(run.field(name)[chosen]) for name in names}
    values = [Exact(run.field(path)[chosen]) for path in run.paths]
    return {"number": number, "paths": run.paths, "values": values} | fields
