"""The study of an assembled system's modes."""

from typing import Literal

from pydantic import Field

from ...config.tables import Table
from ..base import AnalysisKind, Role
from ..cost import Cost


class NaturalModesOptions(Table):
    """Nothing is to be chosen: all modes are found."""

    kind: Literal["natural_modes"] = Field(description="the kind of analysis")


class NaturalModesKind(AnalysisKind):
    """Natural frequencies, damping ratios, modes and where their energy sits."""

    name = "natural_modes"
    options = NaturalModesOptions
    sampled = None
    needs = frozenset({Role.LINEAR})

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/tower_modes.toml`."""
        return Cost(4.0, 4.0, 0.02, 3.0, 3000.0, ("undamped",))
