"""The analysis `integrity_curves`: shares and integrity of basins over a parameter."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ...config.bounds import Bounds, check_allowed, of_path
from ...config.tables import option
from ..base import AnalysisKind, Role
from ..basin_options import BasinTable, check_basins


class IntegrityCurvesOptions(BasinTable):
    """Parameter, values, grid of initial states, and measures."""

    units_of: ClassVar = {**BasinTable.units_of, "bounds": of_path("path")}

    kind: Literal["integrity_curves"] = option("the kind of analysis")
    path: str = option("the parameter", allowed="a parameter's path")
    bounds: Bounds = option("lowest and highest value of the parameter")
    values: int = option(
        "values, evenly spaced: attractors are followed from one to the next", 21, ge=2,
        le=10_000,
    )  # fmt: skip
    box: int = option(
        "states along a side of the boxes of the basin entropy", 5, ge=2, le=2000
    )


class IntegrityCurvesKind(AnalysisKind[IntegrityCurvesOptions]):
    """Measures of each attractor's basin over one parameter."""

    name = "integrity_curves"
    options = IntegrityCurvesOptions
    sampled = False
    needs = frozenset({Role.PERIODIC})
    counted = "values"

    def check(
        self,
        options: IntegrityCurvesOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for an unknown path, component, or bounds out of range."""
        check_allowed(options.path, options.bounds, declared)
        check_basins(options, options.box, system)

    def coordinates(self, options: IntegrityCurvesOptions) -> list[str]:
        """Return the parameter."""
        return [options.path]

    def is_autonomous(self, table: Mapping) -> bool:
        """Return whether a config gives a period, i.e. no load has one."""
        return "period" in table

    def sample_bytes(self, options: IntegrityCurvesOptions) -> float:
        """Return the stored bytes per sample."""
        return 2e3 * options.values
