"""The study of the modes of what is overlaid from modules."""

from collections.abc import Mapping
from typing import Literal

from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class NaturalModesOptions(Table):
    """Nothing is to be chosen: all modes are found."""

    kind: Literal["natural_modes"] = option("the kind of analysis")


class NaturalModesKind(AnalysisKind):
    """Natural frequencies, damping ratios, modes and where their energy sits.

    Of a system with contacts, frictions and loads these are left out.
    """

    name = "natural_modes"
    options = NaturalModesOptions
    sampled = None
    needs = frozenset({Role.MODULES})

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for springs of other laws, which are in no module."""
        if system is not None and system.springs:
            raise ValueError(
                "the system has springs of other laws; allowed: modules, contacts, "
                "frictions and loads, or in Python `jv.natural_modes`, by their slopes"
            )

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 3000.0
