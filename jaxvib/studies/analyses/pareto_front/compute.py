"""Computes Pareto fronts of one or many systems, and their summary."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import numpy as np

from ....design import (
    EvaluationLostError,
    Goal,
    Problem,
    pareto_front,
    simplex_lattice,
)
from ....ensemble.evaluation_store import EvaluationStore
from ....systems.parameters import parameter_at
from ...store.fields import Variable
from ..design_problem import (
    limits,
    scaled,
    settings_of,
    without,
)
from ..measure_options import build_measure, unit_of
from ..sample_systems import systems
from .kind import FrontOptions


def compute(
    system: eqx.Module,
    samples: Mapping[str, np.ndarray],
    options: FrontOptions,
    run: Any,
    progress: Callable[[int], None],
    remember: EvaluationStore | None = None,
) -> dict[str, Variable]:
    """Return objectives and variables along `point`, for samples also `sample`."""
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
                settings=settings_of(options, run), remember=remember, name=str(number),
            )  # fmt: skip
            codes.append(_code(front))
        except EvaluationLostError as lost:
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
    number = len(simplex_lattice(len(options.objectives), options.points))
    goals = list(options.objectives)

    def unit_at(path):
        return parameter_at(system, path).unit

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
        entry = parameter_at(system, path)
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
