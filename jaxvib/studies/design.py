"""The study of one design: parameters tuned by gradients of a periodic orbit."""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import numpy as np
import pydantic
from pydantic import Field

from .continuation import Bounds, check_bounds
from .cost import Cost
from .fields import Variable
from .tables import Table, flattened


def _flat(value):
    return flattened(value) if isinstance(value, dict) else value


class DesignOptions(Table):
    """What is tuned, and what is to become small."""

    kind: Literal["design"] = Field(description="the kind of analysis")
    objective: Literal["amplitude", "largest_multiplier", "max_contact_force"] = Field(
        description="the field of the orbit that becomes small"
    )
    component: int = Field(
        default=0, ge=0, le=1000, description="which component of the field"
    )
    variables: Annotated[dict[str, Bounds], pydantic.BeforeValidator(_flat)] = Field(
        min_length=1,
        max_length=100,
        description="path of each parameter that is tuned, and its bounds",
        json_schema_extra={"allowed": "path = [lowest, highest] for one path or more"},
    )
    steps: int = Field(default=20, ge=1, le=10_000, description="steps of the optimiser")
    periods: int = Field(
        default=1, ge=1, le=8, description="load periods in one of the motion"
    )


class DesignKind:
    """The course of a gradient-based design of the system."""

    name = "design"
    sampled = False
    groups: Mapping[str, tuple[str, ...]] = {}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return DesignOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for bounds that do not enclose the parameters' values."""
        for path, bounds in options.variables.items():
            check_bounds(path, bounds, values, declared)

    def coordinates(self, options) -> list[str]:
        """Return the parameters that are tuned."""
        return list(options.variables)

    def compute(self, system, samples, options, run, progress) -> dict[str, Variable]:
        """Return variables, objective and gradients along the axis `step`."""
        from ..design import ResultObjective, tune
        from ..systems import parameters

        objective = ResultObjective(options.objective, options.component)
        tuning = tune(
            objective,
            system,
            {path: tuple(bounds) for path, bounds in options.variables.items()},
            steps=options.steps,
            periods=options.periods,
        )
        progress(1)
        lost = options.steps + 1 - len(tuning.objective)
        codes = np.zeros(options.steps + 1, np.int32)
        codes[len(tuning.objective) :] = tuning.result
        declared = parameters(system)

        def along_steps(values, unit, description):
            padded = np.pad(np.asarray(values), (0, lost), constant_values=np.nan)
            return Variable(("step",), padded, unit, description)

        fields = {"objective": along_steps(tuning.objective, objective.unit, "objective")}
        for path, values in tuning.variables.items():
            unit, slope = declared[path].unit, tuning.gradients[path]
            fields[path] = along_steps(values, unit, declared[path].description)
            per = f"{objective.unit or '1'}/({unit or '1'})"
            fields[f"gradient.{path}"] = along_steps(slope, per, f"d objective / d {path}")
        return {**fields, "result": Variable(("step",), codes, "", "reason code")}

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/first_design.toml`."""
        return Cost(6.0, 48.0, 0.25 * options.steps, 3.0, 5e3, ("evaluate",))

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return nothing: there are no groups."""
        return {}

    def summary(self, read: Callable, study) -> list[str]:
        """Return the objective and the variables before and after."""
        objective = read("objective")
        best = int(np.nanargmin(objective))
        name = f"{study.analysis.objective}[{study.analysis.component}]"
        lines = [
            f"steps      {len(objective) - 1}, the best of them {best}",
            f"objective  {name} {objective[0]:.6g} -> {objective[best]:.6g}",
        ]
        for path in study.analysis.variables:
            values = read(path)
            lines.append(f"           {path} {values[0]:.6g} -> {values[best]:.6g}")
        return lines[:6]
