"""What a picture is: charts made of layers of numbers, with no word on how they are drawn.

A picture family (maps, curves, loading, ...) says here what is to be seen; the page and
the picture files both draw from it, so nothing is said twice.
"""

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
    """Colour by class: values are positions in `names` and `colours`."""

    names: tuple[str, ...]
    colours: tuple[str, ...]


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

    `marks` shows the points themselves; lines of samples always do.
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

    `equal`: whether one unit is as long on both axes.
    """

    x: Axis
    y: Axis
    layers: tuple
    title: str = ""
    equal: bool = False


@dataclasses.dataclass(frozen=True)
class Share:
    """One line of a legend that counts: a class, its colour and its samples by run."""

    name: str
    colour: str
    counts: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Choice:
    """What the picture's slider moves through: one label for each option."""

    label: str
    options: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Scene:
    """A system that moves on a stage; the page plays it, files show its charts.

    **Fields:** `kind`: `"modes"` (`shapes` (samples, modes, freedoms), `frequencies`
    (samples, modes)), `"damped"` (the same, real and imaginary parts along a leading
    axis) or `"motion"` (`places` and `rates` (samples, frames, freedoms)
    over a `duration`, s); `layout`: how it is drawn, `"rows"`, `"beams"` or
    `"carrying"`; `picks`:
    what can be picked, by label.
    """

    kind: str
    layout: dict
    picks: dict[str, tuple[str, ...]]
    shapes: np.ndarray | None = None
    frequencies: np.ndarray | None = None
    places: np.ndarray | None = None
    rates: np.ndarray | None = None
    duration: float = 0.0


@dataclasses.dataclass(frozen=True)
class Picture:
    """Charts that are read together, with their words.

    `name` is the picture's file and place in the page, `text` says what is seen and by
    which convention, `alt` says it to those who cannot see. `view` picks how the page
    shows it: "charts", "motion" for the orbit that the reader picks, or "scene". Charts
    that are `stacked` stand one under the other, along the same x.
    """

    name: str
    title: str
    text: str
    alt: str
    charts: tuple[Chart, ...]
    shares: tuple[Share, ...] = ()
    choice: Choice | None = None
    view: str = "charts"
    scene: Scene | None = None
    stacked: bool = False

    @property
    def explorable(self) -> bool:
        """Whether its marks are samples, whose orbits can be looked at."""
        layers = [layer for chart in self.charts for layer in chart.layers]
        return any(getattr(layer, "samples", None) is not None for layer in layers)
