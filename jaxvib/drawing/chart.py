"""Data model of charts: layers on a pair of axes, independent of rendering."""

import dataclasses
from collections.abc import Iterable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Axis:
    """One axis: its label with unit, and the path of the parameter it shows, if any.

    `ticks` are the labels of the positions 0, 1, 2, ...
    """

    label: str
    path: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None
    ticks: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Scale:
    """A colour scale from `low` to `high`; `colours` is a key of `SCALES`."""

    label: str
    colours: str
    low: float
    high: float
    log: bool = False
    unit: str = ""

    @classmethod
    def over(
        cls,
        label: str,
        colours: str,
        values: Iterable[np.ndarray],
        log: bool = False,
        unit: str = "",
    ) -> "Scale":
        """Return the scale from the smallest to the largest finite one of some values."""
        every = np.concatenate([np.ravel(each) for each in values])
        every = every[np.isfinite(every)]
        low, high = (every.min(), every.max()) if every.size else (1.0, 10.0)
        return cls(label, colours, float(low), float(high), log, unit)


@dataclasses.dataclass(frozen=True)
class Classes:
    r"""Categorical colours: values are indices into `names` and `colours`.

    `hatches`: the hatch of each class, "/", "\", "-", "|", "+", "x" or "" for none;
    empty if no class is hatched.
    """

    names: tuple[str, ...]
    colours: tuple[str, ...]
    hatches: tuple[str, ...] = ()

    def hatch(self, place: int) -> str:
        """Return the hatch of the class at an index."""
        return self.hatches[place] if self.hatches else ""


@dataclasses.dataclass(frozen=True)
class Cells:
    """A field over a rectangular grid: values (ny, nx) at x (nx,) and y (ny,).

    NaN cells are transparent. `samples` (ny, nx) are sample indices of `run`, compared
    with the same samples of the run `versus`, if given; a layer with an `option` is
    visible only at that position of the picture's slider.
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
    """Markers at x (p,), y (p,), coloured by values (p,); otherwise like `Cells`."""

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
    """A line through x (p,), y (p,), broken at NaN; `colour` indexes the line colours.

    `marks` shows the points; lines with `samples` always do. A `rim` in the background
    colour keeps the line visible on a map.
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
    """Annotated points at x (p,) and y (p,)."""

    x: np.ndarray
    y: np.ndarray
    texts: tuple[str, ...]
    name: str
    symbol: str = "diamond"
    option: int | None = None


@dataclasses.dataclass(frozen=True)
class Followers:
    """Markers that follow the pointer along those lines of a run that have `marks`.

    While the pointer is at point i, or left it last, the markers are at x[i], y[i];
    both have shape (p, markers). The initial point is `first`.
    """

    x: np.ndarray
    y: np.ndarray
    name: str
    run: int = 0
    first: int = 0


@dataclasses.dataclass(frozen=True)
class Chart:
    """One pair of axes and its layers, drawn in order.

    `equal`: equal aspect ratio; `legend`: whether the chart has a legend.
    """

    x: Axis
    y: Axis
    layers: tuple
    title: str = ""
    equal: bool = False
    legend: bool = True

    def ranges(self) -> str:
        """Return a sentence with the smallest and largest number for each scale."""
        found: dict[str, list[np.ndarray]] = {}
        for layer in self.layers:
            if isinstance(layer, Line):
                found.setdefault(self.y.label, []).append(layer.y)
            elif isinstance(paint := getattr(layer, "paint", None), Scale):
                found.setdefault(paint.label, []).append(layer.values)
        text = ""
        for label, parts in found.items():
            numbers = np.concatenate([part[np.isfinite(part)] for part in parts])
            if numbers.size:
                text += f" {label}: {numbers.min():.4g} to {numbers.max():.4g}."
        return text
