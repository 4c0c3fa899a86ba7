"""The live panel of a study's report: its system, and stored samples to compare with."""

from typing import Any

import numpy as np

from ...studies.analyses.kinds import SYSTEMS
from ...studies.config.toml_writer import to_toml
from ...studies.pictures.regimes import periodic
from ...studies.run.chunk import build
from ...studies.run.study import load_text
from ...studies.store.finished_study import Run
from ...studies.systems.base import Role
from ...systems.parameters import parameters, whole_path
from ...systems.system import System
from ..packing import Exact
from .controls import Swept
from .panel import panel

_KINDS = ("periodic_orbit", "basins", "bifurcation_diagram", "continuation")
_MOST_STORED = 1000  # samples to recompute: 100 kB for two bodies


def live_of(run: Run) -> dict[str, Any] | None:
    """Return the content of the live panel of a study, for `pack`.

    `None` for studies without periodic motions, and if a motion cannot be compiled.
    """
    kind = SYSTEMS.get(run.study["system"])
    if run.analysis not in _KINDS or kind is None or Role.PERIODIC not in kind.roles:
        return None
    try:
        system = build(load_text(to_toml(run.study["config"]), run.name))
        swept = _swept(run, system)
        found = panel(system, run.chosen_units, swept, pair=kind.colliding_pair)
    except (ValueError, OSError):  # such as a file of a load that is not there any more
        return None
    return found | {"stored": _stored(run, list(swept))}


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


def _stored(run: Run, paths: list[str]) -> dict[str, Any] | None:
    """Return orbits of an even subsample, with which the page compares its own."""
    if run.analysis != "periodic_orbit" or paths != run.paths:
        return None
    usable = np.flatnonzero(periodic(run))
    if not usable.size:
        return None
    chosen = usable[
        np.linspace(0, usable.size - 1, min(usable.size, _MOST_STORED)).astype(int)
    ]
    names = ("state", "periods", "max_contact_force", "largest_multiplier", "stable")
    fields = {name: Exact(run.field(name)[chosen]) for name in names}
    return {"paths": paths, "values": [Exact(run.field(p)[chosen]) for p in paths]} | fields
