"""Records read from files: two columns, converted to SI units."""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...foundation.suggestions import nearest
from ...foundation.units import conversion, readings, unit_text
from .document import Document
from .quantities import Asked, in_si, is_number
from .record_files import has_decimal_commas, record_table
from .tables import shown

_MOST_BYTES = 16 << 20  # of a file: half a million rows of two numbers
_MOST_ROWS = 20_000  # written to the study's resolved config
# A decimal number; not 1_5, inf or 0x1F, which `float` or people take for other numbers.
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
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
    "unit": {
        "type": "string",
        "description": "of the values, such as kN, mm or g; default: as in the heading",
    },
    "time_unit": {
        "type": "string",
        "description": "of the times; default: as in the heading, or s",
    },
    "start": {
        "type": "number",
        "unit": "s",
        "description": "when it begins; default: at the first time",
    },
}


def with_records(
    table: dict, path: str, document: Document, expected: str, base: bool = False
) -> dict:
    """Return a law's table with the record read from the file that it names, if any.

    `data`: the file, relative to the config; `time` and `value`: the headings of its
    columns; `unit` and `time_unit`: their units, by default those in the headings;
    `start`: the time at which it begins. They become `times` and `values` in SI units
    and a `source` describing the file, so that the study contains its input. The unit
    must be the one `expected` for, unless a `scale` converts the measured values to a
    force, or numbers to the motion of a `base`.
    **Raises:** `ValueError` naming all missing keys and the file's columns; for an
    unreadable file, with its line; for a missing column; for a unit that is unknown, of
    another dimension or not that of the heading; for a clock that begins after more
    than the record's duration, or before 0.
    """
    given = {key: table[key] for key in KEYS if key in table}
    if not given:
        times = table.get("times")
        if "source" not in table and isinstance(times, list) and all(map(is_number, times)):
            _begun(times or [0.0], table, path, document)
        return table
    for key, text in given.items():
        if key != "start" and not isinstance(text, str):
            where = document.where(path)
            raise ValueError(f"{where}: {path}.{key} = {shown(text)}; allowed: a text")
    for key in ("times", "values"):
        if {"data", "value"} <= {*given} and key in table:
            where = document.where(path)
            raise ValueError(f"{where}: {path}.{key} conflicts with data; allowed: one")
    _refuse_missing(("data", "value"), given, path, document)
    asked = None if "scale" in table and not base else expected
    if "scale" in table and base:
        asked = f"{expected} or 1"
    for key, unit in (("unit", asked), ("time_unit", "s")):
        if key in given:
            _scale(given[key], unit, f"{path}.{key}", document)
    try:
        content = _content(Path(document.name).parent / given["data"])
        columns = _columns(content, given.get("time"), given["value"])
        (heading, times), (value_heading, values) = columns
        told = (heading_unit(heading, "s"), heading_unit(value_heading, asked))
        _check_headings(columns, told, given)
    except (OSError, ValueError) as error:
        columns_ = (key for key in ("time", "value") if key in given)
        of = next(
            (k for k in columns_ if f"column {shown(given[k])} " in str(error)), "data"
        )
        where = document.where(f"{path}.{of}")
        raise ValueError(
            f"{where}: {path}.data = {shown(given['data'])}: {error}"
        ) from None
    if told[1]:
        given.setdefault("unit", told[1])
    _refuse_missing(("unit",), given, path, document)
    scales = [
        _scale(given["unit"], asked, f"{path}.unit", document),
        _scale(given.get("time_unit", told[0] or "s"), "s", path, document),
    ]
    rest = {key: value for key, value in table.items() if key not in KEYS}
    digest = hashlib.sha256(content).hexdigest()
    return {
        **rest,
        "times": _begun([time * scales[1] for time in times], table, path, document),
        "values": [value * scales[0] for value in values],
        "unit": given["unit"],
        "source": f"{Path(given['data']).name}, {given['value']} in {given['unit']}, "
        f"sha256 {digest}",
    }


def _refuse_missing(needed, given: dict, path: str, document: Document) -> None:
    if all(key in given for key in needed):
        return
    missing = [key for key in ("data", "value", "unit") if key not in given]
    allowed = "; ".join(f"{key}: {_allowed(key, given, document)}" for key in missing)
    verb = "are" if len(missing) > 1 else "is"
    where = document.where(path)
    raise ValueError(f"{where}: {path}: {', '.join(missing)} {verb} missing; {allowed}")


