"""The analysis `basins`: the attractor of each initial state in a plane."""

from collections.abc import Mapping
from typing import Any, Literal

from ...config.tables import option
from ..base import AnalysisKind, Role
from ..basin_options import BasinTable, check_basins


class BasinsOptions(BasinTable):
    """Grid of initial states, limits of the integration, and measures."""

    kind: Literal["basins"] = option("the kind of analysis")
    box: int | None = option(
        "states along a side of the boxes of the basin entropy; with it, entropy and "
        "integrity measures are stored", None, ge=2, le=2000,
    )  # fmt: skip


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
        check_basins(options, options.box, system)

    def is_autonomous(self, table: Mapping) -> bool:
        """Return whether a config gives a period, i.e. no load has one."""
        return "period" in table

    def sample_bytes(self, options: BasinsOptions) -> float:
        """Return the stored bytes per sample."""
        return 80.0 * options.points**2
