"""What a chart is: layers of numbers on one pair of axes, not how to draw it."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Axis:
    """One axis: its label with unit, and the parameter path that it shows, if any.

    With `ticks` the places 0, 1, 2, ... have these names.
    """

    label: str
    path: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None
    ticks: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Scale:
    """Colour by number, from `low` to `high`; `colours` is a name of `SCALES`."""

    label: str
    colours: str
    low: float
    high: float
    log: bool = False
    unit: str = ""


@dataclasses.dataclass(frozen=True)
class Classes:
    r"""Colour by class: values are positions in `names` and `colours`.

    `hatches`: what each is hatched with besides, "/", "\", "x" or "" for nothing; none of
    them where there are none.
    """

    names: tuple[str, ...]
    colours: tuple[str, ...]
    hatches: tuple[str, ...] = ()

    def hatch(self, place: int) -> str:
        """Return what the class at a place is hatched with."""
        return self.hatches[place] if self.hatches else ""


@dataclasses.dataclass(frozen=True)
class Cells:
    """A field over a rectangular grid: values (ny, nx) at x (nx,) and y (ny,).

    NaN leaves a cell open for another layer. `samples` (ny, nx) are sample numbers of
    `run`, compared with the same ones of the run `versus`, if given; a layer with an
    `option` is seen only while the picture's slider is there.
    """

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    paint: Scale | Classes
    samples: np.ndarray | None = None
    run: int = 0
    option: int | None = None
    versus: int | None = None


@dataclasses.dataclass(frozen=True)
class Points:
    """Marks at x (p,), y (p,), coloured by values (p,); otherwise like `Cells`."""

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    paint: Scale | Classes
    samples: np.ndarray | None = None
    run: int = 0
    option: int | None = None
    symbol: str = "circle"


@dataclasses.dataclass(frozen=True)
class Line:
    """A line through x (p,), y (p,), broken at NaN; `colour` counts the line colours.

    `marks` shows the points themselves; lines of samples always do. A `rim` of the paper's
    colour lets it be seen on a map.
    """

    x: np.ndarray
    y: np.ndarray
    name: str
    colour: int = 0
    style: str = "solid"
    samples: np.ndarray | None = None
    run: int = 0
    option: int | None = None
    legend: bool = True
    marks: bool = False
    rim: bool = False


@dataclasses.dataclass(frozen=True)
class Notes:
    """Marked points with a word each, at x (p,) and y (p,)."""

    x: np.ndarray
    y: np.ndarray
    texts: tuple[str, ...]
    name: str
    symbol: str = "diamond"
    option: int | None = None


@dataclasses.dataclass(frozen=True)
class Followers:
    """Marks that follow the pointer along the lines of a run that have `marks`.

    While it is at their point i, or was last, the marks are at x[i], y[i]; both have
    shape (p, marks). The first point to be shown is `first`.
    """

    x: np.ndarray
    y: np.ndarray
    name: str
    run: int = 0
    first: int = 0


@dataclasses.dataclass(frozen=True)
class Chart:
    """One pair of axes and the layers on it, drawn in their order.

    `equal`: whether one unit is as long on both axes; `legend`: whether its layers are
    named beside it.
    """

    x: Axis
    y: Axis
    layers: tuple
    title: str = ""
    equal: bool = False
    legend: bool = True
