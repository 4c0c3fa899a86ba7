"""The study of sensitivities: which parameters matter to what is measured."""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import numpy as np
import pydantic
from pydantic import Field

from ...config.tables import Table
from ...store.fields import Variable
from ..continuation.kind import Bounds, check_bounds
from ..cost import Cost
from ..measures import MeasureOptions, build_measure, check_measure, flat, unit_of


class SensitivityOptions(Table):
    """What is measured, of which parameters, and how many samples are taken."""

    kind: Literal["sensitivity"] = Field(description="the kind of analysis")
    measures: dict[str, MeasureOptions] = Field(
        min_length=1, max_length=100, description="what is measured, by any name",
        json_schema_extra={"allowed": "tables with measure = ..."},
    )  # fmt: skip
    variables: Annotated[dict[str, Bounds], pydantic.BeforeValidator(flat)] = Field(
        min_length=1, max_length=100,
        description="path of each parameter, and the range in which it is uncertain",
        json_schema_extra={"allowed": "path = [lowest, highest] for one path or more"},
    )  # fmt: skip
    samples: int = Field(
        default=0, ge=0, le=1 << 20,
        description="of Sobol's indices, a power of 2; 0 for derivatives alone",
    )  # fmt: skip

    @pydantic.model_validator(mode="after")
    def _power_of_two(self):
        if self.samples & (self.samples - 1):
            raise ValueError(f"samples = {self.samples} is not a power of 2")
        return self


class SensitivityKind:
    """Normalised derivatives at the system's values, and Sobol's indices over ranges."""

    name = "sensitivity"
    sampled = False
    groups: Mapping[str, tuple[str, ...]] = {}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return SensitivityOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for paths that there are not, or bounds without the value."""
        for path, bounds in options.variables.items():
            check_bounds(path, bounds, values, declared)
        for measure in options.measures.values():
            check_measure(measure, declared)

    def coordinates(self, options) -> list[str]:
        """Return no coordinates."""
        return []

    def axes(self, options) -> dict[str, list[str]]:
        """Return the names of the parameters."""
        return {"parameter": list(options.variables)}

    def compute(self, system, samples, options, run, progress) -> dict[str, Variable]:
        """Return the sensitivities of each measure, along its numbers and parameters."""
        from ....design import local_sensitivity, sobol_indices

        bounds = {path: (low, high) for path, (low, high) in options.variables.items()}
        fields: dict[str, Variable] = {}
        codes = []
        for name, one in options.measures.items():
            measure = build_measure(one, run, system, bounds)
            local = local_sensitivity(measure, system, bounds)
            number = f"{name}_number"
            unit = unit_of(one)
            fields[f"{name}.value"] = Variable((number,), np.asarray(local.values), unit,
                                               "value")  # fmt: skip
            each = {
                "derivative": (local.derivatives, "derivative by each parameter"),
                "normalised": (local.normalised, "relative change per relative change"),
            }
            fields[f"{name}.notice"] = Variable(
                (), np.asarray(local.notice), "", "what derivatives mean here"
            )
            codes.append(int(local.result))
            if options.samples:
                found = sobol_indices(
                    measure, system, bounds, samples=options.samples, seed=run.seed
                )
                each |= {
                    "first_order": (found.first_order, "share of the variance, alone"),
                    "total_order": (found.total_order, "share of it, with all others"),
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
                    (number,), deviation, unit, "deviation over the ranges"
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

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/damper_sensitivity.toml`."""
        number = options.samples * (len(options.variables) + 2)
        return Cost(6.0, 10.0 * len(options.measures), 2e-4 * number, 3.0, 5e3, ("looked",))

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return nothing: there are no groups."""
        return {}

    def summary(self, read: Callable, study) -> list[str]:
        """Return what matters most to the first number of each measure."""
        options = study.analysis
        paths = np.array(list(options.variables))
        lines = []
        for name in list(options.measures)[:6]:
            kind = "total_order" if options.samples else "normalised"
            row = read(f"{name}.{kind}")[0]
            order = np.argsort(-np.abs(np.where(np.isnan(row), 0.0, row)))[:3]
            listed = ", ".join(f"{paths[i]} {row[i]:.3g}" for i in order)
            word = "share of variance" if options.samples else "per cent per per cent"
            lines.append(f"{name}: {listed} ({word})")
        return lines
