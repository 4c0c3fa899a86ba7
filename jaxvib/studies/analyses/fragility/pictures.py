"""Fragility curves: failure shares with errors, the fit and its confidence band."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from ....transients import Fragility
from ...pictures.comparison_styles import named
from ...pictures.picture import Axis, Chart, Line, Notes, Picture
from ...pictures.swept_planes import axis, long_paths, sample_text
from ...store.finished_study import Run, readable

_MOST_SAMPLES = 6  # curves in one picture
_POINTS = 200  # of a fitted curve
_FIELDS = ("median", "dispersion", "median_error", "dispersion_error", "covariance",
           "log_likelihood", "result")  # fmt: skip


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the curves, and the medians along a swept path."""
    lines = []
    for number, run in enumerate(runs):
        count = min(run.size, _MOST_SAMPLES)
        samples = np.linspace(0, run.size - 1, count).astype(int).tolist()
        for colour, sample in enumerate(samples):
            words = sample_text(run, sample) if run.paths else "limit reached"
            name = named(words, run, runs)
            lines += _curve(run, sample, name, colour + number * count)
    limit = runs[0].study["config"]["analysis"]["limit"]
    found = [
        Picture(
            "fragility",
            "Fragility",
            "Marks are shares of the seeds that reach the limit, with 95 % intervals (1.96 "
            "standard errors); the curve is the maximum-likelihood lognormal fit, with its "
            "95 % band (dotted).",
            f"Probability of reaching {runs[0].quantity_text('m', limit['level'])} "
            "over the intensity.",
            (
                Chart(
                    Axis("intensity, factor of the noise", log=True),
                    Axis("probability of reaching the limit", low=0.0, high=1.0),
                    tuple(lines),
                ),
            ),
        )
    ]
    if len(long_paths(runs[0])) == 1:
        found.append(_medians(runs, long_paths(runs[0])[0]))
    return found


def _curve(run: Run, sample: int, name: str, colour: int) -> list:
    levels, share = run.field("intensities")[sample], run.field("share")[sample]
    width = 1.96 * run.field("share_error")[sample]
    numbers = zip(run.field("failures")[sample], run.field("trials")[sample], strict=True)
    texts = tuple(f"{reached} of {trials}" for reached, trials in numbers)
    lines: list = [Notes(levels, share, texts, "seeds", "circle")]
    for x, y, half in zip(levels, share, width, strict=True):
        lines.append(
            Line(
                np.array([x, x]), np.array([y - half, y + half]), name, colour, legend=False
            )
        )
    if run.field("result")[sample]:
        return lines
    curve = Fragility(*(jnp.asarray(run.field(field)[sample]) for field in _FIELDS))
    x = np.geomspace(0.8 * levels[0], 1.25 * levels[-1], _POINTS)
    lines.append(Line(x, np.asarray(curve.probability(x)), name, colour))
    return lines + [
        Line(x, np.asarray(side), name, colour, "dot", legend=False)
        for side in curve.band(x)
    ]


def _medians(runs: Sequence[Run], path: str) -> Picture:
    lines = []
    for number, run in enumerate(runs):
        values, errors = run.field("median"), run.field("median_error")
        for side in (0.0, -1.96, 1.96):
            lines.append(
                Line(run.field(path), values + side * errors, run.name, number,
                     "dot" if side else "solid",
                     legend=not side and len(runs) > 1, run=number,
                     samples=None if side else np.arange(run.size))
            )  # fmt: skip
    return Picture(
        "medians",
        f"The median intensity over {readable(path)}",
        "The intensity at which half of the seeds reach the limit; dotted: 1.96 "
        "standard errors above and below.",
        f"Median intensities over {readable(path)}.",
        (Chart(axis(runs[0], path), Axis("median intensity"), tuple(lines)),),
    )
