"""Exports a study's results: netCDF, CSV, Parquet and MATLAB's `.mat`.

Units and descriptions are included. CSV and Parquet are tables with one row per sample.
"""

import importlib
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np
import pandas
import xarray
from scipy.io import savemat

from ...drawing.fields import Variable, columns
from ...foundation.new_files import refuse_taken, write_new
from .dataset import groups, open_study, stored_fields, verified

_MATLAB_NAME = 63  # the most characters of a name
Written = tuple[dict[Path, Any], list[str]]  # contents of files for `write_new`; messages


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
    link) or a missing package; `OSError` for results that exceed half of the memory, with
    their size, and if writing fails; as `open_study`.
    """
    if file.suffix not in _WRITERS:
        raise ValueError(
            f"{file} ends in {file.suffix or 'nothing'}; allowed: {', '.join(_WRITERS)}"
        )
    if not file.parent.is_dir():
        raise ValueError(f"{file.parent} is not an existing folder")
    refuse_taken([file])
    files, lines = _WRITERS[file.suffix](Path(directory), file)
    write_new(files)
    return [f"{file} written", *lines]


def _netcdf(directory: Path, file: Path) -> Written:
    for module in ("h5netcdf", "h5py"):
        _imported(module, file)
    _, commits = verified(directory)
    # In memory: HDF5 aborts the process if it cannot write to disk.
    content = io.BytesIO()
    for number, group in enumerate([None, *groups(commits)]):
        dataset = _real(open_study(directory, group))
        mode = "a" if number else "w"
        dataset.to_netcdf(content, engine="h5netcdf", group=group, mode=mode)
    return {file: content.getbuffer()}, []


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


def _matlab(directory: Path, file: Path) -> Written:
    record, commits = verified(directory)
    study = {key: record[key] for key in ("title", "analysis", "system", "evidence")}
    content: list[tuple[str, Any]] = [("study", study)]
    for group in groups(commits):
        content.append((group, _identified(_structs(open_study(directory, group)))))
    whole = _identified([*content, *_structs(open_study(directory))])

    def write(stream: BinaryIO) -> None:
        savemat(stream, whole, long_field_names=True, do_compression=True, oned_as="column")

    return {file: write}, []


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


def _csv(directory: Path, file: Path) -> Written:
    table, lines = _table(directory)
    frame = pandas.DataFrame({k: each.values for k, each in table.items()}, copy=False)
    described = [
        {"titles": name, "dc:description": each.description, "unit:unit": each.unit}
        for name, each in table.items()
    ]
    metadata = {
        "@context": ["http://www.w3.org/ns/csvw", {"unit": "http://qudt.org/schema/qudt/"}],
        "url": file.name,
        "tableSchema": {"columns": described},
    }
    about = file.with_name(f"{file.name}-metadata.json")
    files = {
        file: lambda stream: frame.to_csv(
            stream, index=False, na_rep="nan", lineterminator="\r\n"
        ),
        about: f"{json.dumps(metadata, indent=1)}\n".encode(),
    }
    return files, [f"{about} written: units and descriptions", *lines]


def _parquet(directory: Path, file: Path) -> Written:
    arrow, parquet = _imported("pyarrow", file), _imported("pyarrow.parquet", file)
    named, lines = _table(directory)
    arrays = [arrow.array(np.ascontiguousarray(each.values)) for each in named.values()]
    schema = arrow.schema(
        arrow.field(
            name, array.type,
            metadata={"units": each.unit, "description": each.description},
        )
        for (name, each), array in zip(named.items(), arrays, strict=True)
    )  # fmt: skip
    table = arrow.table(arrays, schema=schema)
    return {file: lambda stream: parquet.write_table(table, stream)}, lines


def _imported(module: str, file: Path) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ValueError(f'{file} needs {package}: pip install "jaxvib[export]"') from None


def _labelled(field: Any) -> Variable:
    unit, words = (str(field.attrs.get(key, "")) for key in ("units", "description"))
    return Variable(field.dims, field.values, unit, words)


def _table(directory: Path) -> tuple[dict[str, Variable], list[str]]:
    """Return the arrays along the samples (or points) as columns, and a line on others."""
    record, commits = verified(directory)
    fields = stored_fields(directory, record, commits)
    found = [field.dims[0] for field in fields.values() if field.dims]
    if not found:
        raise ValueError("the results have no axis; allowed: .nc, .mat")
    axis = max(found, key=lambda each: (each == "sample", found.count(each)))
    inside = [name for name, field in fields.items() if field.dims[:1] == (axis,)]
    first = [name for name in record["coordinates"] if name in inside]
    along = [(name, _labelled(fields[name])) for name in dict.fromkeys([*first, *inside])]
    names, each = zip(
        *columns(along, lambda axis: record["axes"].get(axis, ())), strict=True
    )
    others = ", ".join(name for name in fields if name not in inside)
    words = f"left out: {others}, which have no axis {axis}; .nc has all"
    table = dict(zip(_distinct(names), each, strict=True))
    return table, [words] * bool(others)


_WRITERS: dict[str, Callable[[Path, Path], Written]] = {
    ".nc": _netcdf,
    ".mat": _matlab,
    ".csv": _csv,
    ".parquet": _parquet,
}
