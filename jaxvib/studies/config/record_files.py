"""Columns of measured records: CSV, PEER's time series and LabVIEW's text files."""

import csv
import re
from collections.abc import Iterable
from typing import NamedTuple

_FORMS = {
    b"PK\3\4": "an Excel workbook", b"TDSm": "LabVIEW's TDMS", b"MATLAB": "a MATLAB file",
    b"\x89HDF": "HDF5", b"\xff\xfe": "UTF-16 text", b"\xfe\xff": "UTF-16 text",
}  # fmt: skip
_LINE_END = re.compile("\r\n|\r|\n")
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d*(?:[eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
_SERIES = re.compile(r"\b(\w+) TIME (?:SERIES|HISTORY)\W+IN UNITS OF ([\w/^]+)", re.I)
_NUMBER = r"(\d*\.?\d+(?:E[-+]?\d+)?)"
_COUNT = re.compile(
    rf"NPTS\s*=\s*(\d+)\s*,\s*DT\s*=\s*{_NUMBER}|\b(\d+)\s+{_NUMBER}\s+NPTS\s*,\s*DT", re.I
)
_HEADER_END = "***End_of_Header***"  # of a LabVIEW file, and of each of its segments


class RecordTable(NamedTuple):
    """The columns of a file.

    `names`: as in the file; `headings`: the names, with the units that the format gives;
    `rows`: the number of the line and its cells.
    """

    names: list[str]
    headings: list[str]
    rows: list[tuple[int, list[str]]]


def record_table(content: bytes) -> RecordTable:
    """Return the columns of a file of records; its format follows from its content.

    CSV with commas, semicolons or tabs; PEER's time series (`.AT2`); LabVIEW's
    measurement files (`.lvm`) of one segment. **Raises:** `ValueError` that names
    another form, or the line.
    """
    for start, form in _FORMS.items():
        if content.startswith(start):
            raise ValueError(f"it is {form}; save its columns as CSV in UTF-8")
    try:
        lines = _LINE_END.split(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = len(_LINE_END.split(content[: error.start].decode("utf-8-sig")))
        raise ValueError(f"line {line}: not UTF-8") from None
    if lines[0].startswith("LabVIEW Measurement"):
        return _of_labview(lines)
    for number, line in enumerate(lines[:8], 1):
        if found := _COUNT.search(line):
            return _of_peer(lines, number, found)
    names, *rows = _cells(lines, max(",;\t", key=lines[0].count))
    names = [name.strip() for name in names[1]]
    return RecordTable(names, names, rows)


def _cells(lines: Iterable[str], separator: str, first: int = 1):
    """Return the number and the cells of each line, without blank ones and remarks."""
    found = []
    for number, line in enumerate(lines, first):
        if number > 1 and (line.startswith("#") or not line.strip(f"{separator} \t")):
            continue
        try:
            (cells,) = csv.reader([line], delimiter=separator, strict=True)
        except csv.Error as error:
            raise ValueError(
                f'line {number} is not CSV ({error}); quotes (") are pairs in one line'
            ) from None
        found.append((number, cells))
    return found


def _of_peer(lines: list[str], number: int, found: re.Match) -> RecordTable:
    """Return times and values of a series whose line `number` has count and step."""
    count, step = (text for text in found.groups() if text is not None)
    about = _SERIES.search(" ".join(lines[:number]))
    name, unit = about.groups() if about else ("value", "")
    cells = [
        (place, cell)
        for place, line in enumerate(lines[number:], number + 1)
        for cell in line.split()
    ]
    if len(cells) != int(count):
        raise ValueError(f"line {number}: NPTS = {count}, but {len(cells)} values follow")
    rows = [(place, [repr(k * float(step)), cell]) for k, (place, cell) in enumerate(cells)]
    unit = unit.lower().replace("sec", "s")
    names = ["time", name.lower()]
    return RecordTable(names, ["time (s)", f"{names[1]} ({unit})"], rows)


def _of_labview(lines: list[str]) -> RecordTable:
    ends = [i for i, line in enumerate(lines) if line.startswith(_HEADER_END)]
    told = next((line for line in lines if line.startswith("Separator")), "Separator\t")
    separator = told[9:10]
    about = {
        key: values
        for key, *values in (
            line.split(separator) for line in lines[: max(ends, default=0)]
        )
    }
    columns = about.get("X_Columns", ["One"])[0]
    steps = [set(about.get(key, ())) - {""} for key in ("X0", "Delta_X")]
    if (
        len(ends) != 2
        or columns == "Multi"
        or (columns == "No" and [*map(len, steps)] != [1, 1])
    ):
        raise ValueError(
            "it is a LabVIEW measurement file of several segments or times; save one "
            "segment with one X column"
        )
    cells = _cells(lines[ends[1] + 1 :], separator, ends[1] + 2)
    if about.get("Decimal_Separator", [""])[0] == ",":
        cells = [(i, [cell.replace(",", ".") for cell in row]) for i, row in cells]
    (_, names), *rows = cells or [(0, [])]
    if columns == "No":
        start, step = (float(each.pop().replace(",", ".")) for each in steps)
        rows = [(i, [repr(start + k * step), *row[1:]]) for k, (i, row) in enumerate(rows)]
    unit_of_times = "s" if about.get("X_Dimension", ["Time"])[0] == "Time" else ""
    units = [unit_of_times, *about.get("Y_Unit_Label", ()), *[""] * len(names)]
    headings = [
        f"{name} ({unit})" if unit else name
        for name, unit in zip(names, units, strict=False)
    ]
    rows = [(i, row + [""] * (len(names) - len(row))) for i, row in rows]
    return RecordTable(names, headings, rows)


def has_decimal_commas(cells: Iterable[str]) -> bool:
    """Return whether the numbers of a record have commas for points.

    **Raises:** `ValueError` if some have points, or each may be a whole number of
    thousands.
    """
    cells = list(cells)
    commas = [cell for cell in cells if "," in cell and _DECIMAL_COMMA.fullmatch(cell)]
    points = [cell for cell in cells if "." in cell]
    if commas and points:
        raise ValueError(
            f"it has decimal commas ({commas[0]}) and points ({points[0]}); allowed: one"
        )
    if commas and all(map(_THOUSANDS.fullmatch, commas)):
        raise ValueError(f"{commas[0]} may be a decimal or thousands; write decimal points")
    return bool(commas)
