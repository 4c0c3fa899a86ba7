"""Which values the swept parameters take: grids, lists, random and Sobol points."""

import math
import warnings
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from .catalogue import Declared
from .tables import Table, option
from .values import MAX_SAMPLES, Values

_GRIDS = ("grid", "refine")
_Count = Annotated[int, Field(ge=1, le=MAX_SAMPLES)]


class Sampling(Table):
    """How the values of the swept paths make up samples."""

    method: Literal["grid", "refine", "paired", "random", "sobol"] = option(
        "grid crosses the lists, refine computes only that of a grid where "
        "neighbours differ, paired walks the lists together",
        "grid",
    )
    count: _Count | None = option(
        "how many samples are drawn", None, allowed=f"whole numbers in [1, {MAX_SAMPLES}]"
    )
    coarsest: int | None = option(
        "refine begins with every so-many-th line of the grid; 8 by default", None, ge=2,
        le=1024,
    )  # fmt: skip
    checked: int | None = option(
        "about how many of the samples that refine leaves out are computed, to "
        "tell how often filling them is wrong; 10000 by default",
        None,
        ge=0,
        le=MAX_SAMPLES,
    )

    @model_validator(mode="after")
    def _of_refine(self):
        if self.method != "refine":
            for key in ("coarsest", "checked"):
                if getattr(self, key) is not None:
                    raise ValueError(
                        f'{key} is given where method = "{self.method}"; allowed: with '
                        "refine only"
                    )
        return self


def coarsest(sampling: Sampling) -> int:
    """Return with every how-many-th line of a grid its refinement begins."""
    return 8 if sampling.coarsest is None else sampling.coarsest


def checked(sampling: Sampling) -> int:
    """Return about how many of the samples that are left out are computed."""
    return 10_000 if sampling.checked is None else sampling.checked


def strip(sampling: Sampling, paths: dict[str, Values]) -> int:
    """Return the least number of samples of a refined grid that are computed together."""
    columns = list(paths.values())[1].count()
    return coarsest(sampling) * columns


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
    if sampling.method == "refine" and (len(counts) != 2 or min(counts.values()) < 2):
        sizes = " x ".join(map(str, counts.values()))
        raise ValueError(
            f'{sizes} values where method = "refine"; allowed: two paths, 2 or more of each'
        )
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
    if sampling.method == "refine" and (np.diff(np.sign(np.diff(taken))) != 0).any():
        raise ValueError("takes values that turn back; allowed with refine: one direction")
    if sampling.method in _GRIDS:
        distinct, counts = np.unique(taken, return_counts=True)
        if counts.max() > 1:
            twice = distinct[counts.argmax()]
            raise ValueError(f"takes the value {twice:g} twice; allowed: once in a grid")


def _draws(sampling: Sampling) -> bool:
    return sampling.method in ("random", "sobol")


def grid_of(sampling: Sampling, paths: dict[str, Values]) -> dict[str, int] | None:
    """Return the number of values along each path, or `None` where that is no grid."""
    if sampling.method not in _GRIDS:
        return None
    return {path: values.count() for path, values in paths.items()}


def draw(
    sampling: Sampling, paths: dict[str, Values], seed: int, part: slice | None = None
) -> dict[str, np.ndarray]:
    """Return the samples, path to values, (samples,); a grid's first path is slowest.

    With `part` (`slice(start, stop)`) only those, with the same bytes as among all: no
    array of all samples is made.
    """
    number = number_of(sampling, paths)
    start, stop = (0, number) if part is None else (part.start, part.stop)
    if not paths:
        return {}  # one sample: the system as it is
    if sampling.method in _GRIDS:
        sizes = tuple(values.count() for values in paths.values())
        places = np.unravel_index(np.arange(start, stop), sizes)
        return {
            path: values.listed()[place]
            for (path, values), place in zip(paths.items(), places, strict=True)
        }
    if sampling.method == "paired":
        return {path: values.listed()[start:stop] for path, values in paths.items()}
    if sampling.method == "random":
        # Each number takes one state of the generator.
        bits = np.random.PCG64(seed).advance(start * len(paths))
        fractions = np.random.Generator(bits).random((stop - start, len(paths)))
    else:
        fractions = _sobol(start, stop, len(paths), seed)
    return {
        path: values.at(fractions[:, i]) for i, (path, values) in enumerate(paths.items())
    }


def _sobol(start: int, stop: int, dimension: int, seed: int) -> np.ndarray:
    from scipy.stats import qmc

    points = qmc.Sobol(dimension, rng=seed)
    if start:
        points.fast_forward(start)
    with warnings.catch_warnings():  # of a number of points that is no power of 2
        warnings.simplefilter("ignore", UserWarning)
        return points.random(stop - start)
