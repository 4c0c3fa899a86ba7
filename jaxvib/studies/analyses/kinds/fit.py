"""The study `fit`: parameters from measured data, with confidence intervals."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pydantic
from pydantic import Field

from .... import design, systems
from ....drawing.labels import with_unit
from ...config.bounds import BoundsByPath, by_path, check_variables
from ...config.quantities import Asked, Places
from ...config.tables import Table, option
from ...pictures.picture import Axis, Chart, Line, Picture
from ...pictures.swept_lines import named
from ...store.fields import Variable
from ...store.finished_study import Run
from ..measure_options import (
    MeasureOptions,
    build_measure,
    check_measure,
    measured_in,
    scaled,
    settings_of,
    unit_of,
)
from ..study_kind import Known, StudyKind, once


def _of_measure(given: Mapping, places: Places) -> Asked | None:
    measure = given.get("measure")
    return measured_in(measure, places) if isinstance(measure, Mapping) else None


class Options(Table):
    """Data, their measure, and the fitted parameters."""

    units_of: ClassVar = {
        "variables": by_path,
        "data": _of_measure,
        "deviations": _of_measure,
    }

    kind: Literal["fit"] = option("the kind of analysis")
    measure: MeasureOptions = option(
        "the measured quantity", allowed="a table with measure = ..."
    )
    data: Annotated[list[float], Field(min_length=2, max_length=100_000)] = option(
        "the data, in the unit and order of the measure",
        allowed="2 to 100000 numbers",
    )
    deviations: list[float] | None = option(
        "standard deviations of the data, if known", None,
        allowed="as many numbers above 0 as data, or one",
    )  # fmt: skip
    variables: BoundsByPath = option(
        "fitted parameters: path of each, and its bounds", min_length=1,
        max_length=100, allowed="path = [lowest, highest] for one path or more",
    )  # fmt: skip
    log: list[str] = option(
        "variables on a log scale", [], max_length=100,
        allowed="a list of paths in variables",
    )  # fmt: skip
    starts: int = option("starts: current values, Sobol points", 1, ge=1, le=1000)
    steps: int = option("maximum number of evaluations", 200, ge=1, le=100_000)
    tolerance: float = option(
        "relative tolerance of data and parameters", 1e-12, gt=0.0, lt=1.0
    )

    @pydantic.model_validator(mode="after")
    def _check_sizes(self):
        if self.deviations is not None:
            if len(self.deviations) not in (1, len(self.data)):
                raise ValueError(
                    f"{len(self.deviations)} deviations for {len(self.data)} data; "
                    "allowed: as many, or one"
                )
            if min(self.deviations) <= 0:
                raise ValueError(f"deviations: {min(self.deviations):g} is not above 0")
        if len(self.data) <= len(self.variables):
            raise ValueError(
                f"{len(self.data)} data for {len(self.variables)} parameters; allowed: "
                "more data"
            )
        for path in self.log:
            if path not in self.variables:
                raise ValueError(f"log: {path} is not among the variables")
        return self


def compute(system, options: Options, run, remember=None) -> dict[str, Variable]:
    """Return parameters, errors, intervals, data and fitted values."""
    deviations = options.deviations
    if deviations is not None and len(deviations) == 1:
        deviations = deviations[0]
    found = design.fit(
        build_measure(options.measure, run), system, scaled(options),
        options.data, deviations, settings=settings_of(options, run),
        remember=remember,
    )  # fmt: skip
    unit = unit_of(options.measure, lambda path: systems.parameter_at(system, path).unit)
    fields = {}
    for path, value in found.values.items():
        known = systems.parameter_at(system, path)
        for name, axes, values, words in (
            ("fitted", (), value, known.description),
            ("error", (), found.standard_errors[path], "standard error"),
            ("interval", ("bound",), found.intervals[path], "95 % interval"),
        ):
            fields[f"{name}.{path}"] = Variable(axes, np.asarray(values), known.unit, words)
    arrays = {
        "correlation": (("parameter", "other"), found.correlation, ""),
        "predicted": (("datum",), found.predicted, unit),
        "measured": (("datum",), found.data, unit),
        "deviation": ((), found.deviation, unit),
        "evaluations": ((), found.design.evaluations, ""),
        "result": ((), found.result, ""),
    }
    places = options.measure.frequencies
    if places is not None and len(places.listed()) == len(options.data):
        arrays["frequencies"] = (("datum",), np.array(places.listed()), "rad/s")
    for name, (axes, value, its_unit) in arrays.items():
        fields[name] = Variable(axes, np.asarray(value), its_unit, name)
    return fields


def summary(read: Callable, study: Any) -> list[str]:
    """Return each parameter with its interval, and the deviation of the data."""
    lines = []
    for path in list(study.analysis.variables)[:5]:
        fitted, bounds = float(read(f"fitted.{path}")), read(f"interval.{path}")
        lines.append(
            f"fitted     {study.value_text(path, fitted)} "
            f"(95 %: {study.quantity_text(study.unit(path), *bounds)})"
        )
    unit = unit_of(study.analysis.measure, study.unit)
    deviation = study.quantity_text(unit, float(read("deviation")), digits=3)
    lines.append(f"deviation  {deviation} over {len(read('measured'))} measured values")
    return lines


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return data and fit over frequency (or index), and the residuals."""
    curves, left = [], []
    for number, run in enumerate(runs):
        measured, predicted = run.field("measured"), run.field("predicted")
        known = run.has("frequencies")
        x = run.field("frequencies") if known else np.arange(len(measured), dtype=float)
        order = np.argsort(x, kind="stable")
        curves += [
            Line(
                x[order],
                measured[order],
                named("measured", run, runs),
                2 * number,
                "dot",
                marks=True,
            ),
            Line(x[order], predicted[order], named("fitted", run, runs), 2 * number + 1),
        ]
        left.append(
            Line(x[order], (measured - predicted)[order],
                 named("measured - fitted", run, runs), 2 * number, "dot", marks=True)
        )  # fmt: skip
    run = runs[0]
    unit = run.unit("measured")
    axis = Axis("frequency (rad/s)" if run.has("frequencies") else "index")
    return [
        Picture(
            "fit",
            "Measured and fitted",
            _words(run),
            "Measured and fitted values, and the residuals.",
            (Chart(axis, Axis(with_unit("measured", unit)), tuple(curves)),
             Chart(axis, Axis(with_unit("residual", unit)), tuple(left))),
        )
    ]  # fmt: skip


def _words(run: Run) -> str:
    """Return every parameter with its interval."""
    parts = []
    for name in filter(lambda name: name.startswith("fitted."), map(str, run.results)):
        path = name.removeprefix("fitted.")
        shown = functools.partial(run.quantity_text, run.unit(name))
        bounds = shown(*run.field(f"interval.{path}"))
        parts.append(f"{path} {shown(float(run.field(name)))} (95 %: {bounds})")
    deviation = float(run.field("deviation"))
    spread = run.quantity_text(run.unit("measured"), deviation, digits=3)
    return f"{'; '.join(parts)}. The standard deviation of the residuals is {spread}."


def _fits(options: Options, known: Known) -> None:
    check_variables(options.variables, options.log, known.values, known.declared)
    check_measure(options.measure, known.declared)


KIND = StudyKind(
    "fit", Options, once(compute), summary, pictures,
    sampled=False,
    resumable=True,
    counted="evaluations",
    checks=(_fits,),
    axes=lambda options: {name: [*options.variables] for name in ("parameter", "other")},
    sample_bytes=lambda options: 5e3,
)  # fmt: skip
