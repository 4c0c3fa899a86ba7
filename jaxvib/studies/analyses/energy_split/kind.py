"""The analysis `energy_split`: energy partition of random chains."""

from typing import ClassVar, Literal

from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class EnergySplitOptions(Table):
    """Number of chains, initial energy and times."""

    kind: Literal["energy_split"] = option("the kind of analysis")
    chains: int = option("random chains for each sample", 256, ge=2, le=1_000_000)
    rotational: float = option(
        "rotational share of the initial energy", 0.0, ge=0.0, le=1.0
    )
    duration: float = option("duration of the simulation", 64.0, gt=0.0, unit="s")
    points: int = option("times, evenly spaced", 65, ge=2, le=10_000)


class EnergySplitKind(AnalysisKind[EnergySplitOptions]):
    """Translational and rotational shares over time, with the prediction."""

    name = "energy_split"
    options = EnergySplitOptions
    sampled = True
    needs = frozenset({Role.CHAIN})
    groups: ClassVar = {"motion": ("sample",)}

    def sample_bytes(self, options: EnergySplitOptions) -> float:
        """Return the stored bytes per sample."""
        return options.points * 8 * 7
