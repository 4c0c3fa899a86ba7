"""What searches for designs have in common: what moves, what must hold, what it costs."""

from collections.abc import Iterable, Mapping
from typing import Literal

import pydantic
from pydantic import Field

from ..config.bounds import BoundsByPath, check_variables
from ..config.tables import Table
from .measures import MeasureOptions, check_measure

COMBINED = Literal[
    "value", "sum", "mean", "largest", "smallest", "squares", "variance",
    "mean_and_deviation",
]  # fmt: skip


class LimitOptions(MeasureOptions):
    """A constraint: a measure and the bounds of all its numbers."""

    at_least: float | None = Field(
        default=None, description="lower bound",
        json_schema_extra={"allowed": "a number"},
    )  # fmt: skip
    at_most: float | None = Field(
        default=None, description="upper bound",
        json_schema_extra={"allowed": "a number"},
    )  # fmt: skip

    @pydantic.model_validator(mode="after")
    def _has_a_bound(self):
        if self.at_least is None and self.at_most is None:
            raise ValueError("has no bound; allowed: at_least, at_most or both")
        return self


class SearchOptions(Table):
    """What moves, and what must hold."""

    kind: str = Field(description="the kind of analysis")
    variables: BoundsByPath = Field(
        min_length=1,
        max_length=100,
        description="path of each parameter that is moved, and its bounds",
        json_schema_extra={"allowed": "path = [lowest, highest] for one path or more"},
    )
    log: list[str] = Field(
        default=[], max_length=100, description="paths that are moved on a log scale",
        json_schema_extra={"allowed": "a list of paths in variables"},
    )  # fmt: skip
    constraints: dict[str, LimitOptions] = Field(
        default={}, max_length=100, description="what must hold, by any name",
        json_schema_extra={"allowed": "tables with measure, at_least and at_most"},
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
    """Raise `ValueError` for paths that there are not, or bounds without the value."""
    check_variables(options.variables, options.log, values, declared)
    for measure in (*measures, *options.constraints.values()):
        check_measure(measure, declared)
