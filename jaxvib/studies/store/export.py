"""Exports a study's results: netCDF, CSV, Parquet and MATLAB's `.mat`.

Units and descriptions are included. CSV and Parquet are tables with one row per sample,
written in blocks. Files are written under temporary names and renamed at the end, so
that a failure leaves nothing behind.
"""

import contextlib
import csv
import importlib
import io
import json
import os
import secrets
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np
import xarray
from scipy.io import savemat

from .arrays import Layout
from .checked_read import array_names, layout_of
from .dataset import groups, open_study, verified
from .rows import Rows

_BLOCK = 65_536  # samples per block
_MATLAB_NAME = 63  # the most characters of a name


def export(directory: Path, file: Path) -> list[str]:
    """Export a study's results to a file, in the format of its ending; return messages.

    - `.nc`: netCDF 4, grids with one dimension per path, groups (motions, mode shapes)
      as groups; `units` and `description` are attributes. A complex array becomes two.
    - `.mat`: one struct per array with `name`, `values`, `axes`, `units`, `description`;
      `_` replaces dots in names, which have at most 63 characters; a group is a struct of
      such structs.
    - `.csv`: columns named `field[position along its axes]`; units and descriptions are
      in `FILE-metadata.json`, in the W3C's "CSV on the Web" format.
    - `.parquet`: the same columns; units and descriptions are metadata of the fields.

    Names that become equal get `_2`, `_3`, ... behind them.

    **Raises:** `ValueError` for another ending, a missing folder, an existing file (or
    link) or a missing package; `OSError` if writing fails; as `open_study`.
    """
    if file.suffix not in _WRITERS:
        raise ValueError(
            f"{file} ends in {file.suffix or 'nothing'}; allowed: {', '.join(_WRITERS)}"
        )
    if not file.parent.is_dir():
        raise ValueError(f"{file.parent} is not an existing folder")
    files = [file, _metadata_file(file)] if file.suffix == ".csv" else [file]
    with _new(files) as streams:
        lines = _WRITERS[file.suffix](Path(directory), file, *streams)
    return [f"{file} written", *lines]


def _metadata_file(file: Path) -> Path:
    """Return the name of the metadata file of a CSV table."""
    return file.with_name(f"{file.name}-metadata.json")


@contextlib.contextmanager
def _new(files: Sequence[Path]) -> Generator[Sequence[BinaryIO]]:
    """Yield temporary files, renamed once all are written to disk.

    **Raises:** `ValueError` if a name exists.
    """
    _refuse_taken(files)
    key = secrets.token_hex(4)  # unique to this process
    temporary = [file.with_name(f".{file.name[:200]}.{key}.new") for file in files]
    named: list[Path] = []
    try:
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(each.open("xb")) for each in temporary]
            yield streams
            for stream in streams:
                stream.flush()
                os.fsync(stream.fileno())
        _refuse_taken(files)
        for each, file in zip(temporary, files, strict=True):
            each.rename(file)
            named.append(file)
    except BaseException:
        for each in (*temporary, *named):
            each.unlink(missing_ok=True)
        raise


def _refuse_taken(files: Sequence[Path]) -> None:
    for file in files:
        if os.path.lexists(file):
            raise ValueError(f"{file} already exists; choose a new name")


def _netcdf(directory: Path, file: Path, stream: BinaryIO) -> list[str]:
    for module in ("h5netcdf", "h5py"):
        _imported(module, file)
    _, commits = verified(directory)
    # In memory: HDF5 aborts the process if it cannot write to disk.
    content = io.BytesIO()
    for number, group in enumerate([None, *groups(commits)]):
        dataset = _real(open_study(directory, group))
        mode = "a" if number else "w"
        dataset.to_netcdf(content, engine="h5netcdf", group=group, mode=mode)
    stream.write(content.getbuffer())
    return []


def _real(dataset):
    """Return a dataset with complex arrays split in two and booleans converted."""
    parts = []
    for name, field in dataset.variables.items():
        values = field.values.astype(np.int8) if field.dtype == bool else field.values
        pair = [(f"{name}.real", values.real), (f"{name}.imag", values.imag)]
        for part, numbers in pair if np.iscomplexobj(values) else [(name, values)]:
            parts.append((part, xarray.Variable(field.dims, numbers, dict(field.attrs))))
    names = _distinct([str(name) for name, _ in parts])
    variables = dict(zip(names, (each for _, each in parts), strict=True))
    coordinates = [name for name in dataset.coords if name in variables]
    return xarray.Dataset(variables, attrs=dict(dataset.attrs)).set_coords(coordinates)


def _distinct(names: Sequence[str], most: int | None = None) -> list[str]:
    """Return names of at most `most` characters that all differ."""
    found: dict[str, None] = {}
    for name in names:
        number, end = 1, ""
        while (short := f"{name[: most and most - len(end)]}{end}") in found:
            number += 1
            end = f"_{number}"
        found[short] = None
    return list(found)


def _matlab(directory: Path, file: Path, stream: BinaryIO) -> list[str]:
    record, commits = verified(directory)
    study = {key: record[key] for key in ("title", "analysis", "system", "evidence")}
    content: list[tuple[str, Any]] = [("study", study)]
    for group in groups(commits):
        content.append((group, _identified(_structs(open_study(directory, group)))))
    whole = _identified([*content, *_structs(open_study(directory))])
    savemat(stream, whole, long_field_names=True, do_compression=True, oned_as="column")
    return []


