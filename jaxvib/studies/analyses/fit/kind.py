"""The analysis `fit`: parameters from measured data, with confidence intervals."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import Field

from ...config.bounds import BoundsByPath, by_path, check_variables
from ...config.quantities import Asked, Places
from ...config.tables import Table, option
from ..base import AnalysisKind
from ..measure_options import MeasureOptions, check_measure, measured_in


def _of_measure(given: Mapping, places: Places) -> Asked | None:
    measure = given.get("measure")
    return measured_in(measure, places) if isinstance(measure, Mapping) else None


class FitOptions(Table):
    """Data, their measure, and the fitted parameters."""

    units_of: ClassVar = {
        "variables": by_path,
        "data": _of_measure,
        "deviations": _of_measure,
    }

    kind: Literal["fit"] = option("the kind of analysis")
    measure: MeasureOptions = option(
        "the measured quantity", allowed="a table with measure = ..."
    )
    data: Annotated[list[float], Field(min_length=2, max_length=100_000)] = option(
        "the data, in the unit and order of the measure",
        allowed="2 to 100000 numbers",
    )
    deviations: list[float] | None = option(
        "standard deviations of the data, if known", None,
        allowed="as many numbers above 0 as data, or one",
    )  # fmt: skip
    variables: BoundsByPath = option(
        "fitted parameters: path of each, and its bounds", min_length=1,
        max_length=100, allowed="path = [lowest, highest] for one path or more",
    )  # fmt: skip
    log: list[str] = option(
        "variables on a log scale", [], max_length=100,
        allowed="a list of paths in variables",
    )  # fmt: skip
    starts: int = option("starts: current values, Sobol points", 1, ge=1, le=1000)
    steps: int = option("maximum number of evaluations", 200, ge=1, le=100_000)
    tolerance: float = option(
        "relative tolerance of data and parameters", 1e-12, gt=0.0, lt=1.0
    )

    @pydantic.model_validator(mode="after")
    def _check_sizes(self):
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


class FitKind(AnalysisKind[FitOptions]):
    """Least-squares fit of parameters, with standard errors and 95 % intervals."""

    name = "fit"
    options = FitOptions
    sampled = False
    counted = "evaluations"
    resumable = True

    def check(
        self, options: FitOptions, values: Mapping, declared: Mapping, system: Any = None
    ) -> None:
        """Raise `ValueError` for unknown paths or bounds without the value."""
        check_variables(options.variables, options.log, values, declared)
        check_measure(options.measure, declared)

    def axes(self, options: FitOptions) -> dict[str, list[str]]:
        """Return the names of the parameters."""
        return {"parameter": list(options.variables), "other": list(options.variables)}

    def sample_bytes(self, options: FitOptions) -> float:
        """Return the stored bytes per sample."""
        return 5e3