def _begun(times: list[float], table: Mapping, path: str, document: Document) -> list:
    """Return the times from the given start on; refuse a clock that begins late."""
    if "start" in table:
        start = in_si(table["start"], Asked("s"), document.where, f"{path}.start")
        if not is_number(start):
            where = document.where(f"{path}.start")
            raise ValueError(f"{where}: {path}.start = {shown(start)}; allowed: a time, s")
        return [start + (time - times[0]) for time in times]
    if table.get("periodic") is not True and not 0 <= times[0] <= times[-1] - times[0]:
        where = document.where(path)
        instead = "start = 0.0" if "data" in table else "times from 0 on"
        raise ValueError(
            f"{where}: {path}: its clock begins at {times[0]:g} s, and motions at 0; write "
            f"{instead} for a record that begins there, or another time"
        )
    return times


def heading_unit(heading: str, asked: str | None) -> str:
    """Return the unit that a heading names, "" for none.

    In brackets, `t [ms]` and `push (kN)`, it may be any; `F(kN)`, `Zeit / ms`, `a in
    m/s^2`, `time, s`, `time ms` and `t_ms` count only if it is one of `asked` (the first
    three if that is None, any unit), and one letter behind an underscore, which may be an
    index, does not.
    """
    fitting = None if asked is None else _powers(asked)
    forms = [(form, form == _BRACKETS or fitting is None) for form in _FORMS]
    for form, of_any in forms[: 4 if fitting is None else None]:
        for match in re.finditer(form, heading):
            plain = re.sub(r"^(in|unit|units|Einheit)[\s:=]+", "", match[1].strip())
            # ms^-2 is m s^-2 where an acceleration is asked, not a rate of milliseconds.
            written = (plain, plain.lower(), re.sub(r"\bms(?=\^?-\d)", "m s", plain))
            known = [(unit, _powers(unit)) for unit in written if _powers(unit)]
            for unit, powers in known:
                if fitting is not None and any(each in fitting for each in powers):
                    return unit
            if of_any and known:
                return known[0][0]
    return ""


# Units in headings, from the surest on; they may overlap, and are looked ahead for.
_BRACKETS = r"(?=(?:\s\(|\[|\{)([^()\[\]{}]+)[)\]}])"
_FORMS = (
    _BRACKETS,
    r"(?=\(([^()]+)\))", r"(?=/\s*(\S.*)$)", r"(?=\sin\s+(\S.*)$)",
    r"(?=[,:;]\s*(\S.*)$)", r"(?=\s((?!in$|min$)\S.*)$)", r"(?=_((?!in$|min$)[^_]{2,})$)",
)  # fmt: skip


def _powers(unit: str) -> list[tuple[float, ...]]:
    """Return the dimensions of a unit, none of a number or a remark."""
    try:
        found = [each.powers for text in unit.split(" or ") for each in readings(text)]
    except ValueError:
        return []
    return found if re.search(r"[^\W\d]|%|°", unit) else []


def unit_of_scale(unit: str, expected: str) -> str:
    """Return the unit of a scale that makes values of a unit those that are expected."""
    given, powers = readings(unit), readings(expected)[0].powers
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
        # Of several readings, that in which g is standard gravity.
        return conversion(unit, expected) if expected else readings(unit)[-1].factor
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
    for (line, row), pair in zip(rows, cells, strict=True):
        for place, cell, (_, column) in zip(places, pair, found, strict=True):
            text = cell.replace(",", ".") if comma else cell
            number = float(text) if _DECIMAL.fullmatch(text) else math.nan
            if not math.isfinite(number):
                raise ValueError(
                    f"line {line}: {names[place]} = {shown(cell)} is not a number"
                )
            column.append(number)
        if any(cell.strip() for cell in row[len(names) :]):
            raise ValueError(
                f"line {line} has {len(row)} cells under {len(names)} headings; numbers "
                "with decimal commas need quotes, or columns separated by ;"
            )
    return found


def _check_headings(columns, told: Sequence[str], given: Mapping) -> None:
    """Raise `ValueError` if a heading's unit differs from the given one."""
    for (heading, _), unit, key in zip(columns, told, ("time_unit", "unit"), strict=True):
        if unit and key in given and not {*readings(unit)} & {*readings(given[key])}:
            raise ValueError(
                f"column {shown(heading)} names another unit than {key} = "
                f"{shown(given[key])}; allowed: the same in both"
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
