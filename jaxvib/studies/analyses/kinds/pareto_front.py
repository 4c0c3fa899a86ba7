"""The study `pareto_front`: trade-offs between several objectives."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pydantic

from .... import design, systems
from ....drawing.labels import with_unit
from ....ensemble import reason
from ...config.tables import option
from ...pictures.picture import Axis, Chart, Choice, Line, Notes, Picture
from ...pictures.swept_lines import named
from ...pictures.swept_planes import sample_text
from ...resources import library
from ...store.fields import Variable
from ...store.finished_study import Run
from ..measure_options import (
    COMBINED,
    MeasureOptions,
    SearchOptions,
    build_measure,
    check_search,
    limits,
    scaled,
    settings_of,
    unit_of,
    without,
)
from ..study_kind import Known, StudyKind

of_samples = library("studies.analyses.sample_systems")


class GoalOptions(MeasureOptions):
    """One of several objectives: a measure and its goal."""

    goal: Literal["minimise", "maximise"] = option("goal", "minimise")
    combine: COMBINED = option("combination of several numbers into one", "value")
    weight: float = option("weight of the deviation in mean_and_deviation", 1.0, ge=0.0)


class Options(SearchOptions):
    """Variables, objectives, constraints and method of a front."""

    kind: Literal["pareto_front"] = option("the kind of analysis")
    objectives: dict[str, GoalOptions] = option(
        "two or more named objectives", min_length=2, max_length=8,
        allowed="tables with measure = ...",
    )  # fmt: skip
    points: int = option("points of the front", 21, ge=2, le=1000)
    method: Literal["slsqp", "trust_constr"] = option("optimiser of each point", "slsqp")
    starts: int = option(
        "starts of each single-objective search: current values, Sobol points", 1, ge=1,
        le=1000,
    )  # fmt: skip
    steps: int = option(
        "maximum steps of the optimiser for each point", 200, ge=1, le=100_000
    )
    tolerance: float = option(
        "relative tolerance of objectives and variables", 1e-10, gt=0.0, lt=1.0
    )

    @pydantic.model_validator(mode="after")
    def _check_points(self):
        if self.points < len(self.objectives):
            raise ValueError(
                f"points = {self.points} for {len(self.objectives)} objectives; allowed: "
                "as many or more"
            )
        return self


def compute(
    system, samples, options: Options, run, progress, remember=None
) -> dict[str, Variable]:
    """Return objectives and variables along `point`, for samples also `sample`."""
    goals = {
        name: design.Goal(
            build_measure(one, run, system, options.variables),
            one.goal,
            one.combine,
            one.weight,
        )
        for name, one in options.objectives.items()
    }
    problem = design.Problem(
        system,
        scaled(options),
        goals,
        constraints=limits(options, run, system),
    )
    fronts, codes = [], []
    for number, here in enumerate(of_samples.systems(system, samples)):
        try:
            front = design.pareto_front(
                problem.at(here), options.method, points=options.points,
                settings=settings_of(options, run), remember=remember,
                name=str(number),
            )  # fmt: skip
            codes.append(_code(front))
        except design.EvaluationLostError as lost:
            if not samples:
                raise RuntimeError(str(lost)) from None
            front = None
            codes.append(lost.code)
        fronts.append(front)
        progress(1)
    fields = _fields(system, options, fronts)
    fields["result"] = Variable(("sample",), np.array(codes, np.int32), "", "reason code")
    return fields if samples else without(fields, "sample")


def summary(read: Callable, study: Any) -> list[str]:
    """Return the number of points and evaluations, and the ends of the front."""
    options = study.analysis
    good = (read("point_result") == 0) & (read("dominated") == 0)
    lines = [
        f"front      {good.size} points, {int(good.sum())} non-dominated; "
        f"{int(np.sum(read('evaluations')))} evaluations"
    ]
    units = {
        f"objective.{name}": unit_of(one, study.unit)
        for name, one in options.objectives.items()
    } | {path: study.unit(path) for path in options.variables}
    for name, unit in units.items():
        values = np.reshape(read(name), (-1, np.shape(read(name))[-1]))[0]
        ends = study.quantity_text(unit, values[0], values[-1])
        lines.append(f"           {name.removeprefix('objective.')} from {ends}")
    return lines[:6]


def _code(front) -> int:
    """Return the reason code of a front: success if it has any point."""
    codes = np.asarray(front.result)
    return 0 if np.any(codes == 0) else int(codes[0])


def _fields(system, options, fronts) -> dict[str, Variable]:
    """Return the fields of all fronts along (sample, point), NaN where missing."""
    number = len(design.simplex_lattice(len(options.objectives), options.points))
    goals = list(options.objectives)

    def unit_at(path):
        return systems.parameter_at(system, path).unit

    def along(read, unit, words, fill=np.nan):
        nothing = np.full(number, fill)
        rows = [nothing if f is None else np.asarray(read(f)) for f in fronts]
        return Variable(("sample", "point"), np.array(rows), unit, words)

    fields = {}
    for name, one in options.objectives.items():
        fields[f"objective.{name}"] = along(
            lambda f, n=name: f.objectives[n], unit_of(one, unit_at), name
        )
    for path in options.variables:
        entry = systems.parameter_at(system, path)
        fields[path] = along(
            lambda f, p=path: f.variables[p], entry.unit, entry.description
        )
    for name, limit in options.constraints.items():
        fields[f"limit.{name}"] = along(
            lambda f, n=name: f.limits[n],
            unit_of(limit, unit_at),
            f"{name}: margin to its limit",
        )
    words = "1: another point is as good in all and better in one objective"
    fields["dominated"] = along(lambda f: f.dominated, "", words, 0)
    fields["point_result"] = along(lambda f: f.result, "", "reason code of a point", 1)
    words = "relative projected gradient"
    fields["optimality"] = along(lambda f: f.optimality, "", words)
    weights = [np.full((number, len(goals)), np.nan) if f is None else f.weights
               for f in fronts]  # fmt: skip
    fields["weights"] = Variable(
        ("sample", "point", "goal"), np.array(weights), "",
        "weights of the end points in the start of a point",
    )  # fmt: skip
    ends = [[1 if f is None else int(f.ends[name]) for name in goals] for f in fronts]
    fields["end_result"] = Variable(
        ("sample", "goal"), np.array(ends, np.int32), "",
        "reason code of the optimum of one objective",
    )  # fmt: skip
    counts = [0 if f is None else int(f.evaluations) for f in fronts]
    fields["evaluations"] = Variable(
        ("sample",), np.array(counts, np.int32), "", "evaluations in all"
    )
    return fields


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
    return with_unit(goal, run.unit(f"{_PREFIX}{goal}"))


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


def _fits(options: Options, known: Known) -> None:
    check_search(options, options.objectives.values(), known.values, known.declared)


KIND = StudyKind(
    "pareto_front", Options, compute, summary, pictures,
    resumable=True,
    counted="evaluations",
    checks=(_fits,),
    axes=lambda options: {"goal": list(options.objectives)},
    sample_bytes=lambda options: 5e3,
)  # fmt: skip
