"""The analysis `natural_modes` of assembled systems."""

from collections.abc import Mapping
from typing import Any, Literal

from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class NaturalModesOptions(Table):
    """No options: all modes are computed."""

    kind: Literal["natural_modes"] = option("the kind of analysis")


class NaturalModesKind(AnalysisKind[NaturalModesOptions]):
    """Natural frequencies, damping ratios, modes and their energy distribution.

    Contacts, frictions and loads of a system are ignored.
    """

    name = "natural_modes"
    options = NaturalModesOptions
    sampled = None
    needs = frozenset({Role.MODULES})

    def check(
        self,
        options: NaturalModesOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for nonlinear springs, which are in no module."""
        if system is not None and system.springs:
            raise ValueError(
                "the system has nonlinear springs; allowed: modules, contacts, "
                "frictions and loads, or in Python `jv.natural_modes`, which linearises"
            )

    def sample_bytes(self, options: NaturalModesOptions) -> float:
        """Return the stored bytes per sample."""
        return 3000.0
