"""Computes basins of attraction and their summary."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ....orbits import (
    SettlingSettings,
    basins,
    basins_engine,
    robustness,
    state_grid,
)
from ....orbits.attractors import named
from ....orbits.smallest_shock import smallest_shocks
from ....systems.system import System
from ...store.fields import Variable, variables
from ..basin_options import BasinTable
from ..orbits import orbit_variables, own_variables
from .kind import BasinsOptions

_AXES = {"state": "state_component"}  # `attractors.state` is a field
# Descriptions of attractors' fields that differ from those of an orbit.
_OF_ORBITS = {
    "period": "period of the motion, NaN if aperiodic",
    "periods": "period in load periods, 0 if aperiodic",
    "contacts": "",
    "contacts_per_period": "",
    "floquet_multipliers": "",
    "largest_multiplier": "",
    "stable": "",
    "amplitude": "",
    "max_contact_force": "",
    "lyapunov_exponent": "",
    "lyapunov_error": "its standard error, NaN for periodic motions",
    "result": "reason code: success for periodic motions",
}


def compute(
    system: System,
    samples: Mapping[str, np.ndarray],
    options: BasinsOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return labels along the axis `start`, and the fields of each attractor."""
    starts = starts_of(system, options)
    settings = SettlingSettings(options.transient, options.max_periods, run.rtol)
    found = basins(system, starts, settings=settings, period=options.period)
    progress(1)
    engine, why = basins_engine(system, len(starts), options.period)
    notes = {"engine": f"{engine} ({why})"}
    fields = _basin_variables(found)
    result, shocks = fields.pop("result"), {}
    if options.shock and len(found.attractors.state):
        shocks = shock_variables(system, found.attractors.state, options, settings)
    return {
        "starts": Variable(
            ("start", "state"), starts, "", "state at t = 0",
            {"component_units": ", ".join(system.labels.units)},
        ),
        **fields,
        "result": Variable(
            result.axes, result.values, result.unit, result.description, notes
        ),
        **(_robustness(found, options.box) if options.box else {}),
        **shocks,
    }  # fmt: skip


def starts_of(system: System, options: BasinTable) -> np.ndarray:
    """Return the grid of initial states, (starts, n)."""
    names = system.state_names
    grid = {
        names.index(name): np.linspace(bounds[0], bounds[1], options.points)
        for name, bounds in options.grid.items()
    }
    return state_grid(system, grid)


def _robustness(found, box: int) -> dict[str, Variable]:
    """Return entropy and integrity measures."""
    measured = robustness(found, box=box)
    own = own_variables(measured.entropy) | own_variables(measured, "share", "entropy")
    return {f"robustness.{name}": one for name, one in own.items()}


def shock_variables(
    system: System, states: np.ndarray, options: BasinTable, settings: SettlingSettings
) -> dict[str, Variable]:
    """Return the smallest shock of each of one attractor or more by its states."""
    names = system.state_names
    units = {names.index(name): unit for name, unit in (options.shock or {}).items()}
    most, period = options.largest_shock, options.period
    shocks = smallest_shocks(system, states, units, most, period=period, settings=settings)
    return {
        f"shock.{name}": replace(
            one, axes=tuple(_AXES.get(axis, axis) for axis in one.axes)
        )
        for name, one in variables(shocks, ("attractor",)).items()
    }


def _basin_variables(found) -> dict[str, Variable]:
    """Return the fields of basins, followed by those of their attractors."""
    known = found.attractors
    first = own_variables(known, "orbits")
    orbits = orbit_variables(known.orbits, "attractor", _OF_ORBITS)
    points, axis = first["points"], "state_component"
    each = {
        "state": Variable(("attractor", axis), known.state, "", "one state at t = 0"),
        "points": replace(points, axes=("attractor", "point", axis)),
        **orbits,
    }
    own = own_variables(found, "attractors", "starts")
    return own | {f"attractors.{name}": one for name, one in each.items()}


def summary(read: Callable, study: Any) -> list[str]:
    """Return the largest shares with their errors, the entropy, the number undecided."""
    names, options = attractor_names(read), study.analysis
    share, error = read("share"), read("share_error")
    most = 5 - (options.box is not None)
    lines = []
    for i in np.argsort(-share, kind="stable")[:most].tolist():
        words = f"{names[i]:<32} {share[i]:.1%} +- {error[i]:.1%}"
        if options.shock:
            words += f", {shock_words(read, i, options.largest_shock)}"
        lines.append(words)
    if options.box is not None:
        lines.append(entropy_words(read))
    undecided = int(np.sum(read("label") < 0))
    return [*lines, f"undecided  {undecided} of {len(read('label'))} initial states"]


def entropy_words(read: Callable) -> str:
    """Return the stored basin entropies as text."""
    names = ("entropy", "entropy_error", "boundary_entropy", "boundary_entropy_error")
    entropy, error, edge, edge_error = (float(read(f"robustness.{name}")) for name in names)
    text = f"basin entropy {entropy:.3g} +- {error:.1g}"
    return text if np.isnan(edge) else f"{text}, boundary {edge:.3g} +- {edge_error:.1g}"


def shock_words(read: Callable, attractor: int, largest: float) -> str:
    """Return the stored smallest shock of an attractor as text."""
    size = float(read("shock.size")[attractor])
    return f"no shock to {largest:g}" if np.isnan(size) else f"smallest shock {size:.4g}"


def attractor_names(read: Callable) -> list[str]:
    """Return the names of stored attractors: `A1: period 1, 0 contacts`."""
    fields = "result", "periods", "contacts", "period", "max_contact_force"
    *columns, forces = (read(f"attractors.{name}") for name in fields)
    columns.append(np.asarray(forces) > 0)
    each = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
    return [f"A{i}: {named(*numbers)}" for i, numbers in enumerate(each, 1)]
