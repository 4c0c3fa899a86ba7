"""The analysis `continuation`: one branch of periodic orbits over a parameter."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pydantic

from ...config.bounds import Bounds, check_bounds, of_path
from ...config.quantities import Asked, ByKey, Places
from ...config.tables import Table, option
from ..base import AnalysisKind, Role
from ..measure_options import unit_of_field


def _of_events(given: Mapping, places: Places) -> ByKey:
    """Return what values of an orbit's quantities take."""
    return lambda name: Asked(unit_of_field(name))


class ContinuationOptions(Table):
    """Parameter, bounds and method of a continuation."""

    units_of: ClassVar = {
        "bounds": of_path("path"),
        "second_bounds": of_path("second_path"),
        "events": _of_events,
    }

    kind: Literal["continuation"] = option("the kind of analysis")
    path: str = option("the parameter", allowed="a parameter's path")
    bounds: Bounds = option("range of the parameter")
    method: Literal["arclength"] = option("along the branch, around folds", "arclength")
    periods: int = option("period of the motion in load periods", 1, ge=1, le=8)
    most_points: int = option("maximum number of orbits", 500, ge=2, le=100_000)
    events: dict[str, float] = option(
        "events: values of an orbit's quantities to be located", {},
        allowed="numbers by quantity, such as max_contact_force",
    )  # fmt: skip
    stop_at: list[str] = option("events that end the branch", [])
    second_path: str = option(
        "a second parameter, to continue bifurcations in both", "",
        allowed="a parameter's path, or nothing",
    )  # fmt: skip
    second_bounds: Bounds | None = option("range of the second parameter", None)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _name_what_went(cls, given: Any) -> Any:
        if isinstance(given, dict) and "correct" in given:
            raise ValueError("correct: every point is corrected; leave the key out")
        return given


class ContinuationKind(AnalysisKind[ContinuationOptions]):
    """Periodic orbits over a parameter, starting from the system's attractor."""

    name = "continuation"
    options = ContinuationOptions
    sampled = False
    needs = frozenset({Role.PERIODIC})
    counted = "orbits"

    def check(
        self,
        options: ContinuationOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for bounds that do not enclose the parameter's value."""
        check_bounds(options.path, options.bounds, values, declared)
        if options.events or options.stop_at:
            self.submodule("compute").orbit_events(options.events, options.stop_at)
        if bool(options.second_path) != (options.second_bounds is not None):
            raise ValueError("second_path and second_bounds; allowed: both or neither")
        if options.second_path and options.second_bounds:
            if options.second_path == options.path:
                raise ValueError(
                    f"second_path = {options.path!r}; allowed: another one than path"
                )
            check_bounds(options.second_path, options.second_bounds, values, declared)

    def coordinates(self, options: ContinuationOptions) -> list[str]:
        """Return the parameter."""
        return [options.path]

    def sample_bytes(self, options: ContinuationOptions) -> float:
        """Return the stored bytes per sample."""
        return 50e3
