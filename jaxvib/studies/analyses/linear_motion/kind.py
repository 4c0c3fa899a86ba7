"""The study of an assembled system in free or forced motion."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field

from ...._nearest import unknown_key
from ...config.tables import Table
from ...store.fields import Variable, variables
from ..cost import Cost
from ..stacking import each_system

_PLACES: dict[str, Any] = {"allowed": "a table of freedoms with numbers"}


class Harmonic(Table):
    """The force F_0 cos(w t + phase), or moment, on one freedom."""

    at: str | None = Field(
        default=None,
        description="the freedom that it acts on; none without a force",
        json_schema_extra={"allowed": "a freedom's name"},
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


class LinearMotionKind:
    """Exact motion from a given start or under a harmonic force, energies by module."""

    name = "linear_motion"
    sampled = None
    groups: Mapping[str, tuple[str, ...]] = {}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return LinearMotionOptions

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
                raise ValueError(unknown_key("freedom", name, system.names))

    def coordinates(self, options) -> list[str]:
        """Return no coordinates beside the swept paths."""
        return []

    def compute(self, system, samples, options, run, progress) -> dict[str, Variable]:
        """Return the motions of samples, each field along the axis `sample`."""
        import jax.numpy as jnp

        from ....dynamics.assembly_motion import assembly_motion
        from ....ensemble import map_samples
        from ....systems import AppliedLoad, HarmonicLoad

        times = np.linspace(0.0, options.duration, options.points)
        start = jnp.concatenate(
            [system.direction(place) for place in (options.displacement, options.velocity)]
        )
        force = options.force
        loads = ()
        if force.at is not None:
            law = HarmonicLoad(*map(jnp.asarray, (force.amplitude, force.frequency,
                                                  force.phase)))  # fmt: skip
            loads = (AppliedLoad(system.direction(force.at), law),)

        def moved(each):
            return assembly_motion(each, start, times, loads=loads)

        found = map_samples(moved, each_system(system, samples), progress=progress)
        return variables(found, ("sample",))

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/tower_motion.toml`."""
        return Cost(
            4.0, 4.0, 1e-3 * options.points, 3.0, 150.0 * options.points, ("moved",)
        )

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return nothing: there are no groups."""
        return {}

    def summary(self, read: Callable, study) -> list[str]:
        """Return how far each freedom goes at most, over all samples; at most five."""
        names = study.axes["freedom"]
        places, times = np.abs(read("places")), read("instants")[0]
        lines = []
        for position, name in enumerate(names[:5]):
            sample, at = np.unravel_index(
                np.nanargmax(places[:, :, position]), places.shape[:2]
            )
            where = "".join(f", {p} = {read(p)[sample]:.5g}" for p in study.paths)
            lines.append(
                f"furthest   {name} {places[sample, at, position]:.4g} at "
                f"t = {times[at]:.4g} s{where}"
            )
        return lines
