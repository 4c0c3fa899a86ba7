"""The study of Pareto fronts: designs of which no objective can become better alone."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import pydantic
from pydantic import Field

from ...config.tables import Table
from ...store.fields import Variable
from ..cost import Cost
from ..measures import MeasureOptions, build_measure, unit_of
from ..searches import (
    COMBINED,
    SearchOptions,
    check_search,
    dearest,
    limits,
    scaled,
    systems,
    without,
)


class GoalOptions(MeasureOptions):
    """One of several objectives: what is measured, and what best means of it."""

    goal: Literal["minimise", "maximise"] = Field(
        default="minimise", description="what best means"
    )
    combine: COMBINED = Field(default="value", description="how several numbers become one")
    weight: float = Field(
        default=1.0, ge=0.0, description="of the deviation in mean_and_deviation"
    )


class FrontOptions(SearchOptions):
    """What moves, which objectives are weighed, what must hold, and how it is sought."""

    kind: Literal["pareto_front"] = Field(description="the kind of analysis")
    objectives: dict[str, GoalOptions] = Field(
        min_length=2, max_length=8, description="two objectives or more, by any name",
        json_schema_extra={"allowed": "tables with measure = ..."},
    )  # fmt: skip
    points: int = Field(default=21, ge=2, le=1000, description="points of the front")
    method: Literal["slsqp", "trust_constr"] = Field(
        default="slsqp", description="the optimiser of each point"
    )
    starts: int = Field(
        default=1, ge=1, le=1000,
        description="starts for the best by each objective alone: own values, Sobol points",
    )  # fmt: skip
    steps: int = Field(
        default=200, ge=1, le=100_000, description="steps of the optimiser for each point"
    )
    tolerance: float = Field(
        default=1e-10, gt=0.0, lt=1.0, description="relative, on objectives and variables"
    )

    @pydantic.model_validator(mode="after")
    def _goes_together(self):
        if self.points < len(self.objectives):
            raise ValueError(
                f"points = {self.points} for {len(self.objectives)} objectives; allowed: "
                "as many or more"
            )
        return self


class FrontKind:
    """A Pareto front of the system, or one of each sample."""

    name = "pareto_front"
    sampled = None
    whole = True
    remembers = True
    groups: Mapping[str, tuple[str, ...]] = {}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return FrontOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for paths that there are not, or bounds without the value."""
        check_search(options, options.objectives.values(), values, declared)

    def coordinates(self, options) -> list[str]:
        """Return no coordinates beside the swept paths."""
        return []

    def axes(self, options) -> dict[str, list[str]]:
        """Return the names of the objectives."""
        return {"goal": list(options.objectives)}

    def compute(
        self, system, samples, options, run, progress, remember=None
    ) -> dict[str, Variable]:
        """Return objectives and variables along `point`; of samples along `sample` too."""
        from ....design import Goal, LostError, Problem, pareto_front

        goals = {
            name: Goal(
                build_measure(one, run, system, options.variables),
                one.goal,
                one.combine,
                one.weight,
            )
            for name, one in options.objectives.items()
        }
        problem = Problem(
            system,
            scaled(options),
            goals,
            constraints=limits(options, run, system),
        )
        fronts, codes = [], []
        for number, here in enumerate(systems(system, samples)):
            try:
                front = pareto_front(
                    problem.at(here), options.method, points=options.points,
                    starts=options.starts, steps=options.steps, seed=run.seed,
                    tolerance=options.tolerance, remember=remember, name=str(number),
                )  # fmt: skip
                codes.append(_code(front))
            except LostError as lost:
                if not samples:
                    raise RuntimeError(str(lost)) from None
                front = None
                codes.append(lost.code)
            fronts.append(front)
            progress(1)
        fields = _fields(system, options, fronts)
        fields["result"] = Variable(
            ("sample",), np.array(codes, np.int32), "", "reason code"
        )
        return fields if samples else without(fields, "sample")

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/damper_front.toml`."""
        every = (*options.objectives.values(), *options.constraints.values())
        each, compile_ = dearest(every)
        searches = options.points + len(options.objectives) * (options.starts + 2)
        return Cost(6.0, compile_, each * 4 * searches, 3.0, 5e3, ("looked",))

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return nothing: there are no groups."""
        return {}

    def summary(self, read: Callable, study) -> list[str]:
        """Return how many points were found, and where they lead to."""
        options = study.analysis
        good = (read("point_result") == 0) & (read("dominated") == 0)
        lines = [
            f"front      {good.size} points, {int(good.sum())} found and not dominated; "
            f"{int(np.sum(read('evaluations')))} evaluations"
        ]
        names = [*(f"objective.{name}" for name in options.objectives), *options.variables]
        for name in names:
            values = np.reshape(read(name), (-1, np.shape(read(name))[-1]))[0]
            word = name.removeprefix("objective.")
            lines.append(f"           {word} {values[0]:.6g} ... {values[-1]:.6g}")
        return lines[:6]


def _code(front) -> int:
    """Return the reason code of a front: success where there is any point of it."""
    codes = np.asarray(front.result)
    return 0 if np.any(codes == 0) else int(codes[0])


def _fields(system, options, fronts) -> dict[str, Variable]:
    """Return everything of all fronts along (sample, point); NaN where there is none."""
    from ....design import entry_at, net

    number = len(net(len(options.objectives), options.points))
    goals = list(options.objectives)

    def along(read, unit, words, fill=np.nan):
        nothing = np.full(number, fill)
        rows = [nothing if f is None else np.asarray(read(f)) for f in fronts]
        return Variable(("sample", "point"), np.array(rows), unit, words)

    fields = {}
    for name, one in options.objectives.items():
        fields[f"objective.{name}"] = along(
            lambda f, n=name: f.objectives[n], _unit(system, one), name
        )
    for path in options.variables:
        entry = entry_at(system, path)
        fields[path] = along(
            lambda f, p=path: f.variables[p], entry.unit, entry.description
        )
    for name, limit in options.constraints.items():
        fields[f"limit.{name}"] = along(
            lambda f, n=name: f.limits[n], unit_of(limit), f"{name}: inside its limit"
        )
    words = "1: another point is as good in all and better in one objective"
    fields["dominated"] = along(lambda f: f.dominated, "", words, 0)
    fields["point_result"] = along(lambda f: f.result, "", "reason code of a point", 1)
    words = "relative gradient that neither bound nor limit holds"
    fields["optimality"] = along(lambda f: f.optimality, "", words)
    weights = [np.full((number, len(goals)), np.nan) if f is None else f.weights
               for f in fronts]  # fmt: skip
    fields["weights"] = Variable(
        ("sample", "point", "goal"), np.array(weights), "",
        "share of each end in where a point was sought from",
    )  # fmt: skip
    ends = [[1 if f is None else int(f.ends[name]) for name in goals] for f in fronts]
    fields["end_result"] = Variable(
        ("sample", "goal"), np.array(ends, np.int32), "",
        "reason code of the best by one objective",
    )  # fmt: skip
    counts = [0 if f is None else int(f.evaluations) for f in fronts]
    fields["evaluations"] = Variable(
        ("sample",), np.array(counts, np.int32), "", "evaluations in all"
    )
    return fields


def _unit(system, options: MeasureOptions) -> str:
    """Return the unit of an objective; of a parameter that of the system's own."""
    from ....design import entry_at

    if options.measure != "parameter":
        return unit_of(options)
    units = {entry_at(system, path).unit for path in options.paths or ()}
    return units.pop() if len(units) == 1 else ""
