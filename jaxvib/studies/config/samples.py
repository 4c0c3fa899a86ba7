"""Which values the swept parameters take: grids, lists, random and Sobol points."""

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
    """One way of sampling: by lists of values, or by points that are drawn.

    **Fields:** `about`: what it does, as the schema says it; `draw`: returns the samples
    from `start` to `stop`, given the paths and the seed; `number`: returns how many samples
    lists of so many values make, `None` where the config says how many are drawn; `grid`:
    whether the samples are a grid; `refined`: whether some of them are filled from their
    neighbours.
    """

    about: str
    draw: Callable[[int, int, dict[str, Values], int], _Columns]
    number: Callable[[dict[str, int]], int] | None = None
    grid: bool = False
    refined: bool = False

    @property
    def drawn(self) -> bool:
        """Whether the samples are points between bounds."""
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


def _together(start: int, stop: int, paths: dict[str, Values], seed: int) -> _Columns:
    return {path: values.listed()[start:stop] for path, values in paths.items()}


def _random(start: int, stop: int, paths: dict[str, Values], seed: int) -> _Columns:
    # Each number takes one state of the generator.
    bits = np.random.PCG64(seed).advance(start * len(paths))
    return _at(np.random.Generator(bits).random((stop - start, len(paths))), paths)


def _sobol(start: int, stop: int, paths: dict[str, Values], seed: int) -> _Columns:
    from scipy.stats import qmc

    points = qmc.Sobol(len(paths), rng=seed)
    if start:
        points.fast_forward(start)
    with warnings.catch_warnings():  # of a number of points that is no power of 2
        warnings.simplefilter("ignore", UserWarning)
        return _at(points.random(stop - start), paths)


def _at(fractions: np.ndarray, paths: dict[str, Values]) -> _Columns:
    return {
        path: values.at(fractions[:, i]) for i, (path, values) in enumerate(paths.items())
    }


METHODS = {
    "grid": Method("crosses the lists", _crossed, _of_grid, grid=True),
    "refine": Method(
        "computes only that of a grid where neighbours differ", _crossed, _of_refined_grid,
        grid=True, refined=True,
    ),
    "paired": Method("walks the lists together", _together, _of_pairs),
    "random": Method("draws points with equal chances", _random),
    "sobol": Method("draws points of a scrambled Sobol sequence", _sobol),
}  # fmt: skip
DRAWN = tuple(name for name, method in METHODS.items() if method.drawn)


class Sampling(Table):
    """How the values of the swept paths make up samples."""

    method: Literal[tuple(METHODS)] = option(  # ty: ignore[invalid-type-form]
        ", ".join(f"{name} {method.about}" for name, method in METHODS.items()), "grid"
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

    @property
    def how(self) -> Method:
        """What the method does."""
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
    number = sampling.how.number
    if number is not None and sampling.count is None:
        return number({path: values.count() for path, values in paths.items()})
    if number is None and sampling.count is not None:
        return sampling.count
    raise ValueError(
        f"count is {'missing' if number is None else 'given'} where method = "
        f'"{sampling.method}"; allowed: with {" and ".join(DRAWN)} only'
    )


def check_path(sampling: Sampling, path: str, values: Values, declared: Declared) -> None:
    """Raise `ValueError` for values that the path or the way of sampling does not allow."""
    method = sampling.how
    if values.drawn != method.drawn:
        needed = "bounds or log_bounds" if method.drawn else "values, linspace, logspace"
        raise ValueError(f'needs {needed} where method = "{sampling.method}"')
    taken = values.outermost()
    bad = taken[~declared.allowed.contains(taken)]
    if bad.size:
        raise ValueError(f"takes the value {bad[0]:g}; allowed: {declared}")
    if method.refined and (np.diff(np.sign(np.diff(taken))) != 0).any():
        raise ValueError("takes values that turn back; allowed with refine: one direction")
    if method.grid:
        distinct, counts = np.unique(taken, return_counts=True)
        if counts.max() > 1:
            twice = distinct[counts.argmax()]
            raise ValueError(f"takes the value {twice:g} twice; allowed: once in a grid")


def grid_of(sampling: Sampling, paths: dict[str, Values]) -> dict[str, int] | None:
    """Return the number of values along each path, or `None` where that is no grid."""
    if not sampling.how.grid:
        return None
    return {path: values.count() for path, values in paths.items()}


def draw(
    sampling: Sampling, paths: dict[str, Values], seed: int, part: slice | None = None
) -> dict[str, np.ndarray]:
    """Return the samples, path to values, (samples,); a grid's first path is slowest.

    With `part` (`slice(start, stop)`) only those, with the same bytes as among all: no
    array of all samples is made.
    """
    if not paths:
        return {}  # one sample: the system as it is
    number = number_of(sampling, paths)
    start, stop = (0, number) if part is None else (part.start, part.stop)
    return sampling.how.draw(start, stop, paths, seed)
