"""Records read from files: two columns, converted to SI units."""

import hashlib
import math
import re
from collections.abc import Mapping
from pathlib import Path

from ...foundation.suggestions import nearest
from ...foundation.units import conversion, readings, unit_text
from .document import Document
from .record_files import has_decimal_commas, record_table
from .tables import shown

_MOST_BYTES = 16 << 20  # of a file: half a million rows of two numbers
_MOST_ROWS = 20_000  # written to the study's resolved config
_HEADING = re.compile(r".*(?:\s\(|\[)([^()\[\]]+)[)\]]")  # with unit: push (kN), t [ms]
# Properties of the JSON schema.
KEYS = {
    "data": {
        "type": "string",
        "description": "CSV, .AT2 or .lvm file, relative to the config",
    },
    "time": {
        "type": "string",
        "description": "its time column, by heading; default: the first",
    },
    "value": {"type": "string", "description": "its value column, by heading"},
    "unit": {"type": "string", "description": "of the values, such as kN, mm or g"},
    "time_unit": {"type": "string", "default": "s", "description": "of the times"},
}


def with_records(
    table: dict, path: str, document: Document, expected: str, base: bool = False
) -> dict:
    """Return a law's table with the record read from the file that it names, if any.

    `data`: the file, relative to the config; `time` and `value`: the headings of its
    columns; `unit` and `time_unit` (default "s"): their units. They become `times` and
    `values` in SI units and a `source` describing the file, so that the study contains
    its input. The unit must be the one `expected` for, unless a `scale` converts the
    measured values to a force (not for the motion of a `base`).
    **Raises:** `ValueError` naming all missing keys and the file's columns; for an
    unreadable file, with its line; for a missing column; for a unit that is unknown or
    of another dimension.
    """
    given = {key: table[key] for key in KEYS if key in table}
    if not given:
        return table
    where = document.where(path)
    for key, text in given.items():
        if not isinstance(text, str):
            raise ValueError(f"{where}: {path}.{key} = {shown(text)}; allowed: a text")
    if missing := [key for key in ("data", "value", "unit") if key not in given]:
        allowed = "; ".join(f"{key}: {_allowed(key, given, document)}" for key in missing)
        verb = "are" if len(missing) > 1 else "is"
        raise ValueError(f"{where}: {path}: {', '.join(missing)} {verb} missing; {allowed}")
    for key in ("times", "values"):
        if key in table:
            raise ValueError(f"{where}: {path}.{key} conflicts with data; allowed: one")
    scales = {
        key: _scale(given.get(key, "s"), unit, f"{path}.{key}", document)
        for key, unit in (
            ("unit", None if "scale" in table and not base else expected),
            ("time_unit", "s"),
        )
    }
    try:
        content = _content(Path(document.name).parent / given["data"])
        columns = _columns(content, given.get("time"), given["value"])
        _check_headings(columns, given["unit"], given.get("time_unit", "s"))
    except (OSError, ValueError) as error:
        columns_ = (key for key in ("time", "value") if key in given)
        of = next(
            (k for k in columns_ if f"column {shown(given[k])} " in str(error)), "data"
        )
        where = document.where(f"{path}.{of}")
        raise ValueError(
            f"{where}: {path}.data = {shown(given['data'])}: {error}"
        ) from None
    (_, times), (_, values) = columns
    rest = {key: value for key, value in table.items() if key not in KEYS}
    digest = hashlib.sha256(content).hexdigest()
    return {
        **rest,
        "times": [time * scales["time_unit"] for time in times],
        "values": [value * scales["unit"] for value in values],
        "source": f"{Path(given['data']).name}, {given['value']} in {given['unit']}, "
        f"sha256 {digest}",
    }


def unit_of_scale(record: Mapping, expected: str) -> str | None:
    """Return the unit of a record's scale, None if that of its values is not known."""
    try:
        given = readings(record["unit"])
    except (KeyError, ValueError, AttributeError):
        return None
    powers = readings(expected)[0].powers
    if powers in [each.powers for each in given]:
        return ""
    pairs = zip(powers, given[-1].powers, strict=True)
    return unit_text(tuple(a - b for a, b in pairs))


def _allowed(key: str, given: dict, document: Document) -> str:
    """Return the allowed values of a missing key, for the message."""
    if key != "value" or "data" not in given:
        return KEYS[key]["description"]
    try:
        names = record_table(_content(Path(document.name).parent / given["data"])).names
    except (OSError, ValueError) as error:
        return f"a column of {shown(given['data'])}, which cannot be read: {error}"
    return f"a column of {shown(given['data'])}: {', '.join(map(shown, names))}"


def _scale(unit: str, expected: str | None, path: str, document: Document) -> float:
    """Return the SI value of a unit; `expected` None: in the unit of its own dimension."""
    try:
        if expected is None and unit != "g":  # standard gravity, not gram
            return readings(unit)[-1].factor
        return conversion(unit, expected or "m/s^2")
    except ValueError as error:
        where = document.where(path)
        raise ValueError(f"{where}: {path} = {shown(unit)}: {error}") from None


def _content(file: Path) -> bytes:
    if not file.is_file():
        raise ValueError("no such file")
    with file.open("rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"longer than {_MOST_BYTES} bytes")
    return content


def _columns(content: bytes, time: str | None, value: str):
    table = record_table(content)
    names, rows = table.names, table.rows
    if len(rows) > _MOST_ROWS:
        raise ValueError(f"more than {_MOST_ROWS} rows")
    places = [_place(name, names) for name in (time or (names or [""])[0], value)]
    if len(rows) < 2:
        raise ValueError(f"{len(rows)} rows of numbers; allowed: two or more")
    cells = [
        [row[place].strip() if place < len(row) else "" for place in places]
        for _, row in rows
    ]
    comma = has_decimal_commas(cell for pair in cells for cell in pair)
    found: list[tuple[str, list[float]]] = [(table.headings[place], []) for place in places]
    for (line, _), pair in zip(rows, cells, strict=True):
        for place, cell, (_, column) in zip(places, pair, found, strict=True):
            try:
                number = float(cell.replace(",", ".") if comma else cell)
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise ValueError(
                    f"line {line}: {names[place]} = {shown(cell)} is not a number"
                )
            column.append(number)
    return found


def _check_headings(columns, unit: str, time_unit: str) -> None:
    """Raise `ValueError` if a heading's unit differs from the given one."""
    keys = {"time_unit": time_unit, "unit": unit}
    for (heading, _), (key, given) in zip(columns, keys.items(), strict=True):
        match = _HEADING.fullmatch(heading)
        try:
            differs = match is not None and readings(match[1]) != readings(given)
        except ValueError:
            continue  # a remark, not a unit
        if differs:
            raise ValueError(
                f"column {shown(heading)} names another unit than {key} = {shown(given)}; "
                "allowed: the same in both"
            )


def _place(name: str, names: list[str]) -> int:
    if names.count(name) != 1:
        fault = "appears twice" if name in names else "not found"
        near = nearest(name, names)
        hint = f'; did you mean "{near}"?' if near and near != name else ""
        raise ValueError(
            f"column {shown(name)} {fault}; known: {', '.join(map(shown, names))}{hint}"
        )
    return names.index(name)
