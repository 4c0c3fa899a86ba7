"""Scatter plots over pairs of paths, for samples that are not a grid."""

import itertools
from collections.abc import Sequence

import numpy as np

from ...pictures.picture import Chart, Picture, Points, Scale
from ...pictures.regimes import periodic, regimes_text, sort_by_regime, touching
from ...pictures.swept_planes import axis
from ...store.finished_study import Run, readable

_MOST_PATHS = 4  # more would give too many pairs


def scatters(runs: Sequence[Run]) -> list[Picture]:
    """Return regime and peak force of samples over pairs of their paths."""
    sorting = sort_by_regime(runs)
    regimes = [members.astype(float) for members in sorting.members]
    forces = [np.where(run.failed, np.nan, run.field("max_contact_force")) for run in runs]
    moduli = [np.where(periodic(r), r.field("largest_multiplier"), np.nan) for r in runs]
    positive = [np.where(force > 0, force, np.nan) for force in forces]
    found = [
        _scatter(runs, regimes, sorting.classes, "regimes", "Regimes",
                 regimes_text(runs), sorting.shares),
        _scatter(runs, moduli, _scale("largest |multiplier|", "sea", moduli),
                 "stability", "Stability", "Modulus of the largest Floquet multiplier "
                 "over the orbit's period; periodic orbits only."),
    ]  # fmt: skip
    if touching(runs):
        scale = _scale("peak contact force (N)", "cividis", positive, log=True, unit="N")
        found.append(
            _scatter(runs, positive, scale, "peak_force", "Peak contact force",
                     "The largest contact force over the orbit's period; only samples "
                     "with contact are shown.")
        )  # fmt: skip
    return found


def _scatter(runs, values, paint, name, title, text, shares=()) -> Picture:
    paths = sorted(runs[0].paths[:_MOST_PATHS], key=lambda path: "frequency" not in path)
    pairs = list(itertools.combinations(paths, 2))
    charts = [
        _chart(run, number, pair, values[number], paint, run.name * (len(runs) > 1))
        for pair in pairs
        for number, run in enumerate(runs)
    ]
    over = " and ".join(", ".join(map(readable, pair)) for pair in pairs)
    alt = f"{title} of {runs[0].size} samples over {over}."
    return Picture(name, title, text, alt, tuple(charts), tuple(shares))


def _chart(run: Run, number: int, pair: tuple[str, str], values, paint, title) -> Chart:
    samples = np.flatnonzero(np.isfinite(values)).astype(np.int32)
    x, y = pair
    places = run.field(x)[samples], run.field(y)[samples]
    points = Points(*places, values[samples], paint, samples, number)
    return Chart(axis(run, x), axis(run, y), (points,), title)


def _scale(label: str, colours: str, values, log: bool = False, unit: str = "") -> Scale:
    every = np.concatenate(values)
    every = every[np.isfinite(every)]
    low, high = (every.min(), every.max()) if every.size else (0.1, 1.0)
    return Scale(label, colours, float(low), float(high), log, unit)
