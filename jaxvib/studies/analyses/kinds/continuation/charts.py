"""The loading curve of a continuation: a branch of orbits over one parameter."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np

from .....drawing.polyline import (
    BranchCurves,
    branch_layers,
    drawn_points,
    kind_words,
    unit_circle,
)
from .....ensemble import reason
from ....pictures.curves import amplitude_label
from ....pictures.picture import Axis, Chart, Followers, Line, Notes, Picture
from ....pictures.swept_lines import named
from ....pictures.swept_planes import axis, value_text
from ....store.finished_study import Run, readable
from .stability_chart import KINDS, stability_charts

_SMALL_PART = 0.25  # fraction of an axis below which bifurcations get a detail chart
_FIELDS = (
    ("largest_multiplier", "largest |Floquet multiplier|"),
    ("max_contact_force", "peak contact force (N)"),
)


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the chart of both parameters, if there are two, and the branch."""
    return [*stability_charts(runs), loading_curve(runs)]


def loading_curve(runs: Sequence[Run]) -> Picture:
    """Return the quantities of a branch over its parameter."""
    path = runs[0].paths[0]
    x = axis(runs[0], path)
    layers = tuple(_layers(runs, "amplitude"))
    amplitudes = Chart(x, Axis(amplitude_label(runs)), layers)
    charts = [amplitudes, *_closer(runs, path, amplitudes)]
    for field, label in _FIELDS:
        charts.append(Chart(x, Axis(label), tuple(_layers(runs, field))))
    charts.append(_in_the_plane(runs, path))
    predictors = tuple(_predictors(runs, path))
    charts.append(Chart(x, Axis("predictor error, relative", log=True), predictors))
    ends = [value_text(runs[0], path, end(runs[0].field(path))) for end in (np.min, np.max)]
    return Picture(
        "loading_curve",
        f"Loading curve over {readable(path)}",
        "A branch of periodic orbits: solid where stable, dashed where unstable, dotted "
        "where undecided. Diamonds: the number of contacts per orbit changes. Squares: "
        "ends of the branch, with the reason. Other marks: folds, period doublings and "
        f"other bifurcations. {_ends(runs)} "
        "The complex plane shows the Floquet multipliers at the point under the "
        "pointer, with the unit circle as stability limit. "
        "The predictor error is the distance between the predicted state and the "
        "orbit found by Newton's method.",
        f"Amplitude, largest multiplier and peak contact force of a branch of orbits over "
        f"{readable(path)}, from {ends[0]} to {ends[1]}. {_ends(runs)}",
        tuple(charts),
    )


def _layers(runs: Sequence[Run], field: str) -> Iterator[Line | Notes]:
    """Yield the branches with their bifurcations, the changes of contacts and the ends."""
    path = runs[0].paths[0]
    several = len(runs) > 1

    def text(point) -> str:
        place = runs[0].quantity_text(runs[0].unit(path), point.parameter, digits=8)
        return f"{kind_words(point.kind)} at {place}"

    yield from branch_layers(
        [(run.name * several, _branch(run), _curves(run, field)) for run in runs],
        marked=True,
        text=text,
    )
    for run in runs:
        x, contacts, values = map(run.field, (path, "contacts", field))
        values = values.reshape(len(x), -1)[:, 0]
        changes = np.flatnonzero(np.diff(contacts)) + 1
        if changes.size:
            texts = tuple(f"{contacts[i - 1]} → {contacts[i]} contacts" for i in changes)
            yield Notes(x[changes], values[changes], texts, "contacts change")
        ends = [0, -1]
        yield Notes(x[ends], values[ends], _end_reasons(run), "end of the branch", "square")
    if field == "largest_multiplier":
        every = np.concatenate([run.field(path)[[0, -1]] for run in runs])
        limit = np.array([every.min(), every.max()])
        yield Line(limit, np.ones(2), "stability limit", 3, "dot")


