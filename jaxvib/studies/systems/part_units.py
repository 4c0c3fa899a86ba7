"""Units of the numbers of contacts, loads and other parts, in a config as it is given."""

import dataclasses
from collections.abc import Mapping

from ...foundation.units import rotational_unit
from ..config.catalogue import Declared, declared_part
from ..config.quantities import HERTZ
from ..config.tables import flattened
from .variations import AROUND, INSIDE, KEYS, LAWS, units_of_variation

_NAME = "impact_assembly"  # the kind of system that declares the parts
_MOVED = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s^2"}


def fields_of(name: str, turned: bool) -> dict[str, Declared]:
    """Return the declarations of a kind of part such as `contact_hertz`, by path.

    `turned`: whether it acts on angles, in N m and rad.
    """
    key, _, kind = name.partition("_")
    if (law := LAWS[key].get(kind)) is None:
        return {}
    given = _MOVED[law.fixed["given"]] if "given" in law.fixed else "N"
    inside = "" if key == "friction" else f"{INSIDE[key]}."
    of_law = {
        f"{inside}{path}": dataclasses.replace(
            entry, unit=given if entry.unit == "N" else entry.unit
        )
        for path, entry in declared_part(_NAME, law.cls).items()
    }
    found: dict[str, Declared] = {}
    for path, entry in declared_part(_NAME, AROUND.get(key, "")).items():
        found |= {path: entry} | (of_law if path == "gap" else {})
    found |= of_law
    unit_of = rotational_unit if turned else str
    return {
        path: dataclasses.replace(entry, unit=unit_of(entry.unit))
        for path, entry in found.items()
        if path not in ("direction", "directions")
    }


def units_of_parts(table: Mapping, angles: frozenset[str]) -> dict[str, str | None]:
    """Return the unit of each number of the parts of a system's table, by path.

    None: any unit fits.
    """
    found: dict[str, str | None] = {}
    for section, keys in KEYS.items():
        parts = table.get(section)
        for name, part in parts.items() if isinstance(parts, Mapping) else ():
            if isinstance(part, Mapping):
                of_part = _units_of_part(keys, part, angles)
                found |= {f"{section}.{name}.{path}": u for path, u in of_part.items()}
    return found


def _units_of_part(
    keys: tuple[str, ...], part: Mapping, angles: frozenset[str]
) -> dict[str, str | None]:
    """Return the unit of each number of a part's table, by path; None: of any unit."""
    kind = next(((key, part[key]) for key in keys if key in part), None)
    if kind is None or not isinstance(kind[1], str):
        return {}
    fields = fields_of("_".join(kind), acts_on_angles(part.get("at"), angles))
    found: dict[str, str | None] = {path: entry.unit for path, entry in fields.items()}
    inside = part.get(INSIDE[kind[0]])
    law = inside if isinstance(inside, Mapping) else {}
    power = law.get("exponent", HERTZ)
    if isinstance(power, int | float):
        found = {p: e.unit.replace("^n", f"^{power:g}") for p, e in fields.items()}
    if f"{INSIDE[kind[0]]}.values" in found:
        found[f"{INSIDE[kind[0]]}.scale"] = None  # as its values have which
    if isinstance(variation := part.get("variation"), Mapping):
        units = units_of_variation(variation.get("load"))
        found |= {f"variation.{path}": unit for path, unit in units.items()}
    return found


def laws_of_springs(table: Mapping, angles: frozenset[str]) -> dict[str, str]:
    """Return the units of the forces by springs' formulas, by path."""
    springs = table.get("springs")
    return {
        f"springs.{name}.law.formula": "N m" if acts_on_angles(at, angles) else "N"
        for name, part in (springs.items() if isinstance(springs, Mapping) else ())
        if (at := part.get("at") if isinstance(part, Mapping) else None)
    }


def unit_of_values(load: Mapping, angles: frozenset[str]) -> str | None:
    """Return the unit of a load's record as given in the config, None without one."""
    key = next((key for key in KEYS["loads"] if key in load), KEYS["loads"][0])
    fields = fields_of(f"{key}_{load.get(key)}", acts_on_angles(load.get("at"), angles))
    entry = fields.get(f"{INSIDE[key]}.values")
    return None if entry is None else entry.unit


def acts_on_angles(at, angles: frozenset[str]) -> bool:
    """Return whether a part acts on angles only, see `ImpactSystem.turned`."""
    if isinstance(at, list):
        return False
    given = flattened(at) if isinstance(at, dict) else {str(at): 1.0}
    along = {
        name: number
        for name, number in given.items()
        if number != 0 and name.partition(".")[0] != "ground"
    }
    return bool(along) and all(
        name in angles and number in (1, -1) for name, number in along.items()
    )
