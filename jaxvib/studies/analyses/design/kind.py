"""The analysis `design`: optimisation of parameters for an objective."""

from collections.abc import Mapping
from typing import Any, Literal

import pydantic

from ...config.tables import Table, option
from ..base import AnalysisKind
from ..design_options import (
    COMBINED,
    SearchOptions,
    check_search,
)
from ..measure_options import MeasureOptions, check_measure

_METHODS = Literal[
    "adam", "slsqp", "trust_constr", "quasi_newton", "least_squares", "nelder_mead",
    "evolution",
]  # fmt: skip


OBJECTIVE = "objective"  # name of its verification, among those of constraints
_POINTS = 200  # all stable: with 95 % confidence less than 1.5 % of the range is not


class OneDesign(Table):
    """Settings of one of several designs that differ from the analysis."""

    objective: MeasureOptions | None = option(
        "objective", None, allowed="a table with measure = ..."
    )
    goal: Literal["minimise", "maximise"] | None = option("goal", None)
    combine: COMBINED | None = option(
        "combination of several numbers into one", None, allowed="as analysis.combine"
    )
    method: _METHODS | None = option("the optimiser", None, allowed="as analysis.method")
    formula: Literal["h2", "h_infinity", "den_hartog"] | None = option(
        "closed-form tuning of the attached body, instead of a search", None
    )


class DesignOptions(SearchOptions):
    """Variables, objective, constraints and method of a design."""

    kind: Literal["design"] = option("the kind of analysis")
    objective: MeasureOptions | None = option(
        "objective; a text is a field of the periodic motion", None,
        allowed="a table with measure = ..., or a field's name",
    )  # fmt: skip
    component: int | None = option(
        "component, if the objective is a text", None, ge=0, le=1000
    )
    periods: int | None = option(
        "load periods in one of the motion, if the objective is a text", None, ge=1, le=8
    )
    goal: Literal["minimise", "maximise"] = option("goal", "minimise")
    combine: COMBINED = option("combination of several numbers into one", "value")
    weight: float = option("weight of the deviation in mean_and_deviation", 1.0, ge=0.0)
    method: _METHODS = option("the optimiser", "adam")
    steps: int = option("maximum steps of the optimiser", 20, ge=1, le=100_000)
    starts: int = option(
        "starts: the current values, then Sobol points", 1, ge=1, le=100_000
    )
    tolerance: float = option(
        "relative tolerance of objective and variables", 1e-10, gt=0.0, lt=1.0
    )
    verify: int | None = option(
        "random points at which a stable range, or the range that a constraint on a "
        "bifurcation promises, is verified by branches; default: 200 if a stable range is "
        "measured, else 0", None, ge=0, le=100_000,
    )  # fmt: skip
    designs: dict[str, OneDesign] = option(
        "several named designs", {}, max_length=100,
        allowed="tables of the keys that differ",
    )  # fmt: skip
    quantities: dict[str, list[str]] = option(
        "stored quantities of the best design: a parameter, or a ratio of two", {},
        max_length=100, allowed="name = [path] or [path, path]",
    )  # fmt: skip

    @pydantic.model_validator(mode="before")
    @classmethod
    def _text_is_a_field(cls, given):
        if not isinstance(given, dict) or not isinstance(given.get("objective"), str):
            return given
        rest = {key: value for key, value in given.items() if key != "objective"}
        own = {key: rest.pop(key) for key in ("component", "periods") if key in rest}
        table = {"measure": "periodic_orbit", "field": given["objective"], **own}
        return {**rest, "objective": table}

    @pydantic.model_validator(mode="after")
    def _complete(self):
        for name in ("component", "periods"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is allowed only if the objective is a text")
        for name, one in self.designs.items():
            if one.objective is None and self.objective is None:
                raise ValueError(f"designs.{name} has no objective")
        if not self.designs and self.objective is None:
            raise ValueError("objective is missing; allowed: here or in each of designs")
        if OBJECTIVE in self.constraints:
            raise ValueError(f"constraints.{OBJECTIVE}; allowed: another name")
        for name, paths in self.quantities.items():
            if len(paths) not in (1, 2):
                raise ValueError(f"quantities.{name} has {len(paths)} paths; allowed: 1, 2")
        for name, one in self.each().items():
            method = one.method or self.method
            if self.constraints and method not in ("slsqp", "trust_constr"):
                raise ValueError(
                    f'{name or "analysis"}: method = "{method}" supports no constraints; '
                    'allowed: "slsqp", "trust_constr"'
                )
        return self

    @property
    def points_to_verify(self) -> int:
        """The number of random points at which each range is verified."""
        if self.verify is not None:
            return self.verify
        measures = [*self.objectives(), *self.constraints.values()]
        return _POINTS * any(each.measure == "stable_range" for each in measures)

    def objectives(self) -> list[MeasureOptions]:
        """Return the objective of each design."""
        every = [one.objective or self.objective for one in self.each().values()]
        return [each for each in every if each is not None]

    def each(self) -> dict[str, OneDesign]:
        """Return the differing settings of each design by name; "" for a single one."""
        return self.designs or {"": OneDesign()}


class DesignKind(AnalysisKind[DesignOptions]):
    """Designs of the system: one, or several by name; of one system, or of samples."""

    name = "design"
    options = DesignOptions
    sampled = None
    counted = "evaluations"
    resumable = True

    def check(
        self, options: DesignOptions, values: Mapping, declared: Mapping, system: Any = None
    ) -> None:
        """Raise `ValueError` for unknown paths or bounds without the value."""
        check_search(options, options.objectives(), values, declared)
        for paths in options.quantities.values():
            for path in paths:
                check_measure(MeasureOptions(measure="parameter", paths=[path]), declared)
        formulas = any(one.formula for one in options.each().values())
        if formulas and not {"attached.frequency", "main.frequency"} <= set(declared):
            raise ValueError("formula is for the system two_body_impact only")

    def further_work(self, options: DesignOptions) -> str:
        """Return what verifies each best design."""
        points = options.points_to_verify
        return f"then a branch and {points} motions verify each stable range" * (points > 0)

    def axes(self, options: DesignOptions) -> dict[str, list[str]]:
        """Return the names of the designs, if there are several."""
        return {"design": list(options.designs)} if options.designs else {}

    def sample_bytes(self, options: DesignOptions) -> float:
        """Return the stored bytes per sample."""
        return 5e3
