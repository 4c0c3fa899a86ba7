"""The study of single chains in motion: from a kick, a wave packet, random velocities."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from ...config.tables import Table
from ..base import AnalysisKind, Role


class Ground(Table):
    """A spring from every body to the ground, f = -k y - c y^3."""

    stiffness: float = Field(
        default=0.0,
        description="k of a spring from every body to the ground",
        json_schema_extra={"unit": "N/m"},
    )
    cubic: float = Field(
        default=0.0,
        description="c of a spring from every body to the ground",
        json_schema_extra={"unit": "N/m^3"},
    )


class Stopped(Table):
    """A stop that a body meets once it has moved by a gap, by Hertz's law."""

    body: int = Field(ge=0, description="the body that meets it")
    gap: float = Field(description="gap at rest", json_schema_extra={"unit": "m"})
    stiffness: float = Field(
        gt=0.0,
        description="Hertz stiffness K of the contact",
        json_schema_extra={"unit": "N/m^1.5"},
    )


class ChainMotionOptions(Table):
    """What a chain starts from, and when it is looked at."""

    kind: Literal["chain_motion"] = Field(description="the kind of analysis")
    start: Literal["packet", "kick", "random"] = Field(
        default="packet", description="what the chain starts from"
    )
    branch: Literal["lower", "upper"] = Field(
        default="lower", description="of the waves in a packet"
    )
    wave_number: float = Field(
        default=1.0,
        ge=-3.2,
        le=3.2,
        description="of the waves in a packet",
        json_schema_extra={"unit": "rad/body"},
    )
    width: float = Field(
        default=8.0, gt=0.0, description="of a packet", json_schema_extra={"unit": "bodies"}
    )
    body: int = Field(
        default=0, ge=0, description="the body that is kicked, the middle of a packet"
    )
    velocity: float = Field(
        default=1.0, description="of the kicked body", json_schema_extra={"unit": "m/s"}
    )
    angular_velocity: float = Field(
        default=0.0, description="of the kicked body", json_schema_extra={"unit": "rad/s"}
    )
    rotational: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        description="share of the energy of random velocities in rotation",
    )
    duration: float = Field(
        default=64.0,
        gt=0.0,
        description="last time that is looked at",
        json_schema_extra={"unit": "s"},
    )
    points: int = Field(default=257, ge=2, le=10_000, description="times, evenly spaced")
    ground: Ground = Field(default=Ground(), description="springs to the ground")
    stops: list[Stopped] = Field(
        default=[],
        max_length=1000,
        description="stops that bodies can hit",
        json_schema_extra={"allowed": "tables with body, gap and stiffness"},
    )
    step: float | None = Field(
        default=None,
        gt=0.0,
        description="longest step where there are stops or springs to the ground",
        json_schema_extra={"unit": "s", "allowed": "(0, inf) s"},
    )


class ChainMotionKind(AnalysisKind):
    """Energies over time, their means and fluctuations, bands, and where energy goes."""

    name = "chain_motion"
    options = ChainMotionOptions
    sampled = None
    needs = frozenset({Role.CHAIN})
    groups: ClassVar = {"motion": ("sample",)}

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for a start that the chain cannot have."""
        if system is None:
            return
        self.beside("compute").first_state(system, options, 0)
        for stop in options.stops:
            if stop.body >= system.bodies:
                raise ValueError(f"stops: body = {stop.body} is not in the chain")

    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""
        return 32.0 * options.points
