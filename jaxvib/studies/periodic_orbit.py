"""The study of periodic regimes: the motion that each sample settles on."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from pydantic import Field

from .tables import Table


class PeriodicOrbitOptions(Table):
    """Which motions are looked for, and of how many the course is stored."""

    kind: Literal["periodic_orbit"] = Field(description="the kind of analysis")
    max_periods: int = Field(
        default=8, ge=1, le=64, description="longest period looked for, in load periods"
    )
    traces: int = Field(
        default=256, ge=0, le=4096, description="motions whose course is stored"
    )


class PeriodicOrbitKind:
    """Periodic orbit, multipliers, contacts and peak force of every sample."""

    name = "periodic_orbit"
    sampled = True
    groups = ("traces",)

    def options(self) -> type[Table]:
        """Return the table that a config gives for this analysis."""
        return PeriodicOrbitOptions

    def check(self, options, values: Mapping, declared: Mapping) -> None:
        """Raise `ValueError` for options that do not go with the system's values."""

    def run(self, system, samples, options, run, progress: Callable[[int], None]):
        """Return the orbits of samples, path to values, each field with a leading axis."""
        from ..orbits import regimes

        return regimes(
            system,
            samples,
            max_periods=options.max_periods,
            rtol=run.rtol,
            evidence=run.evidence,
            progress=progress,
        )
