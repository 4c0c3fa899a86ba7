"""The study of a fit: parameters from a measured response, with confidence intervals."""

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


class FitOptions(Table):
    """What was measured, what it is a measure of, and which parameters are sought."""

    kind: Literal["fit"] = Field(description="the kind of analysis")
    measure: MeasureOptions = Field(
        description="what was measured",
        json_schema_extra={"allowed": "a table with measure = ..."},
    )
    data: Annotated[list[float], Field(min_length=2, max_length=100_000)] = Field(
        description="the measured numbers, in the unit and order of the measure",
        json_schema_extra={"allowed": "2 to 100000 numbers"},
    )
    deviations: list[float] | None = Field(
        default=None,
        description="standard deviations of the data, where they are known",
        json_schema_extra={"allowed": "as many numbers above 0 as data, or one"},
    )
    variables: Annotated[dict[str, Bounds], pydantic.BeforeValidator(flat)] = Field(
        min_length=1, max_length=100,
        description="path of each parameter that is sought, and its bounds",
        json_schema_extra={"allowed": "path = [lowest, highest] for one path or more"},
    )  # fmt: skip
    log: list[str] = Field(
        default=[], max_length=100, description="paths that are moved on a log scale",
        json_schema_extra={"allowed": "a list of paths in variables"},
    )  # fmt: skip
    starts: int = Field(
        default=1, ge=1, le=1000, description="starts: the own values, then Sobol points"
    )
    steps: int = Field(default=200, ge=1, le=100_000, description="evaluations at most")
    tolerance: float = Field(
        default=1e-12, gt=0.0, lt=1.0, description="relative, on data and parameters"
    )

    @pydantic.model_validator(mode="after")
    def _goes_together(self):
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


class FitKind:
    """Least squares of parameters, their standard errors and 95 % intervals."""

    name = "fit"
    sampled = False
    remembers = True
    groups: Mapping[str, tuple[str, ...]] = {}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return FitOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for paths that there are not, or bounds without the value."""
        for path, bounds in options.variables.items():
            check_bounds(path, bounds, values, declared)
            if path in options.log and bounds[0] <= 0:
                raise ValueError(f"log: bounds of {path} are not above 0")
        check_measure(options.measure, declared)

    def coordinates(self, options) -> list[str]:
        """Return no coordinates."""
        return []

    def axes(self, options) -> dict[str, list[str]]:
        """Return the names of the parameters."""
        return {"parameter": list(options.variables), "other": list(options.variables)}

    def compute(
        self, system, samples, options, run, progress, remember=None
    ) -> dict[str, Variable]:
        """Return parameters, errors, intervals, and data beside what was fitted."""
        from ....design import entry_at, fit

        bounds = {
            path: (low, high, "log" if path in options.log else "linear")
            for path, (low, high) in options.variables.items()
        }
        deviations = options.deviations
        if deviations is not None and len(deviations) == 1:
            deviations = deviations[0]
        measure = build_measure(options.measure, run)
        found = fit(
            measure, system, bounds, options.data, deviations, starts=options.starts,
            steps=options.steps, tolerance=options.tolerance, seed=run.seed,
            remember=remember,
        )  # fmt: skip
        progress(1)
        unit = unit_of(options.measure)
        fields = {}
        for path in bounds:
            entry = entry_at(system, path)
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

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/fit_response.toml`."""
        return Cost(5.0, 6.0, 0.01 * options.starts * 20, 3.0, 5e3, ("looked",))

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return nothing: there are no groups."""
        return {}

    def summary(self, read: Callable, study) -> list[str]:
        """Return each parameter with its interval, and the deviation of the data."""
        lines = []
        for path in list(study.analysis.variables)[:5]:
            low, high = read(f"interval.{path}")
            lines.append(
                f"fitted     {path} {float(read(f'fitted.{path}')):.6g} (95 %: {low:.6g} "
                f"to {high:.6g})"
            )
        deviation = float(read("deviation"))
        lines.append(f"deviation  {deviation:.4g} of {len(read('measured'))} data")
        return lines
