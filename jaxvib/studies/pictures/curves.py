"""Curves over one swept parameter: amplitude over frequency, and sweeps of one path."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...drawing.labels import shared, with_unit
from ...ensemble import undecided
from ..store.finished_study import Run, readable
from .picture import Axis, Chart, Choice, Line, Picture, Points
from .regimes import period_of, periodic, sort_by_regime, touching
from .swept_lines import look, named
from .swept_planes import Plane, axis, long_paths, planes, sample_text

_BREAKS = "Lines break where the regime changes, and at samples that did not converge."


def amplitude_label(runs: Sequence[Run]) -> str:
    """Return the label of the amplitude axis, with the units of displacements."""
    return shared("amplitude, (max - min)/2", [run.unit("amplitude") for run in runs])


def amplitude_curves(runs: Sequence[Run]) -> Picture:
    """Return amplitudes over x of each degree of freedom, one set per slider option."""
    plane = planes(runs)[0]
    lines = [line for each in planes(runs) for line in _amplitude_lines(each, runs)]
    first = plane.sheets[:, :, 0].ravel()  # first sample of each set of curves
    paths = [plane.y_path, *plane.others]
    labels = tuple(sample_text(plane.run, sample, paths) for sample in first)
    return Picture(
        "amplitude_curves",
        "Amplitude" if plane.slices else f"Amplitude over {readable(plane.x_path)}",
        "Amplitude (max - min)/2 of each body's displacement, at the "
        f"{' and '.join(map(readable, paths))} selected by the "
        f"slider{'s' if plane.slices else ''}. The vertical range is the same "
        f"for all of them. {_BREAKS}",
        f"Curves of amplitude over {readable(plane.x_path)}, for {len(labels)} values of "
        f"{readable(plane.y_path)}.",
        (
            Chart(
                plane.x,
                Axis(amplitude_label(runs), low=0.0, high=_top(lines)),
                tuple(lines),
            ),
        ),
        choice=Choice(readable(plane.y_path), labels),
        slices=plane.slices,
    )


def sweep_curves(runs: Sequence[Run]) -> list[Picture]:
    """Return the pictures of a sweep over a single path, one per quantity."""
    path = (long_paths(runs[0]) or runs[0].paths)[0]
    x = axis(runs[0], path)
    found = [
        _sweep(runs, x, "amplitude", amplitude_label(runs), "Amplitude",
               "Amplitude (max - min)/2 of each body's displacement."),
        _sweep(runs, x, "largest_multiplier", "largest |Floquet multiplier|", "Stability",
               "Modulus of the largest Floquet multiplier over the orbit's own period; "
               "above 1 the orbit is unstable."),
    ]  # fmt: skip
    if touching(runs):
        text = "The largest contact force over the orbit's period."
        label, title = "peak contact force (N)", "Peak contact force"
        found.append(_sweep(runs, x, "max_contact_force", label, title, text))
    if all(run.has("progress") for run in runs):
        counted = f"per {period_of(runs)}"
        text = f"The distance, or angle, by which the motion shifts {counted}."
        label = with_unit(f"progress {counted}", runs[0].unit("progress"))
        found.append(_sweep(runs, x, "progress", label, "Progress", text))
    return [*found, _regimes(runs, x)]


def _amplitude_lines(plane: Plane, runs: Sequence[Run]) -> Iterator[Line]:
    run = plane.run
    members = sort_by_regime(runs).members[plane.number]
    if plane.slices:  # the page cuts these lines anew, from the samples of a grid
        members = np.zeros_like(members)
    values = _where_converged(run, run.field("amplitude"))
    for option, samples in enumerate(plane.sheets.reshape(-1, plane.sheets.shape[2])):
        places = plane.number, plane.x_path, samples, option
        yield from _lines(runs, "amplitude", values, members, *places)


def _sweep(runs: Sequence[Run], x: Axis, field: str, label: str, title: str, text: str):
    lines: list[Line] = []
    for number, run in enumerate(runs):
        samples = np.argsort(run.field(x.path), kind="stable").astype(np.int32)
        values = run.field(field).astype(float).reshape(run.size, -1)
        if field == "progress":  # motions of any number of load periods are comparable
            values = values / np.maximum(run.field("periods"), 1)[:, None]
        values = _where_converged(run, values)
        members = sort_by_regime(runs).members[number]
        lines += _lines(runs, field, values, members, number, x.path, samples)
    chart = Chart(x, Axis(label), tuple(lines))
    return Picture(
        field,
        f"{title} over {readable(x.path)}",
        f"{text} {_BREAKS}",
        _alt(title, runs, x),
        (chart,),
    )


def _regimes(runs: Sequence[Run], x: Axis) -> Picture:
    """Return the contacts per period, each sample coloured by its regime."""
    sorting, counted = sort_by_regime(runs), f"contacts per {period_of(runs)}"
    text = "Contact onsets per period of each limit cycle, coloured by contacts."
    if period_of(runs) == "load period":
        text = (
            "Contact onsets per load period of each periodic orbit, coloured by "
            "regime: its period in load periods and its contacts per orbit period."
        )
    charts = []
    for number, run in enumerate(runs):
        samples = np.flatnonzero(periodic(run)).astype(np.int32)
        points = Points(
            run.field(x.path)[samples],
            run.field("contacts_per_period")[samples],
            sorting.members[number][samples].astype(float),
            sorting.classes,
            samples,
            number,
        )
        title = run.name if len(runs) > 1 else ""
        charts.append(Chart(x, Axis(counted), (points,), title))
    return Picture(
        "regimes",
        f"Regimes over {readable(x.path)}",
        text,
        _alt("Regimes", runs, x),
        tuple(charts),
        sorting.shares,
    )


def _alt(title: str, runs: Sequence[Run], x: Axis) -> str:
    values = runs[0].field(x.path)
    return f"{title} over {x.label}, from {values.min():.4g} to {values.max():.4g}."


def _lines(
    runs: Sequence[Run], field: str, values, members, number: int, path: str, samples,
    option: int | None = None,
) -> Iterator[Line]:  # fmt: skip
    """Yield the columns of a field (samples, n) over a path, broken between classes."""
    run, count = runs[number], values.shape[1]
    names = run.names("freedom", count) if count > 1 or field == "amplitude" else [field]
    for column, name in enumerate(names):
        x, y, shown = _broken(
            run.field(path)[samples], values[samples, column], samples, members[samples]
        )
        yield Line(
            x, y, named(name, run, runs), *look(column, number, runs), shown, number,
            option, legend=len(names) * len(runs) > 1,
        )  # fmt: skip


def _broken(x, y, samples, members) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a line with a gap, a NaN, wherever neighbours are of different classes.

    A jump between two attractors is no steep curve. The gap has the sample before it.
    """
    after = np.flatnonzero(np.diff(members)) + 1
    middles = (x[after - 1] + x[after]) / 2
    return (
        np.insert(x, after, middles),
        np.insert(y, after, np.nan),
        np.insert(samples, after, samples[after - 1]),
    )


def _where_converged(run: Run, values: np.ndarray) -> np.ndarray:
    converged = ~run.failed & ~undecided(run.field("result"))
    return np.where(converged[:, None], values, np.nan)


def _top(lines) -> float:
    highest = [np.nanmax(line.y) for line in lines if np.isfinite(line.y).any()]
    return 1.05 * float(max(highest, default=1.0))
