"""The content of a live panel: a system's names, sliders and modules."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ...drawing import colours
from ...drawing.chosen_units import chosen_unit
from ...kernels import WebAssembly
from ...systems.base.law import is_impulsive
from ...systems.base.system import Mechanical, System, state_shape
from ...systems.contacts.annular import annular
from ...systems.parameters import part_names, replace
from .controls import Swept, controls
from .kernels import faults, modules
from .records import records

_LONGEST, _MOST_CONTACTS = 8, 8  # periods that the page recognises; classes of contacts
# Each is a step of the motion: a browser takes seconds for so many.
_MOST_PIECES = 1_000_000


def panel(
    system: System,
    chosen: Sequence[str],
    swept: Swept,
    *,
    pair: bool,
    duration: float | None = None,
) -> dict[str, Any]:
    """Return what the script of a live panel needs, for `pack`.

    `chosen`: the units shown; `swept`: see `controls`; `pair`: whether the system is
    drawn as two bodies that collide; `duration`: of a motion from rest, s, None for
    motions under loads with a common period. **Raises:** `ValueError` for a system that
    is not one of bodies under such loads, has annular contacts or a drift, or cannot be
    compiled.
    """
    _check_bodies(system, duration)
    if system.drift is not None:
        raise ValueError(
            "a system that drifts has no live page; allowed: one without a drift"
        )
    if annular(system.contacts):
        raise ValueError(
            "AnnularContact has no live page; allowed: contacts along a direction"
        )
    shown = controls(system, chosen, swept)
    values = {control["path"]: float(control["value"]) for control in shown}
    recorded = {} if duration is None else records(system)
    _check_fixed(recorded, swept)
    _check_pieces(recorded, duration)
    found = modules(system, values, periodic=duration is None)
    labels, half = system.labels, len(system.labels.freedoms)
    return {
        "system": {
            "freedoms": list(labels.freedoms),
            "units": [chosen_unit(unit, chosen) for unit in labels.units[:half]],
            "rates": [chosen_unit(unit, chosen) for unit in labels.units[half : 2 * half]],
            "states": _further_states(system, chosen),
            "contacts": _contacts(system),
            "loads": _loads(system, chosen),
            "pair": pair,
        },
        "controls": shown,
        "faults": _faults(system, values, duration is None),
        "duration": duration,
        "records": recorded,
        "regimes": _regimes() if duration is None else None,
        "modules": {name: _as_data(module) for name, module in found.items()},
    }


def _check_bodies(system: System, duration: float | None) -> None:
    """Raise `ValueError` for a system whose state is not that of bodies and elements."""
    what = type(system).__name__
    known = len(system.state_names) if isinstance(system, Mechanical) else None
    if state_shape(system) != (known,):
        raise ValueError(f"{what} has no live page; allowed: a system of bodies")
    try:
        lasts = duration is not None or math.isfinite(system.period())
    except ValueError as error:
        raise ValueError(f"{error}, or a live page a duration") from None
    if not lasts:
        raise ValueError(
            f"{what} has no live page; allowed: loads with a common period, or a duration"
        )


def _further_states(system: System, chosen: Sequence[str]) -> list[dict[str, Any]]:
    """Return name, shown unit and its factor of each state of an element."""
    found = []
    further = system.further_states() if isinstance(system, Mechanical) else ()
    for name, unit in further:
        shown, factor = chosen_unit(unit, chosen)
        found.append({"name": name.replace(".", " "), "unit": shown, "factor": factor})
    return found


def _faults(system: System, values: Mapping[str, float], periodic: bool) -> list[str]:
    """Return sentences on values that are refused together, in the kernel's order."""
    found: list[str] = []
    jax.eval_shape(
        lambda given: found.extend(faults(replace(system, given), periodic)), values
    )
    return found


def _loads(system: System, chosen: Sequence[str]) -> list[dict[str, Any]]:
    """Return name, shown unit and its factor of each load; that of a base is relative."""
    found = []
    for name, load in zip(part_names(system.loads), system.loads, strict=True):
        unit, factor = chosen_unit("m/s^2" if hasattr(load, "motion") else "N", chosen)
        found.append({"name": f"load {name}", "unit": unit, "factor": factor})
    return found


def _check_fixed(recorded: Mapping[str, Any], swept: Swept) -> None:
    """Raise `ValueError` for a study that sweeps times or values of a record."""
    for path in swept:
        kind, *names = path.split(".")
        of_record = kind == "loads" and names[0] in recorded
        if of_record and {"times", "values"} & set(names[1:]):
            raise ValueError(f"{path} is swept; allowed: records with fixed values")


def _check_pieces(recorded: Mapping[str, Any], duration: float | None) -> None:
    """Raise `ValueError` for records with too many pieces in the duration."""
    for name, record in recorded.items():
        times = record["times"].values
        repeats = duration / (times[-1] - times[0]) if record["periodic"] else 1.0
        pieces = (len(times) - 1) * repeats
        if pieces > _MOST_PIECES:
            raise ValueError(
                f"loads.{name} has {pieces:.3g} pieces in duration = {duration:g} s; "
                f"allowed on a live page: up to {_MOST_PIECES:g}"
            )


def _contacts(system: System) -> list[dict[str, Any]]:
    """Return name, kind, direction and gap of each contact, None for a formula's gap."""
    formulas = dict(system.formulas)
    named = zip(part_names(system.contacts), system.contacts, strict=True)
    return [
        {
            "name": name,
            "hard": is_impulsive(contact.law),
            "direction": np.asarray(contact.direction).tolist(),
            "gap": None if f"contacts.{name}.gap" in formulas else float(contact.gap),
            "gap_path": f"contacts.{name}.gap",
        }
        for name, contact in named
    ]


def _as_data(module: WebAssembly) -> dict[str, Any]:
    return {"code": np.frombuffer(module.code, np.uint8), "layout": module.layout}


def _regimes() -> list[list[tuple[str, str]]]:
    """Return colour and name of the class of each regime of a map.

    By period, from 1, and contacts, from 0; more contacts are in the last class.
    """
    return [
        [colours.regime_class(periods, contacts) for contacts in range(_MOST_CONTACTS + 1)]
        for periods in range(1, _LONGEST + 1)
    ]
