"""Which values the swept parameters take: grids, paired lists, random and Sobol points."""

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from .catalogue import Declared
from .tables import Table
from .values import MAX_SAMPLES, Values

_Count = Annotated[int, Field(ge=1, le=MAX_SAMPLES)]


class Sampling(Table):
    """How the values of the swept paths make up samples."""

    method: Literal["grid", "paired", "random", "sobol"] = Field(
        default="grid", description="grid crosses the lists, paired walks them together"
    )
    count: _Count | None = Field(
        default=None,
        description="how many samples are drawn",
        json_schema_extra={"allowed": f"whole numbers in [1, {MAX_SAMPLES}]"},
    )


def number_of(sampling: Sampling, paths: dict[str, Values]) -> int:
    """Return the number of samples, before any is made.

    **Raises:** `ValueError` for keys that do not go together, and for too many samples.
    """
    if _draws(sampling) != (sampling.count is not None):
        found = "is missing" if _draws(sampling) else "is given"
        raise ValueError(
            f'count {found} where method = "{sampling.method}"; allowed: with random and '
            "sobol only"
        )
    if sampling.count is not None:
        return sampling.count
    counts = {path: values.count() for path, values in paths.items()}
    if sampling.method == "paired":
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{path}: {count}" for path, count in counts.items())
            raise ValueError(f"values per path are {listed}; allowed: one number for all")
        return next(iter(counts.values()))
    number = math.prod(counts.values())
    if number > MAX_SAMPLES:
        sizes = " x ".join(map(str, counts.values()))
        raise ValueError(f"{sizes} = {number:.3g} samples; allowed: at most {MAX_SAMPLES}")
    return number


def check_path(sampling: Sampling, path: str, values: Values, declared: Declared) -> None:
    """Raise `ValueError` for values that the path or the way of sampling does not allow."""
    if values.drawn != _draws(sampling):
        needed = (
            "bounds or log_bounds" if _draws(sampling) else "values, linspace, logspace"
        )
        raise ValueError(f'needs {needed} where method = "{sampling.method}"')
    taken = values.outermost()
    bad = taken[~declared.allowed.contains(taken)]
    if bad.size:
        raise ValueError(f"takes the value {bad[0]:g}; allowed: {declared}")
    if sampling.method == "grid":
        distinct, counts = np.unique(taken, return_counts=True)
        if counts.max() > 1:
            twice = distinct[counts.argmax()]
            raise ValueError(f"takes the value {twice:g} twice; allowed: once in a grid")


def _draws(sampling: Sampling) -> bool:
    return sampling.method in ("random", "sobol")


def grid_of(sampling: Sampling, paths: dict[str, Values]) -> dict[str, int] | None:
    """Return the number of values along each path, or `None` where that is no grid."""
    if sampling.method != "grid":
        return None
    return {path: values.count() for path, values in paths.items()}


def draw(sampling: Sampling, paths: dict[str, Values], seed: int) -> dict[str, np.ndarray]:
    """Return the samples, path to values, (samples,); a grid's first path is slowest."""
    if sampling.method in ("grid", "paired"):
        listed = [values.listed() for values in paths.values()]
        if sampling.method == "grid":
            listed = [axis.ravel() for axis in np.meshgrid(*listed, indexing="ij")]
        return dict(zip(paths, listed, strict=True))
    number = number_of(sampling, paths)
    if sampling.method == "random":
        fractions = np.random.default_rng(seed).random((number, len(paths)))
    else:
        fractions = _sobol(number, len(paths), seed)
    return {
        path: values.at(fractions[:, i]) for i, (path, values) in enumerate(paths.items())
    }


def evenly_chosen(number: int, grid: dict[str, int] | None, most: int) -> np.ndarray:
    """Return the positions of at most `most` samples, spread over all of them.

    Of a grid, whole lines are left out in every direction, so that the rest is a grid.
    """
    if most < 1:
        return np.zeros(0, int)
    if grid is None:
        return np.unique(np.linspace(0, number - 1, min(most, number)).round().astype(int))
    kept = list(grid.values())
    while math.prod(kept) > most:
        kept[kept.index(max(kept))] -= 1
    lines = [
        np.linspace(0, size - 1, count).round().astype(int)
        for size, count in zip(grid.values(), kept, strict=True)
    ]
    return np.ravel_multi_index(
        np.meshgrid(*lines, indexing="ij"), tuple(grid.values())
    ).ravel()


def _sobol(count: int, dimension: int, seed: int) -> np.ndarray:
    from scipy.stats import qmc

    # Sobol points come in powers of two: the first `count` of the next power.
    power = max(0, (count - 1).bit_length())
    return qmc.Sobol(dimension, rng=seed).random_base2(power)[:count]
