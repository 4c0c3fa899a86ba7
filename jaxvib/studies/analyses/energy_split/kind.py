"""The study of how random chains share out their energy."""

from typing import ClassVar, Literal

from pydantic import Field

from ...config.tables import Table
from ..base import AnalysisKind, Role


class EnergySplitOptions(Table):
    """How many chains, from what, and when they are looked at."""

    kind: Literal["energy_split"] = Field(description="the kind of analysis")
    chains: int = Field(
        default=256, ge=2, le=1_000_000, description="random chains for each sample"
    )
    rotational: float = Field(
        default=0.0, ge=0.0, le=1.0, description="share of the energy given to rotation"
    )
    duration: float = Field(
        default=64.0,
        gt=0.0,
        description="last time that is looked at",
        json_schema_extra={"unit": "s"},
    )
    points: int = Field(default=65, ge=2, le=10_000, description="times, evenly spaced")


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