def _structs(dataset) -> list[tuple[str, Any]]:
    return [
        (
            str(name),
            {
                "name": str(name),
                "values": field.values,
                "axes": np.array([str(axis) for axis in field.dims], object),
                **{k: str(field.attrs.get(k, "")) for k in ("units", "description")},
            },
        )
        for name, field in dataset.variables.items()
    ]


def _identified(content: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a struct with names of MATLAB: at most 63 letters, digits and `_`."""
    names = [
        "".join(c if c.isascii() and c.isalnum() else "_" for c in n) for n, _ in content
    ]
    names = [name if name[:1].isalpha() else f"x{name}" for name in names]
    values = (value for _, value in content)
    return dict(zip(_distinct(names, _MATLAB_NAME), values, strict=True))


def _csv(directory: Path, file: Path, stream: BinaryIO, about: BinaryIO) -> list[str]:
    table = _Table(directory)
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(column["name"] for column in table.columns)
    for columns in table.blocks():
        writer.writerows(zip(*(each.tolist() for each in columns), strict=True))
    text.detach()
    described = {
        "@context": ["http://www.w3.org/ns/csvw", {"unit": "http://qudt.org/schema/qudt/"}],
        "url": file.name,
        "tableSchema": {
            "columns": [
                {
                    "titles": column["name"],
                    "dc:description": column["description"],
                    "unit:unit": column["units"],
                }
                for column in table.columns
            ]
        },
    }
    about.write(f"{json.dumps(described, indent=1)}\n".encode())
    return [f"{_metadata_file(file)} written: units and descriptions", *table.left_out()]


def _parquet(directory: Path, file: Path, stream: BinaryIO) -> list[str]:
    arrow, parquet = _imported("pyarrow", file), _imported("pyarrow.parquet", file)
    table, writer = _Table(directory), None
    try:
        for columns in table.blocks():
            arrays = [arrow.array(each) for each in columns]
            schema = arrow.schema(
                arrow.field(
                    column["name"], array.type,
                    metadata={key: column[key] for key in ("units", "description")},
                )
                for column, array in zip(table.columns, arrays, strict=True)
            )  # fmt: skip
            writer = writer or parquet.ParquetWriter(stream, schema)
            writer.write_table(arrow.table(arrays, schema=schema))
    finally:
        if writer is not None:
            writer.close()
    return table.left_out()


def _imported(module: str, file: Path) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ValueError(f'{file} needs {package}: pip install "jaxvib[export]"') from None


class _Table:
    """The arrays of a study along its samples (or points), as columns."""

    def __init__(self, directory: Path):
        record, commits = verified(directory)
        sums = {file: crc for commit in commits for file, crc in commit.files.items()}
        layouts = {name: layout_of(directory, name) for name in array_names(commits)}
        self._rows_axis, self._length = _leading(layouts)
        inside = [name for name in layouts if self._has(layouts[name])]
        self._others = [name for name in layouts if name not in inside]
        first = [name for name in record["coordinates"] if name in inside]
        names = [*first, *(name for name in inside if name not in first)]
        self._rows = {name: Rows(directory, name, sums) for name in names}
        columns = [
            column
            for name in names
            for column in _columns(name, layouts[name], record["axes"])
        ]
        distinct = _distinct([column["name"] for column in columns])
        self.columns = [
            {**column, "name": name} for column, name in zip(columns, distinct, strict=True)
        ]

    def blocks(self) -> Iterator[list[np.ndarray]]:
        """Yield the columns in blocks of samples."""
        for start in range(0, self._length, _BLOCK):
            found = []
            for rows in self._rows.values():
                block = rows[start : start + _BLOCK]
                flat = block.reshape(len(block), -1)
                for values in flat.T:
                    found += (
                        [values.real, values.imag] if np.iscomplexobj(values) else [values]
                    )
            yield found

    def left_out(self) -> list[str]:
        """Return a line about arrays that are not columns, if there are any."""
        if not self._others:
            return []
        listed = ", ".join(self._others)
        return [f"left out: {listed}, which have no axis {self._rows_axis}; .nc has all"]

    def _has(self, layout: Layout) -> bool:
        return layout.axes[:1] == (self._rows_axis,) and layout.shape[0] == self._length


def _leading(layouts: Mapping[str, Layout]) -> tuple[str, int]:
    """Return the leading axis of the table, and its length; `sample` if present."""
    found = [(each.axes[0], each.shape[0]) for each in layouts.values() if each.axes]
    if not found:
        raise ValueError("the results have no axis; allowed: .nc, .mat")
    return max(found, key=lambda each: (each[0] == "sample", found.count(each)))


def _columns(name: str, layout: Layout, axes: Mapping[str, Sequence[str]]) -> list[dict]:
    about = {key: layout.attributes.get(key, "") for key in ("units", "description")}
    label: Callable[[str, int], str] = lambda axis, place: (  # noqa: E731
        axes[axis][place] if len(axes.get(axis, ())) > place else str(place)
    )
    found = []
    for place in np.ndindex(layout.shape[1:]):
        inside = ",".join(label(a, i) for a, i in zip(layout.axes[1:], place, strict=True))
        full = f"{name}[{inside}]" if inside else name
        parts = (".real", ".imag") if layout.dtype.kind == "c" else ("",)
        found += [{"name": f"{full}{part}", **about} for part in parts]
    return found


_WRITERS: dict[str, Callable[..., list[str]]] = {
    ".nc": _netcdf,
    ".mat": _matlab,
    ".csv": _csv,
    ".parquet": _parquet,
}
