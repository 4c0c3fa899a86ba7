"""Validated reading of a study's results: by name, or as an xarray dataset."""

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import METADATA
from .checked_read import (
    RESULTS,
    belongs,
    check_sizes,
    read_record,
)
from .folder import Folder
from .journal import Commit, Journal, damaged, missing
from .rows import Rows, rows_of
from .store_metadata import long_name
from .subsample import evenly_chosen, kept

_MOST_FILES = 20_000  # all verified when a study is opened


def open_study(
    directory: str | Path, group: str | None = None, most: int | None = None
) -> Any:
    """Return a study's results as an `xarray.Dataset`, read into memory.

    Every file is verified against the study's journal first. A grid has one dimension
    per swept path, other samples have the dimension `sample`; the values of the swept
    paths are coordinates. Attributes are `units`, `description` and `long_name`, with
    which xarray labels its plots.

    **Arguments:** `group`: `"traces"` for the stored motions; `most`: maximum number of
    samples; beyond it an even subsample is read (of a grid, every n-th line), for
    studies that exceed the memory.
    **Raises:** `FileNotFoundError` if there is no study or no such group, `ValueError`
    if it is not complete, `OSError` naming missing or damaged files.

    >>> try:
    ...     jv.open_study("no_such_folder")
    ... except FileNotFoundError:
    ...     print("no study there")
    no study there
    """
    directory = Path(directory)
    if not Folder(directory).kind("journal.jsonl"):
        raise FileNotFoundError(f"{directory} contains no study")
    record, commits = verified(directory)
    if group is not None and group not in groups(commits):
        raise FileNotFoundError(f"{directory} has no group {group!r}")
    some = None if group else thinning(record, most)
    dataset = _dataset(directory, record, commits, group or "", some)
    named = {axis.removesuffix("_component"): axis for axis in dataset.dims}
    names = {
        named[axis]: (named[axis], names, long_name(axis))
        for axis, names in record["axes"].items()
        if axis in named
    }
    dataset = dataset.assign_coords(names)
    if group is None and record["grid"]:
        grid = record["grid"]
        return on_grid(dataset, grid if some is None else kept(grid, most or 0))
    return dataset if some is None else dataset.assign_coords(sample=("sample", some))


def _dataset(directory: Path, record: Mapping, commits, group: str, some):
    import xarray

    fields = stored_fields(directory, record, commits, group, some)
    variables = {
        name: xarray.Variable(field.dims, field.values, field.attrs)
        for name, field in fields.items()
    }
    about = {} if group else {key: record[key] for key in _ABOUT}
    try:
        dataset = xarray.Dataset(variables, attrs=about)
        coordinates = _coordinates(directory, record, group)
        return dataset.set_coords(
            [name for name in coordinates if name in dataset.variables]
        )
    except ValueError as error:
        raise OSError(f"{directory / RESULTS / group} is damaged: {error}") from None


def thinning(record: Mapping, most: int | None) -> np.ndarray | None:
    """Return the samples of a subsample of at most `most`, `None` for all of them."""
    if most is None or record["samples"] <= most:
        return None
    return evenly_chosen(record["samples"], record["grid"], most)


