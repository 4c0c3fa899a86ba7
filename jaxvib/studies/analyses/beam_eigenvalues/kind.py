"""The analysis `beam_eigenvalues`: certified values, derivatives, mode shapes."""

from typing import ClassVar, Literal

from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class BeamEigenvaluesOptions(Table):
    """Number of eigenvalues and of stored mode shapes."""

    kind: Literal["beam_eigenvalues"] = option("the kind of analysis")
    count: int = option("eigenvalues of each sample, by modulus", 10, ge=1, le=200)
    shapes: int = option("samples whose mode shapes are stored", 16, ge=0, le=256)
    points: int = option("points of a mode shape along the beam", 101, ge=2, le=10_000)


class BeamEigenvaluesKind(AnalysisKind[BeamEigenvaluesOptions]):
    """First eigenvalues of many designs, certified, with derivatives and mode shapes."""

    name = "beam_eigenvalues"
    options = BeamEigenvaluesOptions
    sampled = None
    needs = frozenset({Role.BEAM})
    groups: ClassVar = {"mode_shapes": ("sample",)}

    def sample_bytes(self, options: BeamEigenvaluesOptions) -> float:
        """Return the stored bytes per sample."""
        return 24.0 * options.count * 3
