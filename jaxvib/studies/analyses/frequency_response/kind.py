"""The study of an assembled system under a harmonic force."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from ...._nearest import unknown_key
from ...config.tables import Table
from ..base import AnalysisKind, Role

_FREQUENCY: dict[str, Any] = {"unit": "rad/s"}


class FrequencyResponseOptions(Table):
    """Where the force acts, and the frequencies that are looked at."""

    kind: Literal["frequency_response"] = Field(description="the kind of analysis")
    force: str = Field(
        description="the freedom on which a unit force or moment acts",
        json_schema_extra={"allowed": "the name of a degree of freedom"},
    )
    low: float = Field(ge=0.0, description="lowest frequency", json_schema_extra=_FREQUENCY)
    high: float = Field(
        gt=0.0, description="highest frequency", json_schema_extra=_FREQUENCY
    )
    points: int = Field(default=501, ge=2, le=100_000, description="frequencies")


class FrequencyResponseKind(AnalysisKind):
    """Amplitude and phase of every freedom over frequency, per unit force."""

    name = "frequency_response"
    options = FrequencyResponseOptions
    sampled = None
    needs = frozenset({Role.LINEAR})

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for frequencies that do not ascend or an unknown force."""
        if not options.low < options.high:
            raise ValueError(
                f"low = {options.low:g} rad/s is not below high = {options.high:g} rad/s"
            )
        if system is not None and options.force not in system.names:
            raise ValueError(unknown_key("degree of freedom", options.force, system.names))

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 48.0 * options.points
