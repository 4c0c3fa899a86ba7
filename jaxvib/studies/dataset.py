"""A study's results as an xarray dataset, checked before they are read."""

import json
from pathlib import Path

from .journal import Journal, damaged
from .store import RESULTS


def open_study(directory: str | Path, group: str | None = None):
    """Return a study's results as an `xarray.Dataset`, read into memory.

    Every file is checked against the study's journal first. A grid has one dimension
    per swept path, other samples have the dimension `sample`; either way the values of
    the swept paths are coordinates, and units and descriptions are attributes.

    **Arguments:** `group`: `"traces"` for the motions stored beside the results.
    **Raises:** `FileNotFoundError` where there is no study, `ValueError` for one that
    is not complete, `OSError` naming files that are missing or damaged.
    """
    import xarray

    directory = Path(directory)
    if not (directory / "journal.jsonl").exists():
        raise FileNotFoundError(f"{directory} holds no study")
    verify(directory)
    record = json.loads((directory / "study.json").read_text("utf-8"))
    dataset = xarray.open_zarr(directory / RESULTS, group=group).load()
    named = {axis.removesuffix("_component"): axis for axis in dataset.dims}
    names = {named[axis]: names for axis, names in record["axes"].items() if axis in named}
    dataset = dataset.assign_coords(names)
    if group is None and record["grid"]:
        dataset = on_grid(dataset, record["grid"])
    return dataset


def verify(directory: Path) -> None:
    """Check that a study is complete and each of its bytes as it was written.

    **Raises:** `ValueError` if it is not complete; `OSError` for damage.
    """
    commits = Journal(directory / "journal.jsonl").read()
    bad = [path for commit in commits for path in damaged(commit, directory)]
    if bad:
        listed = ", ".join(str(path) for path in bad[:5])
        more = f" and {len(bad) - 5} more" if len(bad) > 5 else ""
        raise OSError(f"damaged or missing: {listed}{more}; `--resume` computes them again")
    if not any(commit.step == "complete" for commit in commits):
        raise ValueError(
            f"the study in {directory} is not complete; end it with `--resume`"
        )


def on_grid(dataset, grid: dict[str, int]):
    """Return samples in rows of a grid, (first path, second path, ...), unfolded."""
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
    # One line of the grid along each path: index 0 in all the others.
    for path in grid:
        yield tuple(slice(None) if other == path else 0 for other in grid)
