"""The analysis `periodic_orbit`: the steady state of each sample."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class PeriodicOrbitOptions(Table):
    """Longest period, engine and number of stored motions."""

    kind: Literal["periodic_orbit"] = option("the kind of analysis")
    period: float | None = option(
        "only for systems under constant loads: approximate period of the motions, from "
        "which limit cycles are found", None, gt=0.0, unit="s", allowed="(0, inf) s",
    )  # fmt: skip
    max_periods: int = option("longest period tried, in load periods", 8, ge=1, le=8)
    engine: Literal["auto", "diffrax", "event"] = option("engine of the simulation", "auto")
    traces: int = option("motions stored over one period", 256, ge=0, le=4096)


class PeriodicOrbitKind(AnalysisKind[PeriodicOrbitOptions]):
    """Periodic orbit, multipliers, contacts and peak force of every sample."""

    name = "periodic_orbit"
    options = PeriodicOrbitOptions
    sampled = True
    needs = frozenset({Role.PERIODIC})
    needs_sample_count = True
    groups: ClassVar = {"traces": ("sample",)}
    smooth = frozenset(
        {
            "amplitude", "contact_duration", "contacts_per_period", "largest_multiplier",
            "lyapunov_exponent", "max_contact_force", "period",
        }
    )  # fmt: skip

    def is_autonomous(self, table: Mapping) -> bool:
        """Return whether a config gives a period, i.e. no load has one."""
        return "period" in table

    def sample_bytes(self, options: PeriodicOrbitOptions) -> float:
        """Return the stored bytes per sample."""
        return 700.0
