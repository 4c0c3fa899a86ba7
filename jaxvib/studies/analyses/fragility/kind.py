"""The analysis `fragility`: probability of reaching a limit over noise intensity."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ...config.tables import option
from ..base import AnalysisKind, Role
from ..noises import Level, Shaken, check_levels, check_shaken

_Positive = Annotated[float, Field(gt=0.0)]


class FragilityOptions(Shaken):
    """Noise, intensities and limit."""

    kind: Literal["fragility"] = option("the kind of analysis")
    seeds: int = option(
        "noise samples per intensity, different at each intensity", 500, ge=2, le=1_000_000
    )
    intensities: list[_Positive] = option(
        "factors of the noise amplitude, ascending", min_length=2, max_length=1000,
        unit="", allowed="two or more ascending numbers above 0",
    )  # fmt: skip
    limit: Level = option("failure limit")


class FragilityKind(AnalysisKind[FragilityOptions]):
    """Failure shares over intensity, and the maximum-likelihood lognormal curve."""

    name = "fragility"
    options = FragilityOptions
    sampled = None
    needs = frozenset({Role.DRIVEN})

    def check(
        self,
        options: FragilityOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for unsuitable intensities, load or limit."""
        pairs = zip(options.intensities, options.intensities[1:], strict=False)
        if not all(low < high for low, high in pairs):
            raise ValueError(f"intensities = {options.intensities} do not ascend")
        check_shaken(options, system)
        if system is not None:
            check_levels({"limit": options.limit}, system)

    def sample_bytes(self, options: FragilityOptions) -> float:
        """Return the stored bytes per sample."""
        return len(options.intensities) * (32.0 + 8.0 * options.seeds)
