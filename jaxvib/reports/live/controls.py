"""The sliders of a live page: one for each scalar parameter of a system."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...drawing.chosen_units import chosen_unit
from ...foundation.range import Range
from ...studies.store.finished_study import readable
from ...systems import parameters
from ...systems.base.system import System
from ...systems.parameters import parameter_at

Swept = Mapping[str, tuple[float, float]]
_SUBSCRIPT = re.compile(r"(?<=\w)_(\d+)")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_PARTS = {
    "contacts": "contact",
    "elements": "element",
    "frictions": "friction",
    "loads": "load",
    "modules": "module",
    "springs": "spring",
}


def controls(system: System, chosen: Sequence[str], swept: Swept) -> list[dict[str, Any]]:
    """Return path, name, unit, value and allowed range of each control.

    Values are in SI units, `factor` converts them to the shown `unit`. Parameters given
    by a formula follow the others and have none. `si`: unit of a variable's value.
    `swept`: the lowest and the highest value of each path of a study; entries of arrays
    are controlled only if swept.
    """
    formulas = dict(system.formulas)
    scalars = [path for path, each in parameters(system).items() if not np.ndim(each.value)]
    paths = [path for path in scalars if path not in formulas]
    paths += [path for path in swept if path not in scalars]
    return [_control(system, path, chosen, swept.get(path)) for path in paths]


def _control(
    system: System, path: str, chosen: Sequence[str], swept: tuple[float, float] | None
) -> dict[str, Any]:
    declared = parameter_at(system, path)
    unit, factor = chosen_unit(declared.unit, chosen)
    name = readable(path.rpartition(".")[2])
    # Numbers without a unit are in a variable's own one, which the system does not know.
    si = {"si": f" {declared.unit}"} if path.startswith("variables.") else {}
    return {
        "path": path,
        "group": _group(path) or readable(path).removesuffix(name).strip(),
        "name": name,
        "description": _description(declared.description, name, unit),
        "unit": unit,
        "factor": factor,
        "value": np.float64(declared.value),
        "allowed": _bounds(declared.allowed),
        "swept": swept and list(swept),
        **(si if declared.unit else {}),
    }


def _group(path: str) -> str:
    """Return kind and name of the part that a parameter belongs to, "" for others."""
    *steps, _ = path.removeprefix("linear.").split(".")
    kind, *names = steps or [""]
    if kind == "variables":
        return kind
    if kind not in _PARTS or not names:
        return ""
    further = [name for name in names[1:] if name not in ("law", "motion")]
    number = str(int(names[0]) + 1) if names[0].isdigit() else names[0]
    return " ".join([_PARTS[kind], number, *further]).replace("_", " ")


def _description(words: str, name: str, unit: str) -> str:
    """Return what a parameter is, "" if its name says that."""
    words = _SUBSCRIPT.sub(lambda found: found[1].translate(_LOWERED), words)
    if unit in ("Hz", "kHz", "rpm", "1/min"):
        words = words.removeprefix("angular ")
    return "" if words == name else words


def _bounds(allowed: Range) -> dict[str, Any]:
    """Return the bounds as JSON has them: without infinities."""
    low, high = max(allowed.above, allowed.at_least), min(allowed.at_most, allowed.below)
    return {
        "low": low if math.isfinite(low) else None,
        "high": high if math.isfinite(high) else None,
        "open": [allowed.above >= low, allowed.below <= high],
    }
