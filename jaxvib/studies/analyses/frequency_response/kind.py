"""The analysis `frequency_response` of linear systems under a harmonic force."""

from collections.abc import Mapping
from typing import Any, Literal

from ....foundation.suggestions import unknown_key
from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class FrequencyResponseOptions(Table):
    """Force position and frequencies."""

    kind: Literal["frequency_response"] = option("the kind of analysis")
    force: str = option(
        "the degree of freedom on which a unit force or moment acts",
        allowed="the name of a degree of freedom",
    )
    low: float = option("lowest frequency", ge=0.0, unit="rad/s")
    high: float = option("highest frequency", gt=0.0, unit="rad/s")
    points: int = option("frequencies", 501, ge=2, le=100_000)


class FrequencyResponseKind(AnalysisKind[FrequencyResponseOptions]):
    """Amplitude and phase of every degree of freedom per unit force, over frequency."""

    name = "frequency_response"
    options = FrequencyResponseOptions
    sampled = None
    needs = frozenset({Role.LINEAR})

    def check(
        self,
        options: FrequencyResponseOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for frequencies that do not ascend or an unknown force."""
        if not options.low < options.high:
            raise ValueError(
                f"low = {options.low:g} rad/s is not below high = {options.high:g} rad/s"
            )
        if system is not None and options.force not in system.names:
            raise ValueError(unknown_key("degree of freedom", options.force, system.names))

    def sample_bytes(self, options: FrequencyResponseOptions) -> float:
        """Return the stored bytes per sample."""
        return 48.0 * options.points
