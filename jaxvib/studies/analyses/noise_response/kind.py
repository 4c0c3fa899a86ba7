"""The study of the response to noise: peaks, mean squares and first passages."""

from collections.abc import Mapping
from typing import Literal

from ...config.tables import option
from ..base import AnalysisKind, Role
from ..noises import Level, Shaken, check_levels, check_shaken


class NoiseResponseOptions(Shaken):
    """What noise, how many samples of it, and which levels are watched."""

    kind: Literal["noise_response"] = option("the kind of analysis")
    limits: dict[str, Level] = option(
        "tables of levels whose first passages are determined", {},
        allowed="a table of limits, such as limits.stroke",
    )  # fmt: skip


class NoiseResponseKind(AnalysisKind):
    """Peaks, mean squares and passages of many samples of noise, with their errors."""

    name = "noise_response"
    options = NoiseResponseOptions
    sampled = None
    needs = frozenset({Role.DRIVEN})

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for a load or a limit that does not go with the system."""
        check_shaken(options, system)
        if system is not None:
            check_levels(options.limits, system)

    def axes(self, options) -> dict[str, list[str]]:
        """Return the names of the limits."""
        return {"limit": list(options.limits)} if options.limits else {}

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return options.seeds * (80.0 + 16.0 * len(options.limits))
