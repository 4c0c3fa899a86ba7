"""The study of a beam's certified eigenvalues, their slopes and mode shapes."""

from typing import ClassVar, Literal

from pydantic import Field

from ...config.tables import Table
from ..base import AnalysisKind, Role


class BeamEigenvaluesOptions(Table):
    """How many eigenvalues, and for how many samples the mode shapes."""

    kind: Literal["beam_eigenvalues"] = Field(description="the kind of analysis")
    count: int = Field(
        default=10, ge=1, le=200, description="eigenvalues of each sample, by modulus"
    )
    shapes: int = Field(
        default=16, ge=0, le=256, description="samples whose mode shapes are stored"
    )
    points: int = Field(
        default=101, ge=2, le=10_000, description="points of a mode shape along the beam"
    )


class BeamEigenvaluesKind(AnalysisKind):
    """First eigenvalues of many designs, certified, with derivatives and mode shapes."""

    name = "beam_eigenvalues"
    options = BeamEigenvaluesOptions
    sampled = None
    needs = frozenset({Role.BEAM})
    groups: ClassVar = {"mode_shapes": ("sample",)}

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 24.0 * options.count * 3
