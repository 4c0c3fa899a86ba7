"""Pictures of designs: objective and variables over evaluations, and the best designs."""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from .....drawing.labels import with_unit
from ....pictures.picture import Axis, Chart, Choice, Line, Notes, Picture
from ....pictures.swept_lines import look, named, symbol
from ....pictures.swept_planes import axis, long_paths, sample_text
from ....store.finished_study import Run, readable

OBJECTIVE = "objective"  # name of its verification, among those of constraints
_ALIKE = 1e-3  # relative difference below visibility in a chart
_CONVERGED = 1e-5  # relative projected gradient that counts as success of a search
_GRAZING = {1: "grazing crossed", 2: "at grazing"}


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the best designs over the samples, and their search histories."""
    several = runs[0].rows("objective").shape[0] > 1
    return [*([best_designs(runs)] if several else []), design_history(runs)]


def design_history(runs: Sequence[Run]) -> Picture:
    """Return the objective and each variable over the evaluations of each search."""
    run, variables = runs[0], runs[0].tuned
    every = run.rows("objective")
    # a design by formula has a single evaluation
    shown = [i for i, row in enumerate(every) if _last(row) > 1] or list(range(len(every)))
    names = list(_labels(run))
    labels, objectives = [names[i] for i in shown], every[shown]
    unit = run.unit("objective")
    choice = Choice("design", tuple(labels)) if len(labels) > 1 else None
    charts = [_chart(runs, "objective", with_unit(_objective(run), unit), shown)]
    charts += [_chart(runs, path, run.label(path), shown) for path in variables]
    limits = [name for name in map(str, run.results) if name.startswith("limit.")]
    for name in limits:
        label = (
            f"{name.removeprefix('limit.')}: distance to the limit (negative = violated)"
        )
        charts.append(_chart(runs, name, with_unit(label, run.unit(name)), shown))
    best = [_best(run, place) for place in shown]
    changes = [
        run.quantity_text(unit, row[0], row[at], digits=4)
        for row, at in zip(objectives, best, strict=True)
    ]
    if choice is None:
        word = "greatest" if run.options.get("goal") == "maximise" else "least"
        text = f"changes from {changes[0]}; {word} value at evaluation {best[0]}."
    else:
        text = f"for {len(labels)} designs, selected by the slider."
    verified = "".join(
        f" {words}, on branches traced there."
        for words in verified_texts(run.field, run.options.get("constraints", {}))
    )
    return Picture(
        "design_history",
        "Design history",
        f"The objective, {_objective(run)}, {text}{_evidence(run, choice)}{verified}",
        f"Objective and {', '.join(variables)} over the evaluations: {changes[0]}.",
        tuple(charts),
        choice=choice,
    )


def verified_texts(read: Callable, constraints: Collection[str]) -> list[str]:
    """Return how many of the random points are stable, for each verified constraint.

    `read`: returns an array of a study; it raises an error for one that it has not.
    """
    texts = []
    for name in (*constraints, OBJECTIVE):
        try:
            parts = ("stable", "lost", "parameter")
            stable, lost, values = (read(f"verified.{name}.{part}") for part in parts)
        except (OSError, KeyError):
            continue
        good = int(np.sum((stable == 1) & (lost == 0)))
        texts.append(
            f"{name}: stable at {good} of {stable.size} random points from "
            f"{values.min():.6g} to {values.max():.6g}"
        )
    return texts


def best_designs(runs: Sequence[Run]) -> Picture:
    """Return the stored quantities of the best designs, over a swept path."""
    run = runs[0]
    known, over = run.options.get("quantities", {}), long_paths(run)
    # Ratios of swept values do not depend on the design.
    names = [name for name in known if not over or {*known[name]} & {*run.tuned}]
    names = names or [f"optimum.{path}" for path in run.tuned]
    charts = [
        _over_path(runs, name, over[0]) if len(over) == 1 else _over_designs(runs, name)
        for name in [*names, "optimum.objective", *["evaluations"] * run.has("evaluations")]
    ]
    return Picture(
        "best_designs",
        "The best designs",
        "Final value of each design; designs by formula were only evaluated.",
        f"{', '.join(names)} of each design.",
        tuple(charts),
    )


def _over_path(runs: Sequence[Run], name: str, path: str) -> Chart:
    lines = []
    for number, run in enumerate(runs):
        values = run.field(name).reshape(len(run.field(path)), -1)
        for column, design in enumerate(_names(run)):
            word = named(design, run, runs) or name
            lines.append(
                Line(
                    run.field(path),
                    values[:, column],
                    word,
                    *look(column, number, runs),
                    marks=True,
                )
            )
    return Chart(axis(runs[0], path), Axis(_label(runs[0], name)), tuple(lines))


def _over_designs(runs: Sequence[Run], name: str) -> Chart:
    labels = tuple(_labels(runs[0]))
    places, layers = np.arange(len(labels), dtype=float), []
    for number, run in enumerate(runs):
        values = np.ravel(run.field(name)).astype(float)
        texts = tuple(f"{value:.10g}" for value in values)
        layers.append(Notes(places, values, texts, run.name, symbol(number)))
    every = np.concatenate([layer.y for layer in layers])
    known = every[np.isfinite(every)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    # Differences below visibility are suppressed: an axis of irrelevant digits would
    # make them look like scatter.
    alike = high - low < _ALIKE * low
    y = Axis(_label(runs[0], name))
    if alike:
        y = dataclasses.replace(y, low=0.99 * low, high=1.01 * high)
    ticks = labels if len(labels) <= 8 else ()
    return Chart(Axis("design", ticks=ticks), y, tuple(layers))


def _label(run: Run, name: str) -> str:
    return with_unit(readable(name.removeprefix("optimum.")), run.unit(name))


def _names(run: Run) -> list[str]:
    """Return the names of the designs; "" for a single design."""
    return list(run.study.get("axes", {}).get("design", [])) or [""]


def _last(values: np.ndarray) -> int:
    """Return the number of evaluations of a search; the rest is NaN."""
    return int(np.flatnonzero(np.isfinite(values)).max(initial=0)) + 1


def _labels(run: Run) -> Iterator[str]:
    """Return a label of each search, samples slowest."""
    number = run.rows("objective").shape[0] // len(_names(run))
    for sample in range(number):
        at = sample_text(run, sample)
        for name in _names(run):
            yield ", ".join(filter(None, (at, name)))


def _best(run: Run, place: int) -> int:
    """Return the evaluation of the best design of a search."""
    if run.has("best"):
        return int(np.ravel(run.field("best"))[place])
    return int(np.nanargmin(run.rows("objective")[place]))


def _evidence(run: Run, choice) -> str:
    """Return sentences on evaluations, optimality and grazing."""
    if not run.has("optimality"):
        return ""
    counts = np.ravel(run.field("evaluations"))
    words = f" {int(counts.sum())} evaluations in all."
    left = np.ravel(run.field("optimality"))
    if choice is None and np.isfinite(left[0]):
        words += f" {optimality_text(left[0])}"
    notices = run.rows("notice")
    if np.any(notices == 2):
        words += " Marked: grazing, where the derivative of multipliers jumps."
    elif np.any(notices == 1):
        words += (
            " Marked: the number of contacts changed since the last evaluation: grazing "
        )
        words += "lies in between, where derivatives are one-sided."
    return words


def optimality_text(left: float) -> str:
    """Return a sentence about the relative projected gradient of a search's best design."""
    if left <= _CONVERGED:
        return "Converged: no feasible direction improves the objective."
    return (
        f"Not converged: feasible directions remain, with a relative slope of {left:.1e}."
    )


