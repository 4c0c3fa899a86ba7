"""The analysis `noise_response`: peaks, mean squares and first passages."""

from collections.abc import Mapping
from typing import Any, Literal

from ...config.tables import option
from ..base import AnalysisKind, Role
from ..noises import Level, Shaken, check_levels, check_shaken


class NoiseResponseOptions(Shaken):
    """Noise and limits."""

    kind: Literal["noise_response"] = option("the kind of analysis")
    limits: dict[str, Level] = option(
        "limits, for first-passage times", {},
        allowed="a table of limits, such as limits.stroke",
    )  # fmt: skip


class NoiseResponseKind(AnalysisKind[NoiseResponseOptions]):
    """Peaks, mean squares and passages over many noise samples, with their errors."""

    name = "noise_response"
    options = NoiseResponseOptions
    sampled = None
    needs = frozenset({Role.DRIVEN})

    def check(
        self,
        options: NoiseResponseOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for a load or a limit that does not fit the system."""
        check_shaken(options, system)
        if system is not None:
            check_levels(options.limits, system)

    def axes(self, options: NoiseResponseOptions) -> dict[str, list[str]]:
        """Return the names of the limits."""
        return {"limit": list(options.limits)} if options.limits else {}

    def sample_bytes(self, options: NoiseResponseOptions) -> float:
        """Return the stored bytes per sample."""
        return options.seeds * (80.0 + 16.0 * len(options.limits))
