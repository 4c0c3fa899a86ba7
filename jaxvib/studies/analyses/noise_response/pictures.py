"""Responses to noise: distributions of peaks and survival curves of limits."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...pictures.comparison_styles import look, named
from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_planes import axis, long_paths, slider_samples
from ...store.finished_study import Run, readable

_MOST_POINTS = 400  # of a curve: the pixels of a chart
_WIDTH = 1.96  # standard errors: half-width of a 95 % interval


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return peaks and passages, and their change along a swept path."""
    run = runs[0]
    samples, choice = slider_samples(run)
    found = [_peaks(runs, samples, choice)]
    if run.has("first_passage"):
        found.append(_passages(runs, samples, choice))
    if len(long_paths(run)) == 1:
        found.append(_along(runs, long_paths(run)[0]))
    return found


def _peaks(runs, samples, choice) -> Picture:
    lines = []
    for number, run in enumerate(runs):
        peaks = run.field("peak")
        for option, sample in enumerate(samples):
            for i, name in enumerate(run.names("freedom", peaks.shape[2])):
                x, share = _distribution(peaks[sample, :, i])
                lines.append(
                    Line(x, share, named(name, run, runs),
                         *look(i, number, runs), option=option if choice else None)
                )  # fmt: skip
    return Picture(
        "peaks",
        "Distribution of the peaks",
        "The share of the seeds whose largest displacement is at most the value on the "
        "axis, one line per degree of freedom.",
        "Distribution functions of the peaks.",
        (Chart(Axis("peak displacement (m)"), Axis("share of the seeds"), tuple(lines)),),
        choice=choice,
    )


def _passages(runs, samples, choice) -> Picture:
    lines = []
    for number, run in enumerate(runs):
        times = run.field("first_passage")
        duration = float(run.study["config"]["analysis"]["duration"])
        for option, sample in enumerate(samples):
            for i, name in enumerate(run.names("limit", times.shape[2])):
                colour, style = look(i, number, runs)
                for x, share, edge in _survival(times[sample, :, i], duration):
                    lines.append(
                        Line(x, share, named(name, run, runs), colour,
                             "dot" if edge else style, legend=not edge,
                             option=option if choice else None)
                    )  # fmt: skip
    return Picture(
        "first_passages",
        "Survival",
        "The share of the seeds that have not reached a limit, over time; dotted: "
        "1.96 standard errors above and below.",
        "Shares of seeds below each limit over time.",
        (Chart(Axis("time (s)"), Axis("share below the limit", low=0.0, high=1.0),
               tuple(lines)),),
        choice=choice,
    )  # fmt: skip


def _along(runs, path: str) -> Picture:
    charts = []
    for field, label in (
        ("mean_peak", "mean of the peaks (m)"),
        ("root_mean_square", "root mean square (m)"),
    ):
        lines = []
        for number, run in enumerate(runs):
            values, errors = run.field(field), run.field(f"{field}_error")
            for i, name in enumerate(run.names("freedom", values.shape[1])):
                colour, style = look(i, number, runs)
                for side in (0.0, -_WIDTH, _WIDTH):
                    lines.append(
                        Line(run.field(path), values[:, i] + side * errors[:, i],
                             named(name, run, runs), colour,
                             "dot" if side else style, legend=not side,
                             samples=None if side else np.arange(run.size), run=number)
                    )  # fmt: skip
        charts.append(Chart(axis(runs[0], path), Axis(label), tuple(lines)))
    return Picture(
        "along",
        f"Peaks and mean squares over {readable(path)}",
        "Each point is an ensemble of the same seeds; dotted: 1.96 standard errors "
        "above and below.",
        f"Mean peaks and root mean squares over {readable(path)}.",
        tuple(charts),
        stacked=True,
    )


def _distribution(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the empirical distribution function of values, subsampled."""
    ordered = np.sort(values[np.isfinite(values)])
    share = np.arange(1, ordered.size + 1) / max(ordered.size, 1)
    some = np.linspace(0, ordered.size - 1, min(ordered.size, _MOST_POINTS)).astype(int)
    return ordered[some], share[some]


def _survival(times: np.ndarray, duration: float) -> Iterator[tuple]:
    """Return the survival function and its band: x, y, whether of the band."""
    known = times[~np.isnan(times)]
    x = np.linspace(0.0, duration, _MOST_POINTS)
    left = np.array([np.mean(known > time) for time in x])
    error = np.sqrt(left * (1 - left) / max(known.size, 1))
    for side in (0.0, -_WIDTH, _WIDTH):
        yield x, left + side * error, bool(side)
