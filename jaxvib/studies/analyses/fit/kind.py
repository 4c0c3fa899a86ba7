"""The study of a fit: parameters from a measured response, with confidence intervals."""

from collections.abc import Mapping
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from ...config.bounds import BoundsByPath, check_variables
from ...config.tables import Table
from ..base import AnalysisKind
from ..measures import MeasureOptions, check_measure


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
    variables: BoundsByPath = Field(
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


class FitKind(AnalysisKind):
    """Least squares of parameters, their standard errors and 95 % intervals."""

    name = "fit"
    options = FitOptions
    sampled = False
    counted = "evaluations"
    remembers = True

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for paths that there are not, or bounds without the value."""
        check_variables(options.variables, options.log, values, declared)
        check_measure(options.measure, declared)

    def axes(self, options) -> dict[str, list[str]]:
        """Return the names of the parameters."""
        return {"parameter": list(options.variables), "other": list(options.variables)}

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 5e3
