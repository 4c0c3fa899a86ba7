"""The loading curve of a continuation: a branch of orbits over one parameter."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .....drawing.polyline import STYLES, SYMBOLS, position_on, unit_circle
from .....ensemble import reason
from ....pictures.curves import amplitude_label
from ....pictures.picture import Axis, Chart, Followers, Line, Notes, Picture
from ....pictures.swept_lines import named
from ....pictures.swept_planes import axis, value_text
from ....store.finished_study import Run, readable
from .stability_chart import KINDS, kind_words, stability_charts

_NAMES = {KINDS.index("neimark_sacker"): "Neimark-Sacker (torus)"}
_SMALL_PART = 0.25  # fraction of an axis below which bifurcations get a detail chart
_FIELDS = (
    ("largest_multiplier", "largest |Floquet multiplier|"),
    ("max_contact_force", "peak contact force (N)"),
)


class _Marks(NamedTuple):
    """The positions of bifurcations among the points of a branch, and their heights."""

    positions: np.ndarray
    heights: np.ndarray


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the chart of both parameters, if there are two, and the branch."""
    return [*stability_charts(runs), loading_curve(runs)]


def loading_curve(runs: Sequence[Run]) -> Picture:
    """Return the quantities of a branch over its parameter."""
    path = runs[0].paths[0]
    x = axis(runs[0], path)
    amplitudes = Chart(x, Axis(amplitude_label(runs)), tuple(_amplitudes(runs, path)))
    charts = [amplitudes, *_closer(runs, path, amplitudes)]
    for field, label in _FIELDS:
        charts.append(Chart(x, Axis(label), tuple(_curves(runs, path, field))))
    charts.append(_in_the_plane(runs, path))
    charts.append(
        Chart(x, Axis("predictor error, relative", log=True), _predictors(runs, path))
    )
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


def _amplitudes(runs: Sequence[Run], path: str) -> Iterator[Line | Notes]:
    for number, run in enumerate(runs):
        amplitude = run.field("amplitude")
        freedoms = amplitude.shape[1]
        for freedom, name in enumerate(run.names("freedom", freedoms)):
            colour, values = freedom + number * freedoms, amplitude[:, freedom]
            marks = _marks(run, path, values)
            label = named(name, run, runs)
            yield from _by_verdict(run, number, path, values, marks, label, colour)
        yield from _notes(run, path, amplitude[:, 0], _marks(run, path, amplitude[:, 0]))


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


def _curves(runs: Sequence[Run], path: str, field: str) -> Iterator[Line | Notes]:
    for number, run in enumerate(runs):
        values = run.field(field)
        marks = _marks(run, path, values)
        if field == "largest_multiplier":
            crossed = run.field("bifurcation.kind") != KINDS.index("grazing")
            marks = marks._replace(heights=np.where(crossed, 1.0, marks.heights))
        label = named("", run, runs)
        yield from _by_verdict(run, number, path, values, marks, label, number)
        yield from _notes(run, path, values, marks)
    if field == "largest_multiplier":
        ends = np.concatenate([run.field(path)[[0, -1]] for run in runs])
        limit = np.array([ends.min(), ends.max()])
        yield Line(limit, np.ones(2), "stability limit", 3, "dot")


def _predictors(runs: Sequence[Run], path: str) -> tuple[Line, ...]:
    return tuple(
        Line(
            run.field(path),
            np.where(
                run.field("predictor_error") > 0, run.field("predictor_error"), np.nan
            ),
            named("predictor error", run, runs),
            number,
            legend=len(runs) > 1,
            marks=True,
        )
        for number, run in enumerate(runs)
    )


def _in_the_plane(runs: Sequence[Run], path: str) -> Chart:
    """Return the multipliers of the point under the pointer."""
    layers: list[Line | Followers] = [unit_circle(legend=False)]
    for number, run in enumerate(runs):
        values = run.field("floquet_multipliers")
        first = len(values) // 2
        at = value_text(run, path, run.field(path)[first])
        name = named(f"multipliers, first at {at}", run, runs)
        layers.append(Followers(values.real, values.imag, name, number, first))
    axes = Axis("real part of a multiplier"), Axis("imaginary part")
    return Chart(*axes, tuple(layers), equal=True)


def _by_verdict(
    run: Run, number: int, path: str, values, marks: _Marks, name: str, colour: int
) -> Iterator[Line]:
    """Return the points of each verdict, and what joins points of different ones.

    A verdict reaches to the bifurcation between such points; without one their chord is
    undecided.
    """
    x, verdicts = run.field(path), run.field("stable")
    joins: dict[int, list[np.ndarray]] = {}
    for i in np.flatnonzero(np.diff(verdicts)):
        ends = [np.array([x[k], values[k]]) for k in (i, i + 1)]
        inside = np.flatnonzero((marks.positions >= i) & (marks.positions <= i + 1))
        codes = [-1]
        if inside.size:
            here = inside[0]
            middle = np.array(
                [run.field("bifurcation.parameter")[here], marks.heights[here]]
            )
            ends, codes = [ends[0], middle, ends[1]], [verdicts[i], verdicts[i + 1]]
        for code, start, end in zip(codes, ends[:-1], ends[1:], strict=True):
            joins.setdefault(int(code), []).append(
                np.stack([start, end, np.full(2, np.nan)])
            )
    for verdict, (style, word) in STYLES.items():
        own = verdicts == verdict
        label = f"{name}, {word}" if name else word
        if own.any():
            shown = np.where(own, values, np.nan)
            yield Line(x, shown, label, colour, style, run=number, marks=True)
        if verdict in joins:
            across, up = np.concatenate(joins[verdict]).T
            alone = not own.any()
            yield Line(across, up, label, colour, style, run=number, legend=alone)


def _notes(run: Run, path: str, values: np.ndarray, marks: _Marks) -> Iterator[Notes]:
    yield from _bifurcations(run, path, marks)
    x, contacts = run.field(path), run.field("contacts")
    changes = np.flatnonzero(np.diff(contacts)) + 1
    if changes.size:
        texts = tuple(f"{contacts[i - 1]} → {contacts[i]} contacts" for i in changes)
        yield Notes(x[changes], values[changes], texts, "contacts change")
    ends = [0, -1]
    yield Notes(x[ends], values[ends], _end_reasons(run), "end of the branch", "square")


def _bifurcations(run: Run, path: str, marks: _Marks) -> Iterator[Notes]:
    """Return one kind of mark for each kind of bifurcation on the branch."""
    kinds, places = run.field("bifurcation.kind"), run.field("bifurcation.parameter")
    for code in np.unique(kinds):
        name, symbol = _NAMES.get(code) or kind_words(code), SYMBOLS[KINDS[code]]
        own = np.flatnonzero(kinds == code)
        shown = functools.partial(run.quantity_text, run.unit(path))
        texts = tuple(f"{name} at {shown(places[i], digits=8)}" for i in own)
        yield Notes(places[own], marks.heights[own], texts, name, symbol)


def _marks(run: Run, path: str, values: np.ndarray) -> _Marks:
    points = np.column_stack([run.field(path), run.field("states")])
    places = np.column_stack(
        [run.field("bifurcation.parameter"), run.field("bifurcation.state")]
    )
    positions = np.array([position_on(points, place) for place in places])
    return _Marks(positions, np.interp(positions, np.arange(len(values)), values))


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
