"""The study of one branch of periodic orbits, followed along a parameter."""

from collections.abc import Mapping
from typing import Literal

from ...config.bounds import Bounds, check_bounds
from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class ContinuationOptions(Table):
    """Along which parameter, how far and how."""

    kind: Literal["continuation"] = option("the kind of analysis")
    path: str = option("the parameter", allowed="a parameter's path")
    bounds: Bounds = option("values of the parameter to stop at")
    method: Literal["natural", "arclength"] = option(
        "steps in the parameter itself, or along the branch round its folds", "arclength"
    )
    correct: bool = option("whether Newton's method corrects each step", True)
    periods: int = option("load periods in one of the motion", 1, ge=1, le=8)
    most_points: int = option("orbits at which to stop", 500, ge=2, le=100_000)
    events: dict[str, float] = option(
        "values of an orbit's quantities to be found on the way", {},
        allowed="numbers by quantity, as max_contact_force",
    )  # fmt: skip
    stop_at: list[str] = option("the events that end the branch, by arclength", [])
    second_path: str = option(
        "a second parameter, to follow the bifurcations found in both", "",
        allowed="a parameter's path, or nothing",
    )  # fmt: skip
    second_bounds: Bounds | None = option("values of the second parameter to stop at", None)


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