def _objective(run: Run) -> str:
    """Return the objective as text: a field of the orbit and its body, or a measure."""
    options = run.options
    objective = options.get("objective", "objective")
    if isinstance(objective, dict):
        field = objective.get("field") or objective["measure"].replace("_", " ")
        component = objective.get("component") or 0
    else:
        field, component = objective, options.get("component", 0)
    freedoms = run.study["axes"].get("freedom", [])
    if field == "amplitude" and component < len(freedoms):
        return f"half peak-to-peak of {freedoms[component]}"
    return field


def _chart(runs: Sequence[Run], name: str, label: str, shown: Sequence[int]) -> Chart:
    layers: list = []
    for number, run in enumerate(runs):
        notices = run.rows("notice") if run.has("notice") else None
        for option, place in enumerate(shown):
            values = run.rows(name)[place]
            values = values[: _last(values)]
            steps = np.arange(len(values), dtype=float)
            several = len(runs) > 1
            moved = option if len(shown) > 1 else None
            title = run.name if several else name
            layers.append(
                Line(steps, values, title, number, option=moved, legend=several, marks=True)
            )
            if notices is not None and name == "objective":
                marked = np.flatnonzero(notices[place] > 0)[:12]
                words = tuple(_GRAZING[int(notices[place][i])] for i in marked)
                if words:
                    layers.append(Notes(steps[marked], values[marked], words,
                                        "derivatives", option=moved))  # fmt: skip
    return Chart(Axis("evaluation"), Axis(label), tuple(layers))
