"""Bifurcation diagrams: Poincaré samples over a parameter, and the exponent."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from ...pictures.comparison_styles import named, symbol
from ...pictures.picture import Axis, Chart, Line, Picture, Points
from ...pictures.regimes import Sorting, sort_by_regime
from ...pictures.swept_planes import axis
from ...store.finished_study import Run, readable
from .kind import SWEEPS

_WORDS = {"rest": "from rest", "up": "followed up", "down": "followed down"}
_ERRORS = 1.96  # standard errors of a 95 % interval
_MOST_COMPONENTS = 3  # charts of state components


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the diagram, with the exponent below."""
    return [_diagram(runs)]


def _diagram(runs: Sequence[Run]) -> Picture:
    """Return the Poincaré samples of displacements, and the largest exponent."""
    path = runs[0].paths[0]
    values = np.concatenate([run.field(path) for run in runs])
    # a common range for all charts, which are stacked
    low, high = float(values.min()), float(values.max())
    x = dataclasses.replace(axis(runs[0], path), low=low, high=high)
    sorting = sort_by_regime(runs)
    states = runs[0].names("state", runs[0].field("states").shape[2])
    shown = min(max(1, len(states) // 2), _MOST_COMPONENTS)
    charts = [
        Chart(
            x,
            Axis(runs[0].component("states", "state", component, len(states))),
            tuple(_points(runs, sorting, path, component)),
        )
        for component in range(shown)
    ]
    charts.append(
        Chart(x, Axis("largest Lyapunov exponent (1/s)"), tuple(_exponents(runs, path)))
    )
    words = ", ".join(f"{share.name}: {sum(share.counts)}" for share in sorting.shares)
    return Picture(
        "bifurcation_diagram",
        f"Bifurcation diagram over {readable(path)}",
        "The state at t = 0, T, 2T, ..., once per load period, after the transient: one "
        "point for a motion of period 1, n points for period n, a cloud for chaos. "
        "Below, the largest Lyapunov exponent with 95 % confidence limits (dotted); it is "
        "positive for chaos. "
        "Sweeps up and down differ where attractors coexist.",
        f"Poincaré samples and largest Lyapunov exponent over {x.label}. {words}.",
        tuple(charts),
        sorting.shares,
        stacked=True,
    )


def _points(runs, sorting: Sorting, path: str, component: int) -> Iterator[Points]:
    for number, run in enumerate(runs):
        states = run.field("states")[:, :, component]
        value, point = np.nonzero(np.isfinite(states))
        yield Points(
            run.field(path)[value],
            states[value, point],
            sorting.members[number][value].astype(float),
            sorting.classes,
            symbol=symbol(number),
        )


def _exponents(runs: Sequence[Run], path: str) -> Iterator[Line]:
    colour = 0
    for run in runs:
        values, exponent = run.field(path), run.field("lyapunov_exponent")
        error = _ERRORS * run.field("lyapunov_error")
        sweeps = run.field("sweep")
        for sweep in np.unique(sweeps):
            own = np.flatnonzero(sweeps == sweep)
            own = own[np.argsort(values[own])]
            name = named(_WORDS[SWEEPS[sweep]], run, runs)
            yield Line(values[own], exponent[own], name, colour)
            for bound in (exponent - error, exponent + error):
                yield Line(values[own], bound[own], name, colour, "dot", legend=False)
            colour += 1
    ends = np.concatenate([run.field(path) for run in runs])
    limit = np.array([ends.min(), ends.max()])
    yield Line(limit, np.zeros(2), "zero", 5, "dot")
