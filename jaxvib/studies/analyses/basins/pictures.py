"""Basins of attraction: where each initial state leads, the attractors marked."""

from collections.abc import Iterator, Sequence

import numpy as np

from ....drawing import colours
from ...pictures.picture import Axis, Cells, Chart, Classes, Notes, Picture, Scale, Share
from ...pictures.swept_planes import MOST_CELLS
from ...store.finished import Run
from .compute import attractor_names

_SYMBOLS = ("diamond", "star", "triangle-up", "hexagon", "square", "circle")
_MOST_MARKED = 8  # points of an attractor


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return one picture for each study: labels over the plane, and when it was seen."""
    return [_picture(run, len(runs) > 1) for run in runs]


def _picture(run: Run, several: bool) -> Picture:
    options = run.study["config"]["analysis"]
    (first, first_bounds), (second, second_bounds) = options["grid"].items()
    number = int(options["points"])
    stride = -(-number // MOST_CELLS)
    x = np.linspace(*first_bounds, number)[::stride]
    y = np.linspace(*second_bounds, number)[::stride]

    def laid_out(values):
        return values.reshape(number, number)[::stride, ::stride].T

    names = attractor_names(run.field)
    label = run.field("label")
    palette = colours.LINES["light"]
    hues = [palette[i % len(palette)] for i in range(len(names))]
    classes = Classes((*names, "undecided"), (*hues, colours.UNDECIDED))
    members = np.where(label < 0, len(names), label).astype(float)
    periods = run.field("periods_run").astype(float)
    scale = Scale("periods until it was seen", "sea", 0.0, float(periods.max()))
    axes = Axis(_at_start(run, first)), Axis(_at_start(run, second))
    title = f" of {run.name}" * several
    shares = tuple(_shares(run, names, classes))
    words = ", ".join(share.name for share in shares)
    return Picture(
        f"basins_{run.name}" if several else "basins",
        f"Basins of attraction{title}",
        "Each initial state in the colour of the motion that it leads to; the other "
        "components of the state are at rest. Marks: the attractors' own states once a "
        "period of the load, or along a cycle. Beside it the periods of the load, or what "
        f"is given for one, after which it was seen where a state leads.{_thinned(stride)}",
        f"Basins of attraction over {first} and {second}. {words}.",
        (
            Chart(*axes, (Cells(x, y, laid_out(members), classes),
                          *_marks(run, names, first, second)), "where it leads"),
            Chart(*axes, (Cells(x, y, laid_out(periods), scale),), "how long it takes"),
        ),
        shares,
    )  # fmt: skip


def _at_start(run: Run, name: str) -> str:
    names = run.names("state", run.field("starts").shape[1])
    label = run.component("starts", "state", names.index(name), len(names))
    return label.replace(name, f"{name} at t = 0", 1)


def _shares(run: Run, names: Sequence[str], classes: Classes) -> Iterator[Share]:
    label, share, error = run.field("label"), run.field("share"), run.field("share_error")
    for i, name in enumerate(names):
        words = f"{name}, {share[i]:.1%} ± {error[i]:.1%}"
        yield Share(words, classes.colours[i], (int(np.sum(label == i)),))
    if (label < 0).any():
        undecided = float(run.field("undecided"))
        words = f"undecided, {undecided:.1%}"
        yield Share(words, colours.UNDECIDED, (int(np.sum(label < 0)),))


def _marks(run: Run, names: Sequence[str], first: str, second: str) -> Iterator[Notes]:
    points = run.field("attractors.points")
    components = run.names("state", points.shape[2])
    across, up = components.index(first), components.index(second)
    for i, name in enumerate(names):
        known = points[i][np.isfinite(points[i]).all(axis=1)]
        marked = known[:_MOST_MARKED]
        yield Notes(
            marked[:, across],
            marked[:, up],
            (name,) * len(marked),
            name.split(":")[0],
            _SYMBOLS[i % len(_SYMBOLS)],
        )


def _thinned(stride: int) -> str:
    return f" Shown is every {stride}th state along each axis." * (stride > 1)
