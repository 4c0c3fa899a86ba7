"""Pictures of Pareto fronts: pairs of objectives, and the designs along a front."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ....ensemble import reason
from ...pictures.comparison_styles import named
from ...pictures.picture import Axis, Chart, Choice, Line, Notes, Picture
from ...pictures.swept_planes import sample_text
from ...store.finished_study import Run

_PREFIX = "objective."
_MOST_SHOWN = 6  # variables in the hover text of a point


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the front for each pair of objectives, and the designs along it."""
    run = runs[0]
    goals = _goals(run)
    labels = _labels(run)
    choice = Choice("front", tuple(labels)) if len(labels) > 1 else None
    charts = [
        Chart(
            Axis(_label(run, x)), Axis(_label(run, y)), tuple(_layers(runs, x, y, choice))
        )
        for x, y in itertools.combinations(goals, 2)
    ]
    words = " and ".join(goals)
    front = Picture(
        "pareto_front",
        "Pareto front",
        f"Designs in which no objective improves without worsening another: {words}. "
        f"Hover over a point for its parameters.{_evidence(runs)}",
        f"The Pareto front of {words}, {run.field('dominated').shape[-1]} points.",
        tuple(charts),
        choice=choice,
    )
    return [front, _designs(runs, goals, choice)]


def _designs(runs: Sequence[Run], goals: list[str], choice: Choice | None) -> Picture:
    """Return each variable and limit over the first objective; over points of a net."""
    run = runs[0]
    variables = _variables(run)
    limits = [name for name in map(str, run.results) if name.startswith("limit.")]
    over = f"{_PREFIX}{goals[0]}" if len(goals) == 2 else ""
    charts = []
    for name in [*variables, *limits]:
        layers = []
        for number, each in enumerate(runs):
            for place, values in enumerate(each.rows(name)):
                x = each.rows(over)[place] if over else np.arange(len(values), dtype=float)
                option = place if choice else None
                layers.append(
                    Line(x, values, each.name, number, option=option,
                         legend=len(runs) > 1, marks=True)
                )  # fmt: skip
        x_axis = Axis(_label(run, goals[0]) if over else "point")
        charts.append(Chart(x_axis, Axis(run.label(name)), tuple(layers)))
    return Picture(
        "front_designs",
        "The designs along the front",
        "Parameters from one end of the front to the other.",
        f"{', '.join(variables)} along the front.",
        tuple(charts),
        choice=choice,
    )


def _layers(runs: Sequence[Run], x: str, y: str, choice) -> Iterator[Line | Notes]:
    for number, run in enumerate(runs):
        columns = run.rows(f"{_PREFIX}{x}"), run.rows(f"{_PREFIX}{y}")
        codes, behind = run.rows("point_result"), run.rows("dominated")
        for place, (across, up) in enumerate(zip(*columns, strict=True)):
            option = place if choice else None
            converged = (codes[place] == 0) & (behind[place] == 0)
            texts = _texts(run, place)
            if len(_goals(run)) == 2:
                order = np.argsort(across[converged])
                yield Line(across[converged][order], up[converged][order],
                           named("front", run, runs), number, option=option)  # fmt: skip
            classes = {
                named("design", run, runs): (converged, "circle"),
                named("dominated", run, runs): (
                    (codes[place] == 0) & ~converged,
                    "diamond",
                ),
                named("not converged", run, runs): (codes[place] != 0, "cross"),
            }
            for name, (chosen, symbol) in classes.items():
                some = np.flatnonzero(chosen & np.isfinite(across) & np.isfinite(up))
                if some.size:
                    words = tuple(texts[i] for i in some)
                    yield Notes(across[some], up[some], words, name, symbol, option)


def _texts(run: Run, place: int) -> list[str]:
    """Return the text of each point of a front: objectives, variables, reason."""
    names = [f"{_PREFIX}{name}" for name in _goals(run)]
    names += _variables(run)[:_MOST_SHOWN]
    columns = {name: run.rows(name)[place] for name in names}
    codes = run.rows("point_result")[place]
    texts = []
    for i, code in enumerate(codes):
        parts = [
            f"{name.removeprefix(_PREFIX)} " + run.quantity_text(run.unit(name), values[i])
            for name, values in columns.items()
        ]
        texts.append(", ".join([*parts, *([reason(code)] if code else [])]))
    return texts


def _goals(run: Run) -> list[str]:
    """Return the names of the objectives."""
    return list(run.study["axes"]["goal"])


def _variables(run: Run) -> list[str]:
    """Return the variables: fields along the front without a prefix."""
    own = {"dominated", "point_result", "optimality", "weights"}
    return [
        str(name)
        for name, field in run.results.items()
        if field.dims[-1:] == ("point",)
        and name not in own
        and not str(name).startswith((_PREFIX, "limit."))
    ]


def _labels(run: Run) -> list[str]:
    """Return a label of each front: the sample's swept values."""
    return [sample_text(run, i) for i in range(len(run.rows("dominated")))]


def _label(run: Run, goal: str) -> str:
    unit = run.unit(f"{_PREFIX}{goal}")
    return f"{goal} ({unit})" if unit else goal


def _evidence(runs: Sequence[Run]) -> str:
    """Return sentences on the number of points and their optimality."""
    run = runs[0]
    codes, behind = run.field("point_result"), run.field("dominated")
    good = int(np.sum((codes == 0) & (behind == 0)))
    left = run.field("optimality")[codes == 0]
    words = f" {good} of {codes.size} points converged and are non-dominated"
    words += f", with {int(np.sum(run.field('evaluations')))} evaluations."
    if np.any(np.isfinite(left)):
        words += f" The relative projected gradient is at most {np.nanmax(left):.1e}."
    lost = int(np.sum(run.field("end_result") != 0))
    if lost:
        words += f" {lost} of the ends did not converge: the front may be incomplete."
    return words
