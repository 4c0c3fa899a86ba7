"""Basins of attraction over the plane of initial states, with the attractors marked."""

from collections.abc import Iterator, Sequence

import numpy as np

from ....drawing import colours
from ...pictures.picture import Axis, Cells, Chart, Classes, Notes, Picture, Scale, Share
from ...pictures.swept_planes import MOST_CELLS
from ...store.finished_study import Run
from .compute import attractor_names, entropy_words, shock_words

_SYMBOLS = ("diamond", "star", "triangle-up", "hexagon", "square", "circle")
_MOST_MARKED = 8  # points of an attractor


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return one picture per study: basins over the plane, and the settling time."""
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
    scale = Scale("settling time (periods)", "sea", 0.0, float(periods.max()))
    axes = Axis(_at_start(run, first)), Axis(_at_start(run, second))
    title = f" of {run.name}" * several
    shares = tuple(_shares(run, names, classes))
    words = ", ".join(share.name for share in shares)
    return Picture(
        f"basins_{run.name}" if several else "basins",
        f"Basins of attraction{title}",
        "Each initial state coloured by the attractor that it converges to; the other "
        "components are at rest. Marks: the attractors' states, once per load period, or "
        "along a cycle. Second chart: the time until the attractor was identified, in load "
        f"periods, or in periods given by the config.{_thinned(stride)}{_robust(run)}",
        f"Basins of attraction over {first} and {second}. {words}.",
        (
            Chart(*axes, (Cells(x, y, laid_out(members), classes),
                          *_marks(run, names, first, second)), "basin"),
            Chart(*axes, (Cells(x, y, laid_out(periods), scale),), "settling time"),
        ),
        shares,
    )  # fmt: skip


def _robust(run: Run) -> str:
    """Return sentences on the entropy, the integrity and the smallest shocks."""
    options, words = run.study["config"]["analysis"], []
    shares = range(len(run.field("share")))
    if options.get("box"):
        words.append(f"{entropy_words(run.field).capitalize()}.")
        factor = run.field("robustness.integrity_factor")
        edge = run.field("robustness.factor_at_edge")
        each = (f"A{i + 1} {'>= ' * bool(edge[i])}{factor[i]:.3g}" for i in shares)
        words.append(
            "Integrity factor (radius of the largest disc within a basin, in half widths "
            f"of the plane): {', '.join(each)}."
        )
    if options.get("shock"):
        most = options.get("largest_shock", 1.0)
        each = (f"A{i + 1}: {shock_words(run.field, i, most)}" for i in shares)
        units = ", ".join(f"{name} in {unit:g}" for name, unit in options["shock"].items())
        words.append(f"Shocks ({units}): {'; '.join(each)}.")
    return "".join(f" {word}" for word in words)


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
    return f" Every {stride}th state along each axis is shown." * (stride > 1)
