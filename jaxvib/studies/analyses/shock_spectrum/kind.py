"""The analysis `shock_spectrum` of a base motion."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ...config.tables import Table, option
from ...resources import library
from ..base import AnalysisKind, Role

_Ratio = Annotated[float, Field(ge=0.0, le=10.0)]


class ShockSpectrumOptions(Table):
    """Base motion, frequencies and damping ratios."""

    kind: Literal["shock_spectrum"] = option("the kind of analysis")
    load: str = option("the base motion", allowed="a base motion's name")
    low: float = option("lowest frequency", gt=0.0, unit="rad/s")
    high: float = option("highest frequency", gt=0.0, unit="rad/s")
    points: int = option(
        "number of frequencies, logarithmically spaced", 121, ge=2, le=10_000
    )
    damping_ratios: list[_Ratio] = option(
        "damping ratios of the oscillators", [0.05], min_length=1, max_length=20, unit="",
        allowed="one or more numbers in [0, 10]",
    )  # fmt: skip
    duration: float | None = option(
        "duration of the shock; default: up to its last break", None, gt=0.0, unit="s",
        allowed="(0, inf) s",
    )  # fmt: skip
    resolution: int = option(
        "points between two breaks of the motion, unless it is a record",
        1024,
        ge=2,
        le=100_000,
    )


class ShockSpectrumKind(AnalysisKind[ShockSpectrumOptions]):
    """Largest accelerations of oscillators on a moving base, over natural frequency."""

    name = "shock_spectrum"
    options = ShockSpectrumOptions
    sampled = None
    needs = frozenset({Role.DRIVEN})

    def check(
        self,
        options: ShockSpectrumOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for frequencies that descend, or an unsuitable load."""
        if not options.low < options.high:
            raise ValueError(
                f"low = {options.low:g} rad/s is not below high = {options.high:g} rad/s"
            )
        if system is None:
            return
        place = library("transients.ensemble").load_place(system, options.load)
        if not isinstance(system.loads[place], library("systems").BaseMotion):
            raise ValueError(f"load = {options.load!r} is a force; allowed: a base motion")
        law = system.loads[place].law
        library("transients.shock").shock_ends(law, options.duration)

    def axes(self, options: ShockSpectrumOptions) -> dict[str, list[str]]:
        """Return the damping ratios."""
        return {"damping": [f"{ratio:g}" for ratio in options.damping_ratios]}

    def sample_bytes(self, options: ShockSpectrumOptions) -> float:
        """Return the stored bytes per sample."""
        return 64.0 * options.points * len(options.damping_ratios)