def verified(directory: Path) -> tuple[dict, list[Commit]]:
    """Return the record and the commits of a complete study, all bytes verified."""
    record, commits = checked(directory)
    if "share" in record:
        raise ValueError(
            f"{directory} contains share {record['share']} of a study; join "
            "all shares first, with `jaxvib merge`"
        )
    steps = [commit.step for commit in commits]
    if not {"start", "complete"} <= set(steps):
        raise ValueError(
            f"the study in {directory} is not complete; finish it with `--resume`"
        )
    chunks = sum(step.startswith("chunk ") for step in steps)
    expected = -(-record["samples"] // record["chunk"]) if chunks else 0
    if (
        len(set(steps)) < len(steps)
        or chunks != expected
        or _listed(directory)
        != {
            file.removeprefix(f"{RESULTS}/").removesuffix(f"/{METADATA}")
            for commit in commits
            if commit.step not in ("start", "complete")
            for file in commit.files
            if file.endswith(f"/{METADATA}")
        }
    ):
        raise OSError(f"{directory / 'journal.jsonl'} lacks lines; `--resume` repairs it")
    return record, commits


def checked(directory: Path) -> tuple[dict, list[Commit]]:
    """Return the record and the commits of a study, complete or not, bytes verified.

    For a study of very many files, sample files are only checked for existence, and
    verified when they are read. **Raises:** `OSError` for damaged or missing files.
    """
    commits = Journal(directory / "journal.jsonl").read()
    record = read_record(Folder(directory))
    strange = [commit.step for commit in commits if not belongs(commit, record)]
    if strange:
        raise OSError(
            f"{directory / 'journal.jsonl'}: the step {strange[0]!r} names files of "
            "other steps"
        )
    many = sum(len(commit.files) for commit in commits) > _MOST_FILES
    look = damaged
    if many:
        look = functools.partial(missing, there=Folder(directory).plain_files(RESULTS))
    bad = [path for commit in commits for path in look(commit, directory)]
    if bad:
        listed = ", ".join(str(path) for path in bad[:5])
        more = f" and {len(bad) - 5} more" if len(bad) > 5 else ""
        raise OSError(f"damaged or missing: {listed}{more}; `--resume` recomputes them")
    return record, commits


def _listed(directory: Path) -> set[str]:
    """Return the arrays and groups listed in the results' metadata."""
    found = Folder(directory).read_json(f"{RESULTS}/{METADATA}")
    listed = found.get("consolidated_metadata")
    inside = listed.get("metadata") if isinstance(listed, dict) else None
    return set(inside) if isinstance(inside, dict) else set()


def groups(commits: Iterable[Commit]) -> list[str]:
    """Return the names of the groups inside the results."""
    return [step for kind, step in _steps(commits) if kind == "group" and step]


def stored_fields(
    directory: Path,
    record: Mapping,
    commits: Iterable[Commit],
    group: str = "",
    some: np.ndarray | None = None,
) -> dict[str, Rows]:
    """Return the fields of a verified study, or of one of its groups, by name.

    `some`: the samples to read, all by default.

    **Raises:** `OSError` for arrays that do not match the record.
    """
    commits = list(commits)
    fields = rows_of(directory, commits, group, some)
    layouts = {rows.name: rows.layout for rows in fields.values()}
    check_sizes(directory, layouts, 1.0 if some is None else len(some) / record["samples"])
    sampled = not group and any(kind == "chunk" for kind, _ in _steps(commits))
    rows = (record["samples"],), (min(record["chunk"], record["samples"]),)
    for path, layout in layouts.items():
        whole = layout.chunks == tuple(max(1, size) for size in layout.shape)
        if (layout.shape[:1], layout.chunks[:1]) != rows if sampled else not whole:
            raise OSError(f"{directory / RESULTS / path} lacks samples of the study")
    sizes: dict[str, int] = {}
    for name, field in fields.items():
        for axis, size in zip(field.dims, field.shape, strict=True):
            if sizes.setdefault(axis, size) != size or field.dims.count(axis) > 1:
                raise OSError(
                    f"{directory / RESULTS / group} is damaged: {name} has {size} entries "
                    f"along {axis}, others have {sizes[axis]}"
                )
    return fields


_ABOUT = ("title", "analysis", "system")


def _steps(commits: Iterable[Commit]):
    for commit in commits:
        kind, _, which = commit.step.partition(" ")
        yield kind, which


def _coordinates(directory: Path, record: Mapping, group: str) -> list[str]:
    if not group:
        return record["coordinates"]
    file = f"{RESULTS}/{group}/{METADATA}"
    attributes = Folder(directory).read_json(file).get("attributes")
    named = attributes.get("coordinates", "") if isinstance(attributes, dict) else ""
    return str(named).split(" ")


def on_grid(dataset: Any, grid: dict[str, int]) -> Any:
    """Reshape samples to a grid, (first path, second path, ...)."""
    import xarray

    shape = tuple(grid.values())
    places = dict(zip(grid, _along(grid), strict=True))
    unfolded = {}
    for name, field in dataset.variables.items():
        if name in grid:
            values = field.values.reshape(shape)[places[name]]
            unfolded[name] = xarray.Variable((name,), values, field.attrs)
        elif "sample" in field.dims:
            values = field.values.reshape(shape + field.shape[1:])
            unfolded[name] = xarray.Variable((*grid, *field.dims[1:]), values, field.attrs)
        else:
            unfolded[name] = field
    coordinates = {name: unfolded.pop(name) for name in dataset.coords}
    return xarray.Dataset(unfolded, coordinates, dataset.attrs)


def _along(grid):
    # One line of the grid along each path, at index 0 of all others.
    for path in grid:
        yield tuple(slice(None) if other == path else 0 for other in grid)
