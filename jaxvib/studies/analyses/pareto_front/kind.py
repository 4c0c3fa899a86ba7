"""The study of Pareto fronts: designs of which no objective can become better alone."""

from collections.abc import Mapping
from typing import Literal

import pydantic

from ...config.tables import option
from ..base import AnalysisKind
from ..design_options import (
    COMBINED,
    SearchOptions,
    check_search,
)
from ..measures import MeasureOptions


class GoalOptions(MeasureOptions):
    """One of several objectives: what is measured, and what best means of it."""

    goal: Literal["minimise", "maximise"] = option("what best means", "minimise")
    combine: COMBINED = option("how several numbers become one", "value")
    weight: float = option("of the deviation in mean_and_deviation", 1.0, ge=0.0)


class FrontOptions(SearchOptions):
    """What moves, which objectives are weighed, what must hold, and how it is sought."""

    kind: Literal["pareto_front"] = option("the kind of analysis")
    objectives: dict[str, GoalOptions] = option(
        "two objectives or more, by any name", min_length=2, max_length=8,
        allowed="tables with measure = ...",
    )  # fmt: skip
    points: int = option("points of the front", 21, ge=2, le=1000)
    method: Literal["slsqp", "trust_constr"] = option(
        "the optimiser of each point", "slsqp"
    )
    starts: int = option(
        "starts for the best by each objective alone: own values, Sobol points", 1, ge=1,
        le=1000,
    )  # fmt: skip
    steps: int = option("steps of the optimiser for each point", 200, ge=1, le=100_000)
    tolerance: float = option(
        "relative, on objectives and variables", 1e-10, gt=0.0, lt=1.0
    )

    @pydantic.model_validator(mode="after")
    def _goes_together(self):
        if self.points < len(self.objectives):
            raise ValueError(
                f"points = {self.points} for {len(self.objectives)} objectives; allowed: "
                "as many or more"
            )
        return self


class FrontKind(AnalysisKind):
    """A Pareto front of the system, or one of each sample."""

    name = "pareto_front"
    options = FrontOptions
    sampled = None
    counted = "evaluations"
    whole = True
    remembers = True

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for paths that there are not, or bounds without the value."""
        check_search(options, options.objectives.values(), values, declared)

    def axes(self, options) -> dict[str, list[str]]:
        """Return the names of the objectives."""
        return {"goal": list(options.objectives)}

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 5e3
