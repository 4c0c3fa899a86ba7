"""The study of designs: parameters moved by gradients until an objective is best."""

from collections.abc import Mapping
from typing import Literal

import pydantic
from pydantic import Field

from ...config.tables import Table
from ..base import AnalysisKind
from ..design_options import (
    COMBINED,
    SearchOptions,
    check_search,
)
from ..measures import MeasureOptions, check_measure

_METHODS = Literal[
    "adam", "slsqp", "trust_constr", "quasi_newton", "least_squares", "nelder_mead",
    "evolution",
]  # fmt: skip


class OneDesign(Table):
    """What one of several designs does otherwise than the analysis says."""

    objective: MeasureOptions | None = Field(
        default=None, description="what becomes best",
        json_schema_extra={"allowed": "a table with measure = ..."},
    )  # fmt: skip
    goal: Literal["minimise", "maximise"] | None = Field(
        default=None, description="what best means",
        json_schema_extra={"allowed": '"minimise", "maximise"'},
    )  # fmt: skip
    combine: COMBINED | None = Field(
        default=None, description="how several numbers become one",
        json_schema_extra={"allowed": "as analysis.combine"},
    )  # fmt: skip
    method: _METHODS | None = Field(
        default=None, description="the optimiser",
        json_schema_extra={"allowed": "as analysis.method"},
    )  # fmt: skip
    formula: Literal["h2", "h_infinity", "den_hartog"] | None = Field(
        default=None,
        description="a closed form of the attached body instead of a search",
        json_schema_extra={"allowed": '"h2", "h_infinity", "den_hartog"'},
    )


class DesignOptions(SearchOptions):
    """What moves, what is to become best, what must hold, and how it is sought."""

    kind: Literal["design"] = Field(description="the kind of analysis")
    objective: MeasureOptions | None = Field(
        default=None,
        description="what becomes best; a text is a field of the periodic motion",
        json_schema_extra={"allowed": "a table with measure = ..., or a field's name"},
    )
    component: int | None = Field(
        default=None, ge=0, le=1000, description="of an objective that is given as a text",
        json_schema_extra={"allowed": "whole numbers in [0, 1000]"},
    )  # fmt: skip
    periods: int | None = Field(
        default=None, ge=1, le=8, description="of an objective that is given as a text",
        json_schema_extra={"allowed": "whole numbers in [1, 8]"},
    )  # fmt: skip
    goal: Literal["minimise", "maximise"] = Field(
        default="minimise", description="what best means"
    )
    combine: COMBINED = Field(default="value", description="how several numbers become one")
    weight: float = Field(
        default=1.0, ge=0.0, description="of the deviation in mean_and_deviation"
    )
    method: _METHODS = Field(default="adam", description="the optimiser")
    steps: int = Field(default=20, ge=1, le=100_000, description="steps of the optimiser")
    starts: int = Field(
        default=1, ge=1, le=100_000, description="starts: the own values, then Sobol points"
    )
    tolerance: float = Field(
        default=1e-10, gt=0.0, lt=1.0, description="relative, on objective and variables"
    )
    designs: dict[str, OneDesign] = Field(
        default={}, max_length=100, description="several designs, by any name",
        json_schema_extra={"allowed": "tables of what each does otherwise"},
    )  # fmt: skip
    quantities: dict[str, list[str]] = Field(
        default={}, max_length=100,
        description="numbers stored of the best design: a parameter, or the ratio of two",
        json_schema_extra={"allowed": "name = [path] or [path, path]"},
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
                raise ValueError(f"{name} goes with an objective that is given as a text")
        for name, one in self.designs.items():
            if one.objective is None and self.objective is None:
                raise ValueError(f"designs.{name} has no objective")
        if not self.designs and self.objective is None:
            raise ValueError("objective is missing; allowed: here or in each of designs")
        for name, paths in self.quantities.items():
            if len(paths) not in (1, 2):
                raise ValueError(f"quantities.{name} has {len(paths)} paths; allowed: 1, 2")
        for name, one in self.each().items():
            method = one.method or self.method
            if self.constraints and method not in ("slsqp", "trust_constr"):
                raise ValueError(
                    f'{name or "analysis"}: method = "{method}" knows no constraints; '
                    'allowed: "slsqp", "trust_constr"'
                )
        return self

    def each(self) -> dict[str, OneDesign]:
        """Return what each design does otherwise, by name; one without a name alone."""
        return self.designs or {"": OneDesign()}


class DesignKind(AnalysisKind):
    """Designs of the system: one, or several by name; of one system, or of samples."""

    name = "design"
    options = DesignOptions
    sampled = None
    counted = "evaluations"
    whole = True
    remembers = True

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for paths that there are not, or bounds without the value."""
        measures = [one.objective or options.objective for one in options.each().values()]
        check_search(options, measures, values, declared)
        for paths in options.quantities.values():
            for path in paths:
                check_measure(MeasureOptions(measure="parameter", paths=[path]), declared)
        formulas = any(one.formula for one in options.each().values())
        if formulas and not {"attached.frequency", "main.frequency"} <= set(declared):
            raise ValueError("formula goes with the system two_body_impact only")

    def axes(self, options) -> dict[str, list[str]]:
        """Return the names of the designs, where there are several."""
        return {"design": list(options.designs)} if options.designs else {}

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 5e3
