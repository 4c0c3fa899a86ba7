"""A picture: related charts with title, text and alternative text.

Each family (maps, curves, loading, ...) defines its pictures; the page and the picture
files are both drawn from them.
"""

import dataclasses

import numpy as np

from ...drawing.chart import Axis as Axis
from ...drawing.chart import Cells as Cells
from ...drawing.chart import Chart as Chart
from ...drawing.chart import Classes as Classes
from ...drawing.chart import Followers as Followers
from ...drawing.chart import Line as Line
from ...drawing.chart import Notes as Notes
from ...drawing.chart import Points as Points
from ...drawing.chart import Scale as Scale


@dataclasses.dataclass(frozen=True)
class Share:
    """A legend entry with counts: class, colour, number of samples by run, hatch."""

    name: str
    colour: str
    counts: tuple[int, ...]
    hatch: str = ""


@dataclasses.dataclass(frozen=True)
class Choice:
    """The options of a picture's slider, with their labels."""

    label: str
    options: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Slices:
    """The paths of a grid, two of which the reader selects as axes.

    The others are fixed by sliders. For each path: its axis, its values (in SI units)
    and the slider labels.
    """

    axes: tuple[Axis, ...]
    places: tuple[np.ndarray, ...]
    options: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True)
class Scene:
    """An animated system; the page plays it, files show its charts.

    **Fields:** `kind`: `"modes"` (`shapes` (samples, modes, freedoms), `frequencies`
    (samples, modes)), `"damped"` (the same, real and imaginary parts along a leading
    axis) or `"motion"` (`places` and `rates` (samples, frames, freedoms) over a
    `duration`, s); `layout`: `"rows"`, `"beams"` or `"carrying"`; `picks`: the
    selectable options, by label.
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
    """Related charts with their texts.

    `name` is the file name and the anchor in the page, `text` describes content and
    conventions, `alt` is the alternative text. `view` selects the presentation in the
    page: "charts", "motion" for the selected orbit, or "scene". `stacked` charts are
    placed one below the other, with the same x. With `slices`, the page shows slices
    through the layers of all options.
    """

    name: str
    title: str
    text: str
    alt: str
    charts: tuple[Chart, ...]
    shares: tuple[Share, ...] = ()
    choice: Choice | None = None
    slices: Slices | None = None
    view: str = "charts"
    scene: Scene | None = None
    stacked: bool = False

    @property
    def explorable(self) -> bool:
        """Whether its marks are samples whose orbits can be shown."""
        layers = [layer for chart in self.charts for layer in chart.layers]
        return any(getattr(layer, "samples", None) is not None for layer in layers)
