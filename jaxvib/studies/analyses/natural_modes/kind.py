"""The study of an assembled system's modes."""

from typing import Literal

from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class NaturalModesOptions(Table):
    """Nothing is to be chosen: all modes are found."""

    kind: Literal["natural_modes"] = option("the kind of analysis")


class NaturalModesKind(AnalysisKind):
    """Natural frequencies, damping ratios, modes and where their energy sits."""

    name = "natural_modes"
    options = NaturalModesOptions
    sampled = None
    needs = frozenset({Role.LINEAR})

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 3000.0
