"""The analysis `response`: motions from rest under loads of any time history."""

from collections.abc import Mapping
from typing import Any, Literal

from ...config.tables import Table, option
from ..base import AnalysisKind, Role
from ..noises import EngineName, Level, check_levels


class ResponseOptions(Table):
    """Duration, times and limits."""

    kind: Literal["response"] = option("the kind of analysis")
    duration: float = option("duration of each motion, from rest", gt=0.0, unit="s")
    points: int = option("times, evenly spaced", 481, ge=2, le=10_000)
    limits: dict[str, Level] = option(
        "limits, for first-passage times", {},
        allowed="a table of limits, such as limits.stroke",
    )  # fmt: skip
    engine: EngineName = option("engine of the simulation", "auto")


class ResponseKind(AnalysisKind[ResponseOptions]):
    """Motions from rest under any loads: histories, peaks, means and passages."""

    name = "response"
    options = ResponseOptions
    sampled = None
    needs = frozenset({Role.DRIVEN})

    def check(
        self,
        options: ResponseOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for a limit on an unknown degree of freedom."""
        if system is not None:
            check_levels(options.limits, system)

    def axes(self, options: ResponseOptions) -> dict[str, list[str]]:
        """Return the names of the limits."""
        return {"limit": list(options.limits)} if options.limits else {}

    def sample_bytes(self, options: ResponseOptions) -> float:
        """Return the stored bytes per sample."""
        return 400.0 + 32.0 * options.points
