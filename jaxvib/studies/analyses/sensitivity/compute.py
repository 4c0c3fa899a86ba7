"""Computes derivatives and Sobol indices of measures, and their summary."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import numpy as np

from ....design import local_sensitivity, sobol_indices
from ....systems.parameters import parameter_at
from ...store.fields import Variable
from ..measure_options import build_measure, unit_of
from .kind import SensitivityOptions


def compute(
    system: eqx.Module,
    samples: Mapping[str, np.ndarray],
    options: SensitivityOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the sensitivities of each measure, along its numbers and parameters."""
    bounds = {path: (low, high) for path, (low, high) in options.variables.items()}
    fields: dict[str, Variable] = {}
    codes = []
    for name, one in options.measures.items():
        measure = build_measure(one, run, system, bounds)
        local = local_sensitivity(measure, system, bounds)
        number = f"{name}_number"
        unit = unit_of(one, lambda path: parameter_at(system, path).unit)
        fields[f"{name}.value"] = Variable((number,), np.asarray(local.values), unit,
                                           "value")  # fmt: skip
        each = {
            "derivative": (local.derivatives, "derivative by each parameter"),
            "normalised": (local.normalised, "relative change per relative change"),
        }
        fields[f"{name}.notice"] = Variable(
            (), np.asarray(local.notice), "", "validity of the derivatives"
        )
        codes.append(int(local.result))
        if options.samples:
            found = sobol_indices(
                measure, system, bounds, samples=options.samples, seed=run.seed
            )
            each |= {
                "first_order": (
                    found.first_order,
                    "share of the variance by this parameter alone",
                ),
                "total_order": (
                    found.total_order,
                    "share of the variance including interactions",
                ),
            }
            for order in ("first_order", "total_order"):
                fields[f"{name}.{order}_bounds"] = Variable(
                    (number, "parameter", "bound"),
                    np.asarray(getattr(found, f"{order}_bounds")), "", "95 % interval",
                )  # fmt: skip
            fields[f"{name}.mean"] = Variable((number,), np.asarray(found.mean), unit,
                                              "mean over the ranges")  # fmt: skip
            deviation = np.sqrt(np.asarray(found.variance))
            fields[f"{name}.deviation"] = Variable(
                (number,), deviation, unit, "standard deviation over the ranges"
            )
            codes.append(int(found.result))
        for key, (values, words) in each.items():
            fields[f"{name}.{key}"] = Variable(
                (number, "parameter"), np.asarray(values), "", words
            )
    progress(1)
    code = np.asarray(max(codes), np.int32)
    each_measure = 1 + options.samples * (len(bounds) + 2)
    fields["evaluations"] = Variable(
        (), np.asarray(each_measure * len(options.measures)), "", "evaluations in all"
    )
    return {**fields, "result": Variable((), code, "", "reason code")}


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
