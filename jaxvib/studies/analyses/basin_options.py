"""Common options of basins: the plane of initial states, and the settling of motions."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from ...foundation.suggestions import unknown_key
from ..config.bounds import BoundsByPath
from ..config.quantities import ByKey, Places
from ..config.tables import Table, option


def _states(given: Mapping, places: Places) -> ByKey:
    return places.state


UnitByComponent = dict[str, Annotated[float, Field(gt=0.0, allow_inf_nan=False)]]


class BasinTable(Table):
    """Grid of initial states, limits of the integration, and shocks."""

    units_of: ClassVar = {"grid": _states, "shock": _states}

    kind: str = option("the kind of analysis")
    grid: BoundsByPath = option(
        "ranges of two components of the state at t = 0; the others at rest", min_length=2,
        max_length=2, allowed="component = [lowest, highest] for two components",
    )  # fmt: skip
    points: int = option("initial states along each component", 64, ge=2, le=2000)
    period: float | None = option(
        "only for systems under constant loads: approximate period of the motions, used to "
        "sample their states", None, gt=0.0, unit="s", allowed="(0, inf) s",
    )  # fmt: skip
    max_periods: int = option("longest period tried, in load periods", 8, ge=1, le=8)
    transient: int = option(
        "load periods after which a motion counts as undecided or aperiodic", 512, ge=16,
        le=1_000_000,
    )  # fmt: skip
    shock: UnitByComponent | None = option(
        "units of the components that a shock changes; with it, the smallest shock that "
        "leaves each attractor is stored", None, min_length=1,
        allowed="component = unit for one component or more",
    )  # fmt: skip
    largest_shock: float = option("largest shock tried, in its units", 1.0, gt=0.0)


def check_basins(options: BasinTable, box: int | None, system: Any) -> None:
    """Raise `ValueError` for bounds that do not ascend or an unknown component.

    `box`: the states along a side of a box, if there are boxes; `system`: once built.
    """
    if box is not None and box > options.points:
        raise ValueError(f"box = {box} is larger than points = {options.points}")
    for name, (low, high) in options.grid.items():
        if not low < high:
            raise ValueError(f"grid.{name} = [{low:g}, {high:g}] does not ascend")
    for name in (*options.grid, *(options.shock or ())):
        if system is not None and name not in system.state_names:
            raise ValueError(unknown_key("component", name, system.state_names))
