"""The study of the shock response spectrum of a base motion."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from ...config.tables import Table
from ...library import library
from ..base import AnalysisKind, Role

_Ratio = Annotated[float, Field(ge=0.0, lt=1.0)]


class ShockSpectrumOptions(Table):
    """Whose spectrum, at which frequencies, with how much damping."""

    kind: Literal["shock_spectrum"] = Field(description="the kind of analysis")
    load: str = Field(
        description="the base motion whose spectrum it is",
        json_schema_extra={"allowed": "a base motion's name"},
    )
    low: float = Field(
        gt=0.0, description="lowest frequency", json_schema_extra={"unit": "rad/s"}
    )
    high: float = Field(
        gt=0.0, description="highest frequency", json_schema_extra={"unit": "rad/s"}
    )
    points: int = Field(
        default=121, ge=2, le=10_000, description="frequencies, of equal ratios"
    )
    damping_ratios: list[_Ratio] = Field(
        default=[0.05], min_length=1, max_length=20,
        description="damping ratios of the oscillators",
        json_schema_extra={"unit": "", "allowed": "one or more numbers in [0, 1)"},
    )  # fmt: skip
    duration: float | None = Field(
        default=None, gt=0.0,
        description="of the shock; up to its last break by default",
        json_schema_extra={"unit": "s", "allowed": "(0, inf) s"},
    )  # fmt: skip
    resolution: int = Field(
        default=1024, ge=2, le=100_000,
        description="points of each piece of a law that is no record",
    )  # fmt: skip


class ShockSpectrumKind(AnalysisKind):
    """Largest accelerations of oscillators on a base that is shaken, over frequency."""

    name = "shock_spectrum"
    options = ShockSpectrumOptions
    sampled = None
    needs = frozenset({Role.DRIVEN})

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for frequencies that do not ascend, or no base motion."""
        if not options.low < options.high:
            raise ValueError(
                f"low = {options.low:g} rad/s is not below high = {options.high:g} rad/s"
            )
        if system is None:
            return
        place = library("transients.ensemble").load_place(system, options.load)
        if not isinstance(system.loads[place], library("systems").BaseMotion):
            raise ValueError(f"load = {options.load!r} is a force; allowed: a base motion")

    def axes(self, options) -> dict[str, list[str]]:
        """Return the damping ratios."""
        return {"damping": [f"{ratio:g}" for ratio in options.damping_ratios]}

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 56.0 * options.points * len(options.damping_ratios)
