"""The analysis `pareto_front`: trade-offs between several objectives."""

from collections.abc import Mapping
from typing import Any, Literal

import pydantic

from ...config.tables import option
from ..base import AnalysisKind
from ..design_options import (
    COMBINED,
    SearchOptions,
    check_search,
)
from ..measure_options import MeasureOptions


class GoalOptions(MeasureOptions):
    """One of several objectives: a measure and its goal."""

    goal: Literal["minimise", "maximise"] = option("goal", "minimise")
    combine: COMBINED = option("combination of several numbers into one", "value")
    weight: float = option("weight of the deviation in mean_and_deviation", 1.0, ge=0.0)


class FrontOptions(SearchOptions):
    """Variables, objectives, constraints and method of a front."""

    kind: Literal["pareto_front"] = option("the kind of analysis")
    objectives: dict[str, GoalOptions] = option(
        "two or more named objectives", min_length=2, max_length=8,
        allowed="tables with measure = ...",
    )  # fmt: skip
    points: int = option("points of the front", 21, ge=2, le=1000)
    method: Literal["slsqp", "trust_constr"] = option("optimiser of each point", "slsqp")
    starts: int = option(
        "starts of each single-objective search: current values, Sobol points", 1, ge=1,
        le=1000,
    )  # fmt: skip
    steps: int = option(
        "maximum steps of the optimiser for each point", 200, ge=1, le=100_000
    )
    tolerance: float = option(
        "relative tolerance of objectives and variables", 1e-10, gt=0.0, lt=1.0
    )

    @pydantic.model_validator(mode="after")
    def _check_points(self):
        if self.points < len(self.objectives):
            raise ValueError(
                f"points = {self.points} for {len(self.objectives)} objectives; allowed: "
                "as many or more"
            )
        return self


class FrontKind(AnalysisKind[FrontOptions]):
    """The Pareto front of the system, or of each sample."""

    name = "pareto_front"
    options = FrontOptions
    sampled = None
    counted = "evaluations"
    resumable = True

    def check(
        self, options: FrontOptions, values: Mapping, declared: Mapping, system: Any = None
    ) -> None:
        """Raise `ValueError` for unknown paths or bounds without the value."""
        check_search(options, options.objectives.values(), values, declared)

    def axes(self, options: FrontOptions) -> dict[str, list[str]]:
        """Return the names of the objectives."""
        return {"goal": list(options.objectives)}

    def sample_bytes(self, options: FrontOptions) -> float:
        """Return the stored bytes per sample."""
        return 5e3
