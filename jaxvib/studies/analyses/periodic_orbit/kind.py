"""The study of periodic regimes: the motion that each sample settles on."""

from typing import ClassVar, Literal

from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class PeriodicOrbitOptions(Table):
    """Which motions are searched for, and of how many the time history is stored."""

    kind: Literal["periodic_orbit"] = option("the kind of analysis")
    max_periods: int = option("longest period tried, in load periods", 8, ge=1, le=8)
    engine: Literal["auto", "diffrax", "event"] = option(
        "what motions are computed by", "auto"
    )
    traces: int = option("motions stored over one period", 256, ge=0, le=4096)


class PeriodicOrbitKind(AnalysisKind):
    """Periodic orbit, multipliers, contacts and peak force of every sample."""

    name = "periodic_orbit"
    options = PeriodicOrbitOptions
    sampled = True
    needs = frozenset({Role.PERIODIC})
    counts = True
    groups: ClassVar = {"traces": ("sample",)}
    smooth = frozenset(
        {
            "amplitude", "contact_duration", "contacts_per_period", "largest_multiplier",
            "lyapunov_exponent", "max_contact_force", "period",
        }
    )  # fmt: skip

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 700.0
