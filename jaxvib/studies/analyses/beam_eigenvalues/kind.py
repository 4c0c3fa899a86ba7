"""The study of a beam's certified eigenvalues, their slopes and mode shapes."""

from typing import ClassVar, Literal

from pydantic import Field

from ...config.tables import Table
from ..base import AnalysisKind, Role
from ..cost import Cost


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

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/beam_with_bodies.toml`."""
        sample = 1e-3 * options.count
        end = 5.0 + 0.2 * options.shapes
        stored = 24.0 * options.count * 3
        return Cost(4.0, 9.0, sample, end, stored, ("of_one",))
