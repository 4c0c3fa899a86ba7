"""Loads in a config that are read from files or locked to another load's frequency."""

from collections.abc import Callable, Mapping

from ...foundation.suggestions import nearest
from ..config.document import Document
from ..config.records import KEYS, unit_of_scale, with_records
from ..config.tables import shown


def with_read_loads(
    table: dict, document: Document, unit_of_values: Callable[[dict], str | None]
) -> tuple[dict, dict[str, str | None]]:
    """Return a system's table with file records read and locked frequencies resolved.

    And the unit of the scale of each record, by path, None if any fits.
    `unit_of_values`: unit of a load's record, None if it has none.
    """
    loads = table.get("loads")
    if not isinstance(loads, dict):
        return table, {}
    found, scales = {}, {}
    for name, load in loads.items():
        path = f"system.loads.{name}"
        if isinstance(load, dict):
            load = _locked(load, loads, path, document)
            inside = _inside(load)
            expected = unit_of_values(load)
            if expected is not None and isinstance(load.get(inside), dict):
                law = with_records(
                    load[inside], f"{path}.{inside}", document, expected, "base" in load
                )
                if (unit := law.pop("unit", None)) is not None:
                    scale = unit_of_scale(unit, expected)
                    scales[f"loads.{name}.{inside}.scale"] = scale
                load = {**load, inside: law}
        found[name] = load
    return {**table, "loads": found}, scales


def refuse_late_records(loads: Mapping, duration: float, document: Document) -> None:
    """Raise `ValueError` for a record that begins after the motion's end."""
    for name, load in loads.items():
        law = load.model_dump().get(_inside(load.model_dump()), {})
        times = law.get("times") or [0.0]
        if times[0] >= duration and not law["periodic"]:
            path = f"system.loads.{name}"
            raise ValueError(
                f"{document.where(path)}: {path} begins at {times[0]:g} s, after the "
                f"duration of {duration:g} s; allowed: a longer one, or start = 0.0 beside "
                "its file"
            )


def _locked(load: dict, loads: dict, path: str, document: Document) -> dict:
    """Return a load whose frequency is an integer multiple of another load's.

    `harmonic = 3`, `of = "road"` become a formula for the frequency.
    """
    if "harmonic" not in load and "of" not in load:
        return load
    where = document.where(f"{path}.harmonic")
    times, other = load.get("harmonic"), load.get("of")
    if not isinstance(times, int) or isinstance(times, bool) or not 1 <= times <= 64:
        raise ValueError(
            f"{where}: {path}.harmonic = {shown(times)}; allowed: whole numbers in [1, 64]"
        )
    base = loads.get(other) if isinstance(other, str) else None
    if not isinstance(base, dict) or other == path.rpartition(".")[2]:
        near = nearest(str(other), loads)
        hint = f'; did you mean "{near}"?' if near else ""
        raise ValueError(
            f"{where}: {path}.of = {shown(other)} is not another load{hint}"
        )  # fmt: skip
    own_name, other_name = map(_inside, (load, base))
    law = load.get(own_name, {})
    if "frequency" in (law if isinstance(law, dict) else {}):
        raise ValueError(
            f"{where}: {path}.{own_name}.frequency conflicts with harmonic; allowed: one"
        )
    formula = f"{times} * 'loads.{other}.{other_name}.frequency'"
    rest = {key: value for key, value in load.items() if key not in ("harmonic", "of")}
    return {**rest, own_name: {**law, "frequency": formula}}


def _inside(load: dict) -> str:
    """Return the key of the law's table."""
    return "motion" if "base" in load or "stops" in load else "law"


def describe_what_is_read(name: str, table: dict) -> None:
    """Add keys that are replaced on reading to the schema of a load."""
    law = table["$defs"][f"{name}_law"]
    if "values" in law["properties"]:
        law["properties"] |= KEYS
        law["required"] = []
        law["oneOf"] = [{"required": ["times", "values"]}, {"required": ["data", "value"]}]
    if "frequency" in law["properties"]:
        table["properties"] |= _LOCKED
        law["required"] = [each for each in law["required"] if each != "frequency"]


_LOCKED = {
    "harmonic": {
        "type": "integer", "minimum": 1, "maximum": 64,
        "description": "multiple of another load's frequency",
    },
    "of": {"type": "string", "description": "the load with the base frequency"},
}  # fmt: skip
