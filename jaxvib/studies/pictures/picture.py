"""What a picture is: charts that are read together, with their words.

A picture family (maps, curves, loading, ...) says here what is to be seen; the page and
the picture files both draw from it, so nothing is said twice.
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
    """One line of a legend that counts: a class, its colour, samples by run, its hatch."""

    name: str
    colour: str
    counts: tuple[int, ...]
    hatch: str = ""


@dataclasses.dataclass(frozen=True)
class Choice:
    """What the picture's slider moves through: one label for each option."""

    label: str
    options: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Slices:
    """The paths of a grid, of which the page's reader chooses those that are the axes.

    The others stand where sliders are. For each path its axis, its values (in SI units)
    and what its slider says at each.
    """

    axes: tuple[Axis, ...]
    places: tuple[np.ndarray, ...]
    options: tuple[tuple[str, ...], ...]


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
    that are `stacked` stand one under the other, along the same x. Where there are
    `slices` they are what the page shows of the layers of all options.
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
        """Whether its marks are samples, whose orbits can be looked at."""
        layers = [layer for chart in self.charts for layer in chart.layers]
        return any(getattr(layer, "samples", None) is not None for layer in layers)
