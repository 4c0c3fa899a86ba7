"""The study `sensitivity`: influence of parameters on measures."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic

from .... import design, systems
from ...config.bounds import BoundsByPath, by_path, check_bounds
from ...config.tables import Table, option
from ...pictures.picture import Axis, Chart, Line, Picture
from ...store.fields import Variable, variables
from ...store.finished_study import Run
from ..measure_options import MeasureOptions, build_measure, check_measure, unit_of
from ..study_kind import Known, StudyKind, once

# Stored names that differ from those of the result.
_STORED = {"values": "value", "derivatives": "derivative"}


class Options(Table):
    """Measures, parameters and number of samples."""

    units_of: ClassVar = {"variables": by_path}

    kind: Literal["sensitivity"] = option("the kind of analysis")
    measures: dict[str, MeasureOptions] = option(
        "named measures", min_length=1, max_length=100,
        allowed="tables with measure = ...",
    )  # fmt: skip
    variables: BoundsByPath = option(
        "path of each parameter, and its range of uncertainty", min_length=1,
        max_length=100, allowed="path = [lowest, highest] for one path or more",
    )  # fmt: skip
    samples: int = option(
        "samples for Sobol indices, a power of 2; 0 for derivatives only",
        0,
        ge=0,
        le=1 << 20,
    )

    @pydantic.model_validator(mode="after")
    def _power_of_two(self):
        if self.samples & (self.samples - 1):
            raise ValueError(f"samples = {self.samples} is not a power of 2")
        return self


def compute(system, options: Options, run) -> dict[str, Variable]:
    """Return the sensitivities of each measure, along its numbers and parameters."""
    bounds = {path: (low, high) for path, (low, high) in options.variables.items()}
    fields: dict[str, Variable] = {}
    codes = []
    for name, one in options.measures.items():
        measure = build_measure(one, run, system, bounds)
        found = variables(design.local_sensitivity(measure, system, bounds))
        codes.append(found.pop("result").values)
        if options.samples:
            found |= variables(
                design.sobol_indices(
                    measure, system, bounds, samples=options.samples, seed=run.seed
                )
            )
            codes.append(found.pop("result").values)
            deviation = np.sqrt(found.pop("variance").values)
            words = "standard deviation over the ranges"
            found["deviation"] = Variable(("number",), deviation, "", words)
            del found["lost"]
        unit = unit_of(one, lambda path: systems.parameter_at(system, path).unit)
        for key, each in found.items():
            axes = tuple(f"{name}_number" if a == "number" else a for a in each.axes)
            own = unit if key in ("values", "mean", "deviation") else each.unit
            fields[f"{name}.{_STORED.get(key, key)}"] = replace(each, axes=axes, unit=own)
    count = (1 + options.samples * (len(bounds) + 2)) * len(options.measures)
    return fields | {
        "evaluations": Variable((), np.asarray(count), "", "evaluations in all"),
        "result": Variable((), np.asarray(max(codes), np.int32), "", "reason code"),
    }


def summary(read: Callable, study: Any) -> list[str]:
    """Return the most important parameters for the first number of each measure."""
    options = study.analysis
    paths = np.array(list(options.variables))
    lines = []
    for name in list(options.measures)[:6]:
        kind = "total_order" if options.samples else "normalised"
        row = read(f"{name}.{kind}")[0]
        order = np.argsort(-np.abs(np.where(np.isnan(row), 0.0, row)))[:3]
        listed = ", ".join(f"{paths[i]} {row[i]:.3g}" for i in order)
        word = "share of variance" if options.samples else "% per %"
        lines.append(f"{name}: {listed} ({word})")
    return lines


_MOST_NUMBERS = 6  # of one measure with separate marks


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return a picture for each measure."""
    return [_of_measure(runs, name) for name in measures(runs[0])]


def measures(run: Run) -> list[str]:
    """Return the names of the measures."""
    names = [str(name) for name in run.results]
    return [n.removesuffix(".normalised") for n in names if n.endswith(".normalised")]


def _of_measure(runs: Sequence[Run], name: str) -> Picture:
    run = runs[0]
    shown = functools.partial(run.quantity_text, run.unit(f"{name}.value"))
    parameters = run.names("parameter", run.field(f"{name}.normalised").shape[1])
    charts = [
        _chart(runs, name, parameters, {"normalised": ""}, "% per %",
               "derivative at the system's values")
    ]  # fmt: skip
    words = "Change in % for a change of 1 % in each parameter, by exact derivatives."
    if run.has(f"{name}.first_order"):
        orders = {"first_order": "alone", "total_order": "with interactions"}
        charts.append(
            _chart(runs, name, parameters, orders, "share of variance",
                   "Sobol indices over the ranges")
        )  # fmt: skip
        mean, deviation = (
            float(run.field(f"{name}.{key}")[0]) for key in ("mean", "deviation")
        )
        words += (
            " Shares of the variance with every parameter uniform on its range: mean "
            f"{shown(mean)}, deviation {shown(deviation, digits=3)}; thin lines "
            "are 95 % confidence intervals."
        )
    value = float(run.field(f"{name}.value")[0])
    return Picture(
        f"sensitivity_{''.join(c if c.isalnum() else '_' for c in name)}",
        f"Sensitivities of {name}",
        f"{name} is {shown(value)}. {words}",
        f"Sensitivities of {name} to {', '.join(parameters)}.",
        tuple(charts),
    )


def _chart(runs, name: str, parameters, kinds: dict, label: str, title: str) -> Chart:
    places = np.arange(len(parameters), dtype=float)
    ticks = tuple(path.replace(".", ".\n", 1) for path in parameters)
    layers: list = []
    colour = 0
    for run in runs:
        for kind, word in kinds.items():
            values = run.field(f"{name}.{kind}")
            for number, row in enumerate(values[:_MOST_NUMBERS]):
                parts = [word, f"number {number}" if len(values) > 1 else "",
                         run.name if len(runs) > 1 else ""]  # fmt: skip
                title_of = ", ".join(part for part in parts if part) or kind
                layers.append(Line(places, row, title_of, colour, "dot", marks=True))
                bounds = f"{name}.{kind}_bounds"
                if run.has(bounds):
                    layers.append(_whiskers(places, run.field(bounds)[number], colour))
                colour += 1
    return Chart(Axis("parameter", ticks=ticks), Axis(label), tuple(layers), title)


def _whiskers(places, bounds, colour: int) -> Line:
    """Return intervals as vertical lines separated by gaps."""
    x = np.repeat(places, 3)
    y = np.column_stack([bounds, np.full(len(places), np.nan)]).ravel()
    return Line(x, y, "95 %", colour, legend=False)


def _fits(options: Options, known: Known) -> None:
    for path, bounds in options.variables.items():
        check_bounds(path, bounds, known.values, known.declared)
    for measure in options.measures.values():
        check_measure(measure, known.declared)


KIND = StudyKind(
    "sensitivity", Options, once(compute), summary, pictures,
    sampled=False,
    counted="evaluations",
    checks=(_fits,),
    axes=lambda options: {"parameter": list(options.variables)},
    sample_bytes=lambda options: 5e3,
)  # fmt: skip
