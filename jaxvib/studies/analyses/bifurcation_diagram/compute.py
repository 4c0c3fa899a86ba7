"""Computes a bifurcation diagram and its summary."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....ensemble import Reason
from ....orbits import SettlingSettings, bifurcation_diagram
from ....systems import parameters
from ....systems.system import System
from ...store.fields import Variable
from ..orbits import orbit_variables, own_variables
from .kind import SWEEPS, BifurcationDiagramOptions

# Descriptions of fields that differ from those of an orbit.
_OF_ORBITS = {
    "periods": "period in load periods, 0 if aperiodic",
    "contacts": "contacts (onsets) per period, -1 if aperiodic",
    "contacts_per_period": "",
    "amplitude": "",
    "max_contact_force": "",
    "lyapunov_exponent": "",
    "lyapunov_error": "its standard error",
    "result": "reason code: success for periodic motions",
}


def compute(
    system: System,
    samples: Mapping[str, np.ndarray],
    options: BifurcationDiagramOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the motions, each field along the axis `value`, sweep after sweep."""
    up = np.linspace(options.bounds[0], options.bounds[1], options.values)
    sweeps = ("up", "down") if options.sweep == "both" else (options.sweep,)
    found = [
        _diagram_variables(
            bifurcation_diagram(
                system,
                options.path,
                up[::-1] if sweep == "down" else up,
                follow=sweep != "rest",
                points=options.points,
                settings=SettlingSettings(options.transient, rtol=run.rtol),
            )
        )
        for sweep in sweeps
    ]
    progress(1)
    units = {"states": {"component_units": ", ".join(system.labels.units)}}
    fields = {
        name: Variable(
            one.axes,
            np.concatenate([each[name].values for each in found]),
            one.unit,
            one.description,
            units.get(name, {}),
        )
        for name, one in found[0].items()
    }
    numbers = np.repeat([SWEEPS.index(sweep) for sweep in sweeps], options.values)
    swept = parameters(system)[options.path]
    values = fields.pop("parameter").values
    return {
        options.path: Variable(("value",), values, swept.unit, swept.description),
        **fields,
        "sweep": Variable(
            ("value",), numbers.astype(np.int8), "", "0 from rest, 1 up, 2 down"
        ),
    }


def _diagram_variables(diagram) -> dict[str, Variable]:
    """Return a diagram's fields, each along the axis `value`."""
    own = own_variables(diagram, "orbits")
    return own | orbit_variables(diagram.orbits, "value", _OF_ORBITS)


def summary(read: Callable, study: Any) -> list[str]:
    """Return the classes with their shares, and the extreme exponent and force."""
    path = study.analysis.path
    values, exponent, force = map(read, (path, "lyapunov_exponent", "max_contact_force"))
    names = class_names(read("result"), read("periods"))
    shares = Counter(names).most_common(5)
    listed = ", ".join(f"{count / len(names):.1%} {name}" for name, count in shares)
    lines = [f"motions    {listed}"]
    if np.isfinite(exponent).any():
        wild = int(np.nanargmax(exponent))
        error = read("lyapunov_error")[wild]
        lines.append(
            f"exponent   largest "
            f"{study.quantity_text('1/s', exponent[wild], digits=4, error=error)} at "
            f"{study.value_text(path, values[wild])}"
        )
    if np.nan_to_num(force).max() > 0:
        worst = int(np.nanargmax(force))
        lines.append(
            f"worst      contact force "
            f"{study.quantity_text('N', force[worst], digits=4)} at "
            f"{study.value_text(path, values[worst])}"
        )
    return lines


def class_names(codes: np.ndarray, periods: np.ndarray) -> list[str]:
    """Return the class of each motion: period n, chaotic, ..., or reason of failure."""
    names = []
    for code, number in zip(codes.tolist(), periods.tolist(), strict=True):
        if code == 0:
            names.append(f"period {number}")
        else:
            names.append(Reason(code).motion or "failed")
    return names
