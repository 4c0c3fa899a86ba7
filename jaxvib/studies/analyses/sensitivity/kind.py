"""The analysis `sensitivity`: influence of parameters on measures."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pydantic

from ...config.bounds import BoundsByPath, by_path, check_bounds
from ...config.tables import Table, option
from ..base import AnalysisKind
from ..measure_options import MeasureOptions, check_measure


class SensitivityOptions(Table):
    """Measures, parameters and number of samples."""

    units_of: ClassVar = {"variables": by_path}

    kind: Literal["sensitivity"] = option("the kind of analysis")
    measures: dict[str, MeasureOptions] = option(
        "named measures", min_length=1, max_length=100,
        allowed="tables with measure = ...",
    )  # fmt: skip
    variables: BoundsByPath = option(
        "path of each parameter, and its range of uncertainty", min_length=1,
        max_length=100, allowed="path = [lowest, highest] for one path or more",
    )  # fmt: skip
    samples: int = option(
        "samples for Sobol indices, a power of 2; 0 for derivatives only",
        0,
        ge=0,
        le=1 << 20,
    )

    @pydantic.model_validator(mode="after")
    def _power_of_two(self):
        if self.samples & (self.samples - 1):
            raise ValueError(f"samples = {self.samples} is not a power of 2")
        return self


class SensitivityKind(AnalysisKind[SensitivityOptions]):
    """Normalised derivatives at the system's values, and Sobol indices over ranges."""

    name = "sensitivity"
    options = SensitivityOptions
    sampled = False
    counted = "evaluations"

    def check(
        self,
        options: SensitivityOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for unknown paths or bounds without the value."""
        for path, bounds in options.variables.items():
            check_bounds(path, bounds, values, declared)
        for measure in options.measures.values():
            check_measure(measure, declared)

    def axes(self, options: SensitivityOptions) -> dict[str, list[str]]:
        """Return the names of the parameters."""
        return {"parameter": list(options.variables)}

    def sample_bytes(self, options: SensitivityOptions) -> float:
        """Return the stored bytes per sample."""
        return 5e3
