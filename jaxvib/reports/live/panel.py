"""The content of a live panel: a system's names, sliders and modules."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...drawing import colours
from ...drawing.chosen_units import chosen_unit
from ...kernels import WebAssembly
from ...systems.annular import annular
from ...systems.parameters import part_names
from ...systems.roles import is_impulsive
from ...systems.system import System, state_shape
from .controls import Swept, controls
from .kernels import modules

_LONGEST, _MOST_CONTACTS = 8, 8  # periods that the page recognises; classes of contacts


def panel(
    system: System, chosen: Sequence[str], swept: Swept, *, pair: bool
) -> dict[str, Any]:
    """Return what the script of a live panel needs, for `pack`.

    `chosen`: the units shown; `swept`: see `controls`; `pair`: whether the system is
    drawn as two bodies that collide. **Raises:** `ValueError` for a system that is not
    one of bodies under loads with a common period, has annular contacts or a drift, or
    cannot be compiled.
    """
    half = len(system.labels.freedoms)
    only_bodies = system.mechanical and state_shape(system) == (2 * half,)
    if not only_bodies or not math.isfinite(system.period()):
        raise ValueError(
            f"{type(system).__name__} has no live page; allowed: a system of bodies "
            "only, under loads with a common period"
        )
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
    labels = system.labels
    return {
        "system": {
            "freedoms": list(labels.freedoms),
            "units": [chosen_unit(unit, chosen) for unit in labels.units[:half]],
            "rates": [chosen_unit(unit, chosen) for unit in labels.units[half:]],
            "contacts": _contacts(system),
            "pair": pair,
        },
        "controls": shown,
        "regimes": _regimes(),
        "modules": {
            name: _as_data(module) for name, module in modules(system, values).items()
        },
    }


def _contacts(system: System) -> list[dict[str, Any]]:
    """Return name, kind, direction and gap of each contact, None for a formula's gap."""
    formulas = dict(getattr(system, "formulas", ()))
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
