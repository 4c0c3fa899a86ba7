"""Common parts of design searches: options, bounds, settings, constraints."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic

from ... import design
from ..config.bounds import BoundsByPath, by_path, check_variables
from ..config.tables import Table, option
from ..store.fields import Variable
from .measure_options import MeasureOptions, build_measure, check_measure, measured_in

COMBINED = Literal[
    "value", "sum", "mean", "largest", "smallest", "squares", "variance",
    "mean_and_deviation",
]  # fmt: skip


class LimitOptions(MeasureOptions):
    """A constraint: a measure and bounds for all its values."""

    units_of: ClassVar = {
        **MeasureOptions.units_of, "at_least": measured_in, "at_most": measured_in
    }  # fmt: skip

    at_least: float | None = option("lower bound", None, allowed="a number")
    at_most: float | None = option("upper bound", None, allowed="a number")

    @pydantic.model_validator(mode="after")
    def _has_a_bound(self):
        if self.at_least is None and self.at_most is None:
            raise ValueError("has no bound; allowed: at_least, at_most or both")
        return self


class SearchOptions(Table):
    """Variables and constraints of a search."""

    units_of: ClassVar = {"variables": by_path}

    kind: str = option("the kind of analysis")
    variables: BoundsByPath = option(
        "design variables: path of each parameter, and its bounds", min_length=1,
        max_length=100, allowed="path = [lowest, highest] for one path or more",
    )  # fmt: skip
    log: list[str] = option(
        "variables on a log scale", [], max_length=100,
        allowed="a list of paths in variables",
    )  # fmt: skip
    constraints: dict[str, LimitOptions] = option(
        "named constraints", {}, max_length=100,
        allowed="tables with measure, at_least and at_most",
    )  # fmt: skip

    @pydantic.model_validator(mode="after")
    def _scales_what_moves(self):
        for path in self.log:
            if path not in self.variables:
                raise ValueError(f"log: {path} is not among the variables")
        return self


def check_search(
    options: SearchOptions,
    measures: Iterable,
    values: Mapping,
    declared: Mapping,
) -> None:
    """Raise `ValueError` for unknown paths or bounds without the value."""
    check_variables(options.variables, options.log, values, declared)
    for measure in (*measures, *options.constraints.values()):
        check_measure(measure, declared)


def scaled(options: Any) -> dict[str, tuple[float, float, str]]:
    """Return the bounds of all `variables` by path, with the scale of each."""
    return {
        path: (low, high, "log" if path in options.log else "linear")
        for path, (low, high) in options.variables.items()
    }


def settings_of(options: Any, run: Any) -> Any:
    """Return the settings of a search."""
    return design.SearchSettings(options.starts, options.steps, options.tolerance, run.seed)


def limits(options: SearchOptions, run: Any, system: Any) -> dict:
    """Return the constraints by name."""
    return {
        name: design.Limit(
            build_measure(limit, run, system, options.variables),
            -np.inf if limit.at_least is None else limit.at_least,
            np.inf if limit.at_most is None else limit.at_most,
        )
        for name, limit in options.constraints.items()
    }


def without(fields: dict[str, Variable], axis: str) -> dict[str, Variable]:
    """Return fields without an axis of length one."""
    found = {}
    for name, field in fields.items():
        if axis in field.axes:
            place = field.axes.index(axis)
            axes = (*field.axes[:place], *field.axes[place + 1 :])
            values = np.asarray(np.take(field.values, 0, axis=place))
            field = Variable(axes, values, field.unit, field.description)
        found[name] = field
    return found
