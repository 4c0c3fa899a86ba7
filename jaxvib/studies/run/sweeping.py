"""Sweeps of any analysis over parameters of a system, from Python."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import numpy as np
import xarray

from ...ensemble import map_samples
from ...foundation.command.progress import Report, progress_reporter
from ...foundation.quantity import check_range
from ...systems.parameters import parameter_at
from ..analyses.sample_systems import each_system
from ..store.dataset import on_grid
from ..store.fields import Variable, variables, with_coordinates


def sweep(
    analysis: Callable[[Any], eqx.Module],
    system: eqx.Module,
    grid: Mapping[str, object] | None = None,
    *,
    samples: Mapping[str, object] | None = None,
    progress: Report = None,
) -> xarray.Dataset:
    """Return the results of an analysis for many values of a system's parameters.

    **Arguments:** `analysis`: from a system to a module of arrays; pure, since it runs
    under `jit` and `vmap`. `grid`: path to values; all combinations of the values are
    computed, and the paths name the dimensions of the result. `samples`: instead, path
    to values of equal length, combined element by element along the dimension `sample`.
    `progress`: called with the number of samples completed since the last call; by
    default a bar appears after two seconds (or a line per minute without a terminal);
    `False` disables it.

    **Returns:** a dataset with one variable per field of the result, and the paths as
    coordinates; units and descriptions are attributes.

    **Raises:** `ValueError` for an unknown path (naming the nearest one), a value out of
    its range, lists of different lengths, or a result that is not a module.
    >>> data = jv.sweep(jv.natural_modes, tower, {"modules.first-roof.mass": [0.5, 1.0]})
    >>> data.frequencies.values.round(3).tolist()
    [[14.689, 28.883], [12.247, 24.495]]
    """
    if (grid is None) == (samples is None):
        raise ValueError("sweep takes either a grid or samples={...}")
    chosen = grid or samples or {}
    given = {path: np.asarray(values) for path, values in chosen.items()}
    columns = _columns(given, crossed=grid is not None)
    coordinates = _checked(system, columns)
    number = len(next(iter(columns.values())))
    with progress_reporter(progress, number, "sweep", "samples") as report:
        results = map_samples(analysis, each_system(system, columns), progress=report)
    labelled = with_coordinates(variables(results, ("sample",)), coordinates)
    dataset = xarray.Dataset(
        {name: _entry(field) for name, field in labelled.items() if name not in given},
        {path: _entry(labelled[path]) for path in given},
    )
    if samples is not None:
        return dataset
    return on_grid(dataset, {path: len(values) for path, values in given.items()})


def _columns(given, crossed: bool) -> dict[str, np.ndarray]:
    if not given:
        raise ValueError("sweep has no paths; allowed: one or more")
    for path, values in given.items():
        if values.ndim != 1 or not len(values):
            raise ValueError(f"{path} has shape {values.shape}; allowed: (samples,)")
    if crossed:
        crossing = np.meshgrid(*given.values(), indexing="ij")
        return {path: axis.ravel() for path, axis in zip(given, crossing, strict=True)}
    lengths = {path: len(values) for path, values in given.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"samples have lengths {lengths}; allowed: one for all paths")
    return given


def _checked(system, columns) -> dict[str, Variable]:
    coordinates = {}
    for path, column in columns.items():
        entry = parameter_at(system, path)
        check_range(path, column, entry.unit, entry.allowed)
        coordinates[path] = Variable(("sample",), column, entry.unit, entry.description)
    return coordinates


def _entry(field: Variable):
    return field.axes, field.values, field.attributes
