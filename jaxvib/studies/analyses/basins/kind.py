"""The analysis `basins`: the attractor of each initial state in a plane."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ....foundation.suggestions import unknown_key
from ...config.bounds import BoundsByPath
from ...config.tables import Table, option
from ..base import AnalysisKind, Role

UnitByComponent = dict[str, Annotated[float, Field(gt=0.0, allow_inf_nan=False)]]


class BasinsOptions(Table):
    """Grid of initial states and limits of the integration."""

    kind: Literal["basins"] = option("the kind of analysis")
    grid: BoundsByPath = option(
        "ranges of two components of the state at t = 0; the others at rest", min_length=2,
        max_length=2, allowed="component = [lowest, highest] for two components",
    )  # fmt: skip
    points: int = option("initial states along each component", 64, ge=2, le=2000)
    period: float | None = option(
        "only for systems under constant loads: approximate period of the motions, s, used "
        "in place of the load's period", None, gt=0.0,
    )  # fmt: skip
    max_periods: int = option("longest period tried, in load periods", 8, ge=1, le=8)
    transient: int = option(
        "load periods after which a motion is undecided or aperiodic", 512, ge=16,
        le=1_000_000,
    )  # fmt: skip
    box: int | None = option(
        "states along a side of the boxes of the basin entropy; with it, entropy and "
        "integrity measures are stored", None, ge=2, le=2000,
    )  # fmt: skip
    shock: UnitByComponent | None = option(
        "units of the components that a shock changes; with it, the smallest shock that "
        "leaves each attractor is stored", None, min_length=1,
        allowed="component = unit for one component or more",
    )  # fmt: skip
    largest_shock: float = option("largest shock tried, in its units", 1.0, gt=0.0)


class BasinsKind(AnalysisKind[BasinsOptions]):
    """Attractors, the basin of each, and their shares of the plane."""

    name = "basins"
    options = BasinsOptions
    sampled = False
    needs = frozenset({Role.PERIODIC})
    counted = "initial states"

    def check(
        self, options: BasinsOptions, values: Mapping, declared: Mapping, system: Any = None
    ) -> None:
        """Raise `ValueError` for bounds that do not ascend or an unknown component."""
        if options.box is not None and options.box > options.points:
            raise ValueError(
                f"box = {options.box} is larger than points = {options.points}"
            )
        for name, (low, high) in options.grid.items():
            if not low < high:
                raise ValueError(f"grid.{name} = [{low:g}, {high:g}] does not ascend")
        for name in (*options.grid, *(options.shock or ())):
            if system is not None and name not in system.state_names:
                raise ValueError(unknown_key("component", name, system.state_names))

    def is_autonomous(self, table: Mapping) -> bool:
        """Return whether a config gives a period, i.e. no load has one."""
        return "period" in table

    def sample_bytes(self, options: BasinsOptions) -> float:
        """Return the stored bytes per sample."""
        return 80.0 * options.points**2