def _branch(run: Run) -> SimpleNamespace:
    """Return a stored branch as far as it is drawn, see `drawn_points`."""
    columns = (run.field(f"bifurcation.{name}") for name in ("kind", "parameter", "state"))
    points = [
        SimpleNamespace(kind=KINDS[code], parameter=place, state=state)
        for code, place, state in zip(*columns, strict=True)
    ]
    return SimpleNamespace(
        parameter=run.field(run.paths[0]), states=run.field("states"),
        stable=run.field("stable"), bifurcations=points,
    )  # fmt: skip


def _curves(run: Run, field: str) -> BranchCurves:
    values = run.field(field)
    values = values.reshape(len(values), -1, 1)
    one = field != "amplitude"
    names = [field] if one else run.names("freedom", values.shape[1])

    def at(point) -> np.ndarray | None:
        crossed = field == "largest_multiplier" and point.kind != "grazing"
        return np.ones((1, 1)) if crossed else None

    return BranchCurves(field, tuple(names), values, at)


def _closer(runs: Sequence[Run], path: str, whole: Chart) -> Iterator[Chart]:
    """Return a detail chart, if all bifurcations lie in a small part of the axis."""
    changes = [run.field("bifurcation.parameter") for run in runs]
    for run in runs:
        changes.append(run.field(path)[1:][np.diff(run.field("contacts")) != 0])
    places, every = (
        np.concatenate(each) for each in (changes, [run.field(path) for run in runs])
    )
    if not places.size or np.ptp(places) > _SMALL_PART * np.ptp(every):
        return
    edge = max(0.35 * np.ptp(places), 0.02 * np.ptp(every))
    low, high = places.min() - edge, places.max() + edge
    inside = [
        run.field("amplitude")[(run.field(path) >= low) & (run.field(path) <= high)]
        for run in runs
    ]
    heights = np.concatenate([each.ravel() for each in inside])
    up = 0.06 * np.ptp(heights)
    x = dataclasses.replace(whole.x, low=float(low), high=float(high))
    y = Axis(
        amplitude_label(runs), low=float(heights.min() - up), high=float(heights.max() + up)
    )
    title = "detail"
    yield Chart(x, y, whole.layers, title, legend=False)


def _predictors(runs: Sequence[Run], path: str) -> Iterator[Line]:
    """Yield the errors at the points that are drawn of a branch, as followers need."""
    for number, run in enumerate(runs):
        rows = drawn_points(_branch(run)).rows
        error = run.field("predictor_error")[rows]
        yield Line(
            run.field(path)[rows], np.where(error > 0, error, np.nan),
            named("predictor error", run, runs), number, run=number,
            legend=len(runs) > 1, marks=True,
        )  # fmt: skip


def _in_the_plane(runs: Sequence[Run], path: str) -> Chart:
    """Return the multipliers of the point under the pointer."""
    layers: list[Line | Followers] = [unit_circle(legend=False)]
    for number, run in enumerate(runs):
        rows = drawn_points(_branch(run)).rows
        values, first = run.field("floquet_multipliers")[rows], len(rows) // 2
        at = value_text(run, path, run.field(path)[rows[first]])
        name = named(f"multipliers, first at {at}", run, runs)
        layers.append(Followers(values.real, values.imag, name, number, first))
    axes = Axis("real part of a multiplier"), Axis("imaginary part")
    return Chart(*axes, tuple(layers), equal=True)


def _end_reasons(run: Run) -> tuple[str, str]:
    low, high = run.field("ends")
    return reason(low), reason(high)


def _ends(runs: Sequence[Run]) -> str:
    path = runs[0].paths[0]
    sentences = []
    for run in runs:
        values, texts = run.field(path), _end_reasons(run)
        shown = functools.partial(run.quantity_text, run.unit(path))
        low, high = (f"{shown(values[i], digits=6)} ({texts[i]})" for i in (0, -1))
        sentences.append(f"{named('The branch', run, runs)} ends at {low} and at {high}.")
    return " ".join(sentences)
