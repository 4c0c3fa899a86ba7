"""The study of one branch of periodic orbits, followed along a parameter."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from ...config.bounds import Bounds, check_bounds
from ...config.tables import Table
from ..base import AnalysisKind, Role


class ContinuationOptions(Table):
    """Along which parameter, how far and how."""

    kind: Literal["continuation"] = Field(description="the kind of analysis")
    path: str = Field(
        description="the parameter", json_schema_extra={"allowed": "a parameter's path"}
    )
    bounds: Bounds = Field(description="values of the parameter to stop at")
    method: Literal["natural", "arclength"] = Field(
        default="arclength",
        description="steps in the parameter itself, or along the branch round its folds",
    )
    correct: bool = Field(
        default=True, description="whether Newton's method corrects each step"
    )
    periods: int = Field(
        default=1, ge=1, le=8, description="load periods in one of the motion"
    )
    most_points: int = Field(
        default=500, ge=2, le=100_000, description="orbits at which to stop"
    )
    events: dict[str, float] = Field(
        default={},
        description="values of an orbit's quantities to be found on the way",
        json_schema_extra={"allowed": "numbers by quantity, as max_contact_force"},
    )
    stop_at: list[str] = Field(
        default=[], description="the events that end the branch, by arclength"
    )
    second_path: str = Field(
        default="",
        description="a second parameter, to follow the bifurcations found in both",
        json_schema_extra={"allowed": "a parameter's path, or nothing"},
    )
    second_bounds: Bounds | None = Field(
        default=None, description="values of the second parameter to stop at"
    )


class ContinuationKind(AnalysisKind):
    """Periodic orbits along a parameter, from the one that the system settles on."""

    name = "continuation"
    options = ContinuationOptions
    sampled = False
    needs = frozenset({Role.PERIODIC})
    counted = "orbits"

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for bounds that do not enclose the parameter's value."""
        check_bounds(options.path, options.bounds, values, declared)
        if options.events or options.stop_at:
            self.beside("compute").watch_of(options.events, options.stop_at)
        if options.stop_at and options.method != "arclength":
            raise ValueError(
                f"stop_at = {options.stop_at}; allowed: with method = 'arclength' only"
            )
        if not options.correct and options.method != "natural":
            raise ValueError("correct = false; allowed: with method = 'natural' only")
        if bool(options.second_path) != (options.second_bounds is not None):
            raise ValueError("second_path and second_bounds; allowed: both or neither")
        if options.second_path:
            if options.second_path == options.path:
                raise ValueError(
                    f"second_path = {options.path!r}; allowed: another one than path"
                )
            check_bounds(options.second_path, options.second_bounds, values, declared)

    def coordinates(self, options) -> list[str]:
        """Return the parameter."""
        return [options.path]

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 50e3
