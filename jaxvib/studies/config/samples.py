"""Samples of the swept parameters: grids, lists and drawn points."""

import dataclasses
import math
import warnings
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from .catalogue import Declared
from .tables import Table, option
from .values import MAX_SAMPLES, Values

_Count = Annotated[int, Field(ge=1, le=MAX_SAMPLES)]


_Columns = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Method:
    """One sampling method: lists of values, or drawn points.

    **Fields:** `about`: description for the schema; `draw`: returns the samples from
    `start` to `stop`, given the paths and the seed; `number`: returns the number of
    samples for given list lengths, `None` if the config gives `count`; `grid`: whether
    the samples form a grid; `refined`: whether some are filled from their neighbours.
    """

    about: str
    draw: Callable[[int, int, dict[str, Values], int], _Columns]
    number: Callable[[dict[str, int]], int] | None = None
    grid: bool = False
    refined: bool = False

    @property
    def drawn(self) -> bool:
        """Whether the samples are drawn between bounds."""
        return self.number is None


def _of_grid(counts: dict[str, int]) -> int:
    number = math.prod(counts.values())
    if number > MAX_SAMPLES:
        raise ValueError(
            f"{_sizes(counts)} = {number:.3g} samples; allowed: at most {MAX_SAMPLES}"
        )
    return number


def _of_refined_grid(counts: dict[str, int]) -> int:
    if len(counts) != 2 or min(counts.values()) < 2:
        raise ValueError(
            f'{_sizes(counts)} values where method = "refine"; allowed: two paths, 2 or '
            "more of each"
        )
    return _of_grid(counts)


def _of_pairs(counts: dict[str, int]) -> int:
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{path}: {count}" for path, count in counts.items())
        raise ValueError(f"values per path are {listed}; allowed: one number for all")
    return next(iter(counts.values()))


def _sizes(counts: dict[str, int]) -> str:
    return " x ".join(map(str, counts.values()))


def _crossed(start: int, stop: int, paths: dict[str, Values], seed: int) -> _Columns:
    sizes = tuple(values.count() for values in paths.values())
    places = np.unravel_index(np.arange(start, stop), sizes)
    return {
        path: values.listed()[place]
        for (path, values), place in zip(paths.items(), places, strict=True)
    }


def _paired_values(start: int, stop: int, paths: dict[str, Values], seed: int) -> _Columns:
    return {path: values.listed()[start:stop] for path, values in paths.items()}


def _random(start: int, stop: int, paths: dict[str, Values], seed: int) -> _Columns:
    # Each number uses one state of the generator.
    bits = np.random.PCG64(seed).advance(start * len(paths))
    return _at(np.random.Generator(bits).random((stop - start, len(paths))), paths)


def _sobol(start: int, stop: int, paths: dict[str, Values], seed: int) -> _Columns:
    from scipy.stats import qmc

    points = qmc.Sobol(len(paths), rng=seed)
    if start:
        points.fast_forward(start)
    with warnings.catch_warnings():  # about a number of points that is not a power of 2
        warnings.simplefilter("ignore", UserWarning)
        return _at(points.random(stop - start), paths)


def _at(fractions: np.ndarray, paths: dict[str, Values]) -> _Columns:
    return {
        path: values.at(fractions[:, i]) for i, (path, values) in enumerate(paths.items())
    }


METHODS = {
    "grid": Method("combines all values", _crossed, _of_grid, grid=True),
    "refine": Method(
        "refines a grid where neighbouring samples differ", _crossed, _of_refined_grid,
        grid=True, refined=True,
    ),
    "paired": Method("combines values at equal positions", _paired_values, _of_pairs),
    "random": Method("draws uniform random points", _random),
    "sobol": Method("draws points of a scrambled Sobol sequence", _sobol),
}  # fmt: skip
DRAWN = tuple(name for name, method in METHODS.items() if method.drawn)


