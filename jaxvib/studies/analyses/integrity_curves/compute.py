"""Computes integrity curves and their summary."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .... import systems
from ....orbits import IntegrityCurves, SettlingSettings, integrity_curves
from ....systems import parameters
from ....systems.system import System
from ...store.fields import Variable, variables
from ..basins.compute import shock_variables, starts_of
from .kind import IntegrityCurvesOptions

MOST_TOLD = 4  # attractors in the summary


def compute(
    system: System,
    samples: Mapping[str, np.ndarray],
    options: IntegrityCurvesOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the measures of attractors along the axis `value`."""
    settings = SettlingSettings(options.transient, options.max_periods, run.rtol)
    curves = integrity_curves(
        system,
        options.path,
        np.linspace(options.bounds[0], options.bounds[1], options.values),
        starts_of(system, options),
        box=options.box,
        period=options.period,
        settings=settings,
    )
    shocks = _shocks(system, curves, options, settings) if options.shock else {}
    progress(1)
    fields, swept = variables(curves), parameters(system)[options.path]
    values = fields.pop("parameter").values
    share, state = fields.pop("share"), fields.pop("state")
    units = {"component_units": ", ".join(system.labels.units)}
    return {
        options.path: Variable(("value",), values, swept.unit, swept.description),
        "share": replace(share, notes={"attractors": "; ".join(curves.names)}),
        **fields,
        "state": replace(state, notes=units),
        **shocks,
    }


def _shocks(system, curves: IntegrityCurves, options, settings) -> dict[str, Variable]:
    """Return the smallest shock of each attractor at each value."""
    if not curves.names:
        return {}
    rows = [
        shock_variables(
            systems.replace(system, {options.path: value}), states, options, settings
        )
        for value, states in zip(curves.parameter, curves.state, strict=True)
    ]
    return {
        name: replace(
            one,
            axes=("value", *one.axes),
            values=np.stack([row[name].values for row in rows]),
        )
        for name, one in rows[0].items()
    }


def summary(read: Callable, study: Any) -> list[str]:
    """Return the least share, factor and shock of attractors, and the undecided."""
    path = study.analysis.path
    values, share = read(path), read("share")
    names = [f"A{i + 1}" for i in range(share.shape[1])]

    def least(field: str, i: int, digits: str) -> str:
        column = read(field)[:, i]
        if not np.isfinite(column).any():
            return "none"
        place = int(np.nanargmin(column))
        return f"{column[place]:{digits}} at {study.value_text(path, values[place])}"

    lines = []
    for i in np.argsort(-np.nansum(share, axis=0), kind="stable")[:MOST_TOLD].tolist():
        words = [
            f"share {least('share', i, '.1%')}",
            f"factor {least('integrity_factor', i, '.3g')}",
        ]
        if study.analysis.shock:
            words.append(f"shock {least('shock.size', i, '.3g')}")
        exists = int(np.isfinite(share[:, i]).sum())
        lines.append(
            f"{names[i]:<10} at {exists} of {len(values)} values; least {', '.join(words)}"
        )
    entropy = read("entropy")
    if np.isfinite(entropy).any():
        place = int(np.nanargmax(entropy))
        lines.append(
            f"entropy    largest {entropy[place]:.3g} at "
            f"{study.value_text(path, values[place])}"
        )
    most = float(np.max(read("undecided")))
    return [*lines, f"undecided  at most {most:.1%} of the initial states of a value"]
