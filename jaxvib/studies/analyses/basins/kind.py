"""The study of basins: on which attractor each state of a plane settles."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from ...._nearest import unknown_key
from ...config.bounds import BoundsByPath
from ...config.tables import Table
from ..base import AnalysisKind, Role


class BasinsOptions(Table):
    """Which initial states are tried, and for how long."""

    kind: Literal["basins"] = Field(description="the kind of analysis")
    grid: BoundsByPath = Field(
        min_length=2, max_length=2,
        description="two components of the state at t = 0, the others being at rest",
        json_schema_extra={"allowed": "component = [lowest, highest] for two components"},
    )  # fmt: skip
    points: int = Field(
        default=64, ge=2, le=2000, description="initial states along each component"
    )
    max_periods: int = Field(
        default=8, ge=1, le=8, description="longest period tried, in load periods"
    )
    transient: int = Field(
        default=512, ge=16, le=1_000_000,
        description="load periods after which a motion is undecided or has no period",
    )  # fmt: skip


class BasinsKind(AnalysisKind):
    """Attractors by name, where each initial state leads, and the shares."""

    name = "basins"
    options = BasinsOptions
    sampled = False
    needs = frozenset({Role.PERIODIC})
    counted = "initial states"

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for bounds that do not ascend or an unknown component."""
        for name, (low, high) in options.grid.items():
            if not low < high:
                raise ValueError(f"grid.{name} = [{low:g}, {high:g}] does not ascend")
            if system is not None and name not in system.state_names:
                raise ValueError(unknown_key("component", name, system.state_names))

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 80.0 * options.points**2
