"""The study of how random chains share out their energy."""

from typing import ClassVar, Literal

from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class EnergySplitOptions(Table):
    """How many chains, from what, and when they are looked at."""

    kind: Literal["energy_split"] = option("the kind of analysis")
    chains: int = option("random chains for each sample", 256, ge=2, le=1_000_000)
    rotational: float = option("share of the energy given to rotation", 0.0, ge=0.0, le=1.0)
    duration: float = option("last time that is looked at", 64.0, gt=0.0, unit="s")
    points: int = option("times, evenly spaced", 65, ge=2, le=10_000)


class EnergySplitKind(AnalysisKind):
    """Translational and rotational shares over time, and what the bands predict."""

    name = "energy_split"
    options = EnergySplitOptions
    sampled = True
    needs = frozenset({Role.CHAIN})
    groups: ClassVar = {"motion": ("sample",)}

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return options.points * 8 * 7
