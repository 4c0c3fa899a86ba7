"""The study of an assembled system in free or forced motion."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from ...._nearest import unknown_key
from ...config.tables import Table
from ..base import AnalysisKind, Role

_PLACES: dict[str, Any] = {"allowed": "a table of degrees of freedom with numbers"}


class Harmonic(Table):
    """The force F_0 cos(w t + phase), or moment, on one freedom."""

    at: str | None = Field(
        default=None,
        description="the freedom that it acts on; none without a force",
        json_schema_extra={"allowed": "the name of a degree of freedom"},
    )
    amplitude: float = Field(
        default=1.0, description="0-peak", json_schema_extra={"unit": "N"}
    )
    frequency: float = Field(
        default=1.0,
        gt=0.0,
        description="angular frequency",
        json_schema_extra={"unit": "rad/s"},
    )
    phase: float = Field(
        default=0.0, description="phase at t = 0", json_schema_extra={"unit": "rad"}
    )


class LinearMotionOptions(Table):
    """What the system starts from, what pushes it, and when it is looked at."""

    kind: Literal["linear_motion"] = Field(description="the kind of analysis")
    displacement: dict[str, float] = Field(
        default={},
        description="of freedoms at t = 0, m or rad",
        json_schema_extra=_PLACES,
    )
    velocity: dict[str, float] = Field(
        default={},
        description="of freedoms at t = 0, m/s or rad/s",
        json_schema_extra=_PLACES,
    )
    force: Harmonic = Field(default=Harmonic(), description="a harmonic force")
    duration: float = Field(
        gt=0.0,
        description="last time that is looked at",
        json_schema_extra={"unit": "s"},
    )
    points: int = Field(default=481, ge=2, le=10_000, description="times, evenly spaced")


class LinearMotionKind(AnalysisKind):
    """Exact motion from a given start or under a harmonic force, energies by module."""

    name = "linear_motion"
    options = LinearMotionOptions
    sampled = None
    needs = frozenset({Role.LINEAR})

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for an unknown freedom, or where nothing moves."""
        if not options.displacement and not options.velocity and options.force.at is None:
            raise ValueError(
                "nothing moves; allowed: a displacement, a velocity or a force on a freedom"
            )
        if system is None:
            return
        forced = [] if options.force.at is None else [options.force.at]
        for name in [*options.displacement, *options.velocity, *forced]:
            if name not in system.names:
                raise ValueError(unknown_key("degree of freedom", name, system.names))

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 150.0 * options.points
