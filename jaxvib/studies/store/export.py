"""A study's results for other programs: netCDF, CSV, Parquet and MATLAB's `.mat`.

Units and descriptions go along. CSV and Parquet are tables, one row for each sample, which
are written a block at a time, however many samples there are. All is written beside the
file and gets its name at the end, so that what fails leaves nothing.
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
from .dataset import groups, open_study, verified
from .rows import Rows
from .stored import array_names, layout_of

_BLOCK = 65_536  # samples that are written at a time


def export(directory: Path, file: Path) -> list[str]:
    """Write a study's results into a file, whose ending says how; return lines about it.

    - `.nc`: netCDF 4, grids with one dimension for each path, the groups (motions, mode
      shapes) as groups; `units` and `description` are attributes. A complex array is two.
    - `.mat`: one struct for each array with `values`, `axes`, `units`, `description`; names
      have `_` where MATLAB allows no dot; a group is a struct of such.
    - `.csv`: columns named `field[place along its axes]`; units and descriptions are in
      `FILE-metadata.json`, as the W3C's "CSV on the Web" has them.
    - `.parquet`: the same columns; units and descriptions are metadata of the fields.

    **Raises:** `ValueError` for another ending, a folder that is not there, a name that is
    taken (by a link too) or a package that is not installed; `OSError` where the disk
    fails; as `open_study`.
    """
    if file.suffix not in _WRITERS:
        raise ValueError(
            f"{file} ends in {file.suffix or 'nothing'}; allowed: {', '.join(_WRITERS)}"
        )
    if not file.parent.is_dir():
        raise ValueError(f"{file.parent} is not a folder; allowed: one that is there")
    files = [file, _about(file)] if file.suffix == ".csv" else [file]
    with _new(files) as streams:
        lines = _WRITERS[file.suffix](Path(directory), file, *streams)
    return [f"{file} written", *lines]


def _about(file: Path) -> Path:
    """Return the file that describes the columns of a table in CSV."""
    return file.with_name(f"{file.name}-metadata.json")


@contextlib.contextmanager
def _new(files: Sequence[Path]) -> Generator[Sequence[BinaryIO]]:
    """Yield files to be written, which get their names once all are on the disk.

    **Raises:** `ValueError` where a name is taken.
    """
    _refuse_taken(files)
    key = secrets.token_hex(4)  # of this process alone
    beside = [file.with_name(f".{file.name[:200]}.{key}.new") for file in files]
    named: list[Path] = []
    try:
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(each.open("xb")) for each in beside]
            yield streams
            for stream in streams:
                stream.flush()
                os.fsync(stream.fileno())
        _refuse_taken(files)
        for each, file in zip(beside, files, strict=True):
            each.rename(file)
            named.append(file)
    except BaseException:
        for each in (*beside, *named):
            each.unlink(missing_ok=True)
        raise


def _refuse_taken(files: Sequence[Path]) -> None:
    for file in files:
        if os.path.lexists(file):
            raise ValueError(f"{file} exists already; allowed: a new name")


def _netcdf(directory: Path, file: Path, stream: BinaryIO) -> list[str]:
    for module in ("h5netcdf", "h5py"):
        _needed(module, file)
    _, commits = verified(directory)
    # In memory: HDF5 ends the process where it cannot write to a disk.
    content = io.BytesIO()
    for number, group in enumerate([None, *groups(commits)]):
        dataset = _real(open_study(directory, group))
        mode = "a" if number else "w"
        dataset.to_netcdf(content, engine="h5netcdf", group=group, mode=mode)
    stream.write(content.getbuffer())
    return []


def _real(dataset):
    """Return a dataset in which each complex array is two, and no array of booleans."""
    variables = {}
    for name, field in dataset.variables.items():
        values, attributes = field.values, dict(field.attrs)
        parts = {name: values.astype(np.int8) if values.dtype == bool else values}
        if np.iscomplexobj(values):
            parts = {f"{name}.real": values.real, f"{name}.imag": values.imag}
        for part, numbers in parts.items():
            variables[part] = xarray.Variable(field.dims, numbers, attributes)
    coordinates = [name for name in dataset.coords if name in variables]
    return xarray.Dataset(variables, attrs=dict(dataset.attrs)).set_coords(coordinates)


def _matlab(directory: Path, file: Path, stream: BinaryIO) -> list[str]:
    record, commits = verified(directory)
    content: dict[str, Any] = {
        "study": {key: record[key] for key in ("title", "analysis", "system", "evidence")}
    }
    for group in [None, *groups(commits)]:
        dataset = open_study(directory, group)
        structs = {
            _identifier(str(name)): {
                "values": field.values,
                "axes": np.array([str(axis) for axis in field.dims], object),
                **{key: str(field.attrs.get(key, "")) for key in ("units", "description")},
            }
            for name, field in dataset.variables.items()
        }
        content |= structs if group is None else {_identifier(group): structs}
    savemat(stream, content, long_field_names=True, do_compression=True, oned_as="column")
    return []


def _identifier(name: str) -> str:
    """Return a name that MATLAB takes: at most 63 letters, digits and `_`."""
    allowed = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return (allowed if allowed[:1].isalpha() else f"x{allowed}")[:63]


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
    return [f"{_about(file)} written: units and descriptions", *table.left_out()]


def _parquet(directory: Path, file: Path, stream: BinaryIO) -> list[str]:
    arrow, parquet = _needed("pyarrow", file), _needed("pyarrow.parquet", file)
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


def _needed(module: str, file: Path) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ValueError(f'{file} needs {package}: pip install "jaxvib[export]"') from None


class _Table:
    """The arrays of a study that have the axis of its samples (or points), as columns."""

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
        self.columns = [
            column
            for name in names
            for column in _columns(name, layouts[name], record["axes"])
        ]

    def blocks(self) -> Iterator[list[np.ndarray]]:
        """Yield the columns, some samples at a time."""
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
        """Return a line about arrays that are no columns, if there are any."""
        if not self._others:
            return []
        listed = ", ".join(self._others)
        return [f"left out: {listed}, which have no axis {self._rows_axis}; .nc has all"]

    def _has(self, layout: Layout) -> bool:
        return layout.axes[:1] == (self._rows_axis,) and layout.shape[0] == self._length


def _leading(layouts: Mapping[str, Layout]) -> tuple[str, int]:
    """Return the axis, and its length, that leads most arrays; samples where there are."""
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
