"""The stability chart: curves of bifurcations in two parameters."""

from collections.abc import Iterator, Sequence

import numpy as np

from .....drawing.labels import with_unit
from .....ensemble import reason
from ....pictures.picture import Axis, Chart, Line, Notes, Picture
from ....store.finished_study import Run, readable

KINDS = ("fold", "period_doubling", "neimark_sacker", "branch_point", "grazing")
_SYMBOLS = ("star", "circle", "triangle-up", "cross", "diamond", "hexagon")


def stability_charts(runs: Sequence[Run]) -> list[Picture]:
    """Return the chart of each run with curves."""
    return [_chart(run, len(runs)) for run in runs if run.has("curve.kind")]


def _chart(run: Run, number_of_runs: int) -> Picture:
    paths = paths_of(run)
    x, y = (
        Axis(with_unit(readable(path), run.unit(f"curve.{path}")), path) for path in paths
    )
    layers = (*bifurcation_lines(run, paths), *_special(run, paths), _beginning(run, paths))
    over = " and ".join(map(readable, paths))
    name = "stability_chart" if number_of_runs == 1 else f"stability_chart_{run.name}"
    return Picture(
        name,
        f"Bifurcations in {over}",
        "Stability boundaries of periodic motions: each bifurcation of the branch, "
        "continued in both parameters. Other marks: codimension-two points. The dotted "
        f"line is the branch itself, where the curves are. {_ends(run)}",
        f"Curves of bifurcations over {over}. {_ends(run)}",
        (Chart(x, y, layers),),
    )


def paths_of(run: Run) -> tuple[str, str]:
    """Return the two parameters of a run's curves."""
    options = run.study["config"]["analysis"]
    return options["path"], options["second_path"]


def bifurcation_lines(run: Run, paths: tuple[str, str]) -> Iterator[Line]:
    """Yield a run's curves, the parameter on x first; each kind is named once."""
    x, y = (run.field(f"curve.{path}") for path in paths)
    seen = set()
    for number, code in enumerate(run.field("curve.kind")):
        name = KINDS[code].replace("_", " ")
        yield Line(x[number], y[number], name, int(code), legend=code not in seen)
        seen.add(code)


def _special(run: Run, paths) -> Iterator[Notes]:
    kinds = run.field("special.kind")
    if not kinds.size:
        return
    words = run.results["special.kind"].attrs["meaning"].split(", ")
    names = dict(word.split(" ", 1) for word in words)
    x, y = (run.field(f"special.{path}") for path in paths)
    for code in np.unique(kinds):
        own, name = kinds == code, names[str(code)]
        texts = tuple(
            f"{name} at {a:.8g}, {b:.8g}" for a, b in zip(x[own], y[own], strict=True)
        )
        yield Notes(x[own], y[own], texts, name, _SYMBOLS[code % len(_SYMBOLS)])


def _beginning(run: Run, paths) -> Line:
    """Return the branch as far as its curves reach, which fill the chart."""
    curves = run.field(f"curve.{paths[0]}")
    values, known = run.field(paths[0]), curves[np.isfinite(curves)]
    if known.size:
        room = 0.1 * np.ptp(known)
        values = np.clip(values, known.min() - room, known.max() + room)
    level = np.full(len(values), run.field("curve.level"))
    return Line(values, level, "the branch", 5, "dot")


def _ends(run: Run) -> str:
    counts = zip(run.field("curve.kind"), run.field("curve.ends"), strict=True)
    sentences = [
        f"The curve of kind {KINDS[code].replace('_', ' ')} ends: {reason(low)}; "
        f"{reason(high)}."
        for code, (low, high) in counts
    ]
    return " ".join(dict.fromkeys(sentences))
