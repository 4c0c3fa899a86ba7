"""The analysis `chain_motion`: motions of single chains."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ...config.tables import Table, option
from ..base import AnalysisKind, Role


class Ground(Table):
    """A spring from every body to the ground, f = -k y - c y^3."""

    stiffness: float = option(
        "k of a spring from every body to the ground", 0.0, unit="N/m"
    )
    cubic: float = option("c of a spring from every body to the ground", 0.0, unit="N/m^3")


class Stopped(Table):
    """A Hertz stop at a distance from a body."""

    body: int = option("the body that can hit the stop", ge=0)
    gap: float = option("gap at rest", unit="m")
    stiffness: float = option("Hertz stiffness K of the contact", gt=0.0, unit="N/m^1.5")


class ChainMotionOptions(Table):
    """Initial state, duration, ground springs and stops of a chain."""

    kind: Literal["chain_motion"] = option("the kind of analysis")
    start: Literal["packet", "kick", "random"] = option(
        "initial state of the chain", "packet"
    )
    branch: Literal["lower", "upper"] = option("dispersion branch of a packet", "lower")
    wave_number: float = option(
        "wave number of a packet", 1.0, ge=-3.2, le=3.2, unit="rad/body"
    )
    width: float = option("width of a packet", 8.0, gt=0.0, unit="bodies")
    body: int = option("the kicked body, or the centre of a packet", 0, ge=0)
    velocity: float = option("velocity of the kicked body", 1.0, unit="m/s")
    angular_velocity: float = option(
        "angular velocity of the kicked body", 0.0, unit="rad/s"
    )
    rotational: float = option(
        "rotational share of the energy of random velocities", 0.0, ge=0.0, le=1.0
    )
    duration: float = option("duration of the simulation", 64.0, gt=0.0, unit="s")
    points: int = option("times, evenly spaced", 257, ge=2, le=10_000)
    ground: Ground = option("springs to the ground", Ground())
    stops: list[Stopped] = option(
        "stops", [], max_length=1000,
        allowed="tables with body, gap and stiffness",
    )  # fmt: skip
    step: float | None = option(
        "largest step size with stops or ground springs", None, gt=0.0,
        unit="s", allowed="(0, inf) s",
    )  # fmt: skip


class ChainMotionKind(AnalysisKind[ChainMotionOptions]):
    """Energies over time, means and fluctuations, dispersion, energy transport."""

    name = "chain_motion"
    options = ChainMotionOptions
    sampled = None
    needs = frozenset({Role.CHAIN})
    groups: ClassVar = {"motion": ("sample",)}

    def check(
        self,
        options: ChainMotionOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for an invalid initial state or stop."""
        if system is None:
            return
        self.submodule("compute").first_state(system, options, 0)
        for stop in options.stops:
            if stop.body >= system.bodies:
                raise ValueError(f"stops: body = {stop.body} is not in the chain")

    def sample_bytes(self, options: ChainMotionOptions) -> float:
        """Return the stored bytes per sample."""
        return 32.0 * options.points