class Sampling(Table):
    """How values of the swept paths are combined into samples."""

    method: Literal[tuple(METHODS)] = option(  # ty: ignore[invalid-type-form]
        ", ".join(f"{name} {method.about}" for name, method in METHODS.items()), "grid"
    )
    count: _Count | None = option(
        "number of samples drawn", None, allowed=f"whole numbers in [1, {MAX_SAMPLES}]"
    )
    coarsest: int | None = option(
        "stride of refine's first grid; default 8", None, ge=2,
        le=1024,
    )  # fmt: skip
    checked: int | None = option(
        "about how many of the samples skipped by refine are computed as a check, to "
        "estimate its error rate; default 10000",
        None,
        ge=0,
        le=MAX_SAMPLES,
    )

    @property
    def how(self) -> Method:
        """The sampling method."""
        return METHODS[self.method]

    @model_validator(mode="after")
    def _of_refine(self):
        if not self.how.refined:
            for key in ("coarsest", "checked"):
                if getattr(self, key) is not None:
                    raise ValueError(
                        f'{key} is given where method = "{self.method}"; allowed: with '
                        "refine only"
                    )
        return self


def coarsest(sampling: Sampling) -> int:
    """Return the stride of a refined grid's first pass."""
    return 8 if sampling.coarsest is None else sampling.coarsest


def checked(sampling: Sampling) -> int:
    """Return the approximate number of skipped samples that are checked."""
    return 10_000 if sampling.checked is None else sampling.checked


def strip(sampling: Sampling, paths: dict[str, Values]) -> int:
    """Return the minimum number of samples of a refined grid computed together."""
    columns = list(paths.values())[1].count()
    return coarsest(sampling) * columns


def number_of(sampling: Sampling, paths: dict[str, Values]) -> int:
    """Return the number of samples without drawing them.

    **Raises:** `ValueError` for incompatible keys and for too many samples.
    """
    number = sampling.how.number
    if number is not None and sampling.count is None:
        return number({path: values.count() for path, values in paths.items()})
    if number is None and sampling.count is not None:
        return sampling.count
    raise ValueError(
        f"count is {'missing' if number is None else 'given'} where method = "
        f'"{sampling.method}"; allowed: with {", ".join(DRAWN)} only'
    )


def check_path(sampling: Sampling, path: str, values: Values, declared: Declared) -> None:
    """Validate the values of a path for its range and the sampling method."""
    method = sampling.how
    if values.drawn != method.drawn:
        needed = "bounds or log_bounds" if method.drawn else "values, linspace, logspace"
        raise ValueError(f'needs {needed} where method = "{sampling.method}"')
    outermost = values.outermost()
    bad = outermost[~declared.allowed.contains(outermost)]
    if bad.size:
        raise ValueError(f"takes the value {bad[0]:g}; allowed: {declared}")
    if method.refined and (np.diff(np.sign(np.diff(outermost))) != 0).any():
        raise ValueError("is not monotonic; allowed with refine: one direction")
    if method.grid:
        distinct, counts = np.unique(outermost, return_counts=True)
        if counts.max() > 1:
            twice = distinct[counts.argmax()]
            raise ValueError(f"takes the value {twice:g} twice; allowed: once in a grid")


def grid_of(sampling: Sampling, paths: dict[str, Values]) -> dict[str, int] | None:
    """Return the number of values along each path, `None` if not a grid."""
    if not sampling.how.grid:
        return None
    return {path: values.count() for path, values in paths.items()}


def draw(
    sampling: Sampling, paths: dict[str, Values], seed: int, part: slice | None = None
) -> dict[str, np.ndarray]:
    """Return the samples, path to values, (samples,); a grid's first path is slowest.

    With `part` (`slice(start, stop)`) only these are made, bitwise equal to those of
    the full set.
    """
    if not paths:
        return {}  # one sample: the system itself
    number = number_of(sampling, paths)
    start, stop = (0, number) if part is None else (part.start, part.stop)
    return sampling.how.draw(start, stop, paths, seed)
