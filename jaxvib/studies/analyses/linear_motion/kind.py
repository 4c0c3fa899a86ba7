"""The analysis `linear_motion`: free or forced motion of a linear system."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ....foundation.suggestions import unknown_key
from ...config.quantities import Asked, ByKey, Places
from ...config.tables import Table, option
from ..base import AnalysisKind, Role

_PLACES = "a table of degrees of freedom with numbers"


def _of_force(given: Mapping, places: Places) -> Asked:
    return Asked("N m" if given.get("at") in places.angles else "N")


def _displaced(given: Mapping, places: Places) -> ByKey:
    return places.freedom


def _moving(given: Mapping, places: Places) -> ByKey:
    return lambda name: places.state(f"rate of {name}")


class Harmonic(Table):
    """A harmonic force F_0 cos(w t + phase), or moment, on one degree of freedom."""

    units_of: ClassVar = {"amplitude": _of_force}

    at: str | None = option(
        "degree of freedom on which it acts; none without a force", None,
        allowed="the name of a degree of freedom",
    )  # fmt: skip
    amplitude: float = option("0-peak, N, or N m on an angle", 1.0)
    frequency: float = option("angular frequency", 1.0, gt=0.0, unit="rad/s")
    phase: float = option("phase at t = 0", 0.0, unit="rad")


class LinearMotionOptions(Table):
    """Initial state, force and times."""

    units_of: ClassVar = {"displacement": _displaced, "velocity": _moving}

    kind: Literal["linear_motion"] = option("the kind of analysis")
    displacement: dict[str, float] = option(
        "displacements at t = 0, m or rad", {}, allowed=_PLACES
    )
    velocity: dict[str, float] = option(
        "velocities at t = 0, m/s or rad/s", {}, allowed=_PLACES
    )
    force: Harmonic = option("a harmonic force", Harmonic())
    duration: float = option("duration of the simulation", gt=0.0, unit="s")
    points: int = option("times, evenly spaced", 481, ge=2, le=10_000)


class LinearMotionKind(AnalysisKind[LinearMotionOptions]):
    """Exact motion from an initial state or under a harmonic force, with energies."""

    name = "linear_motion"
    options = LinearMotionOptions
    sampled = None
    needs = frozenset({Role.LINEAR})

    def check(
        self,
        options: LinearMotionOptions,
        values: Mapping,
        declared: Mapping,
        system: Any = None,
    ) -> None:
        """Raise `ValueError` for an unknown degree of freedom or no excitation."""
        if not options.displacement and not options.velocity and options.force.at is None:
            raise ValueError(
                "no excitation; allowed: a displacement, a velocity or a force on a "
                "degree of freedom"
            )
        if system is None:
            return
        forced = [] if options.force.at is None else [options.force.at]
        for name in [*options.displacement, *options.velocity, *forced]:
            if name not in system.names:
                raise ValueError(unknown_key("degree of freedom", name, system.names))

    def sample_bytes(self, options: LinearMotionOptions) -> float:
        """Return the stored bytes per sample."""
        return 150.0 * options.points
