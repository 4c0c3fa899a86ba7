"""Computes fitted parameters with their errors, and their summary."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import numpy as np

from ....design import fit
from ....ensemble.evaluation_store import EvaluationStore
from ....systems.parameters import parameter_at
from ...store.fields import Variable
from ..design_problem import scaled, settings_of
from ..measure_options import build_measure, unit_of
from .kind import FitOptions


def compute(
    system: eqx.Module,
    samples: Mapping[str, np.ndarray],
    options: FitOptions,
    run: Any,
    progress: Callable[[int], None],
    remember: EvaluationStore | None = None,
) -> dict[str, Variable]:
    """Return parameters, errors, intervals, data and fitted values."""
    bounds = scaled(options)
    deviations = options.deviations
    if deviations is not None and len(deviations) == 1:
        deviations = deviations[0]
    measure = build_measure(options.measure, run)
    found = fit(
        measure, system, bounds, options.data, deviations,
        settings=settings_of(options, run), remember=remember,
    )  # fmt: skip
    progress(1)
    unit = unit_of(options.measure, lambda path: parameter_at(system, path).unit)
    fields = {}
    for path in bounds:
        entry = parameter_at(system, path)
        words = entry.description
        values = {
            f"fitted.{path}": ((), found.values[path], words),
            f"error.{path}": ((), found.standard_errors[path], "standard error"),
            f"interval.{path}": (("bound",), found.intervals[path], "95 % interval"),
        }
        for name, (axes, value, described) in values.items():
            fields[name] = Variable(axes, np.asarray(value), entry.unit, described)
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
