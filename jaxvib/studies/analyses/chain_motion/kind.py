"""The study of single chains in motion: from a kick, a wave packet, random velocities."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from pydantic import Field

from ...config.tables import Table
from ...store.fields import Variable, variables
from ..cost import Cost
from ..stacking import stacked
from .fields import fields_of_chains


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


class ChainMotionKind:
    """Energies over time, their means and fluctuations, bands, and where energy goes."""

    name = "chain_motion"
    sampled = None
    groups: Mapping[str, tuple[str, ...]] = {"motion": ("sample",)}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return ChainMotionOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for a start that the chain cannot have."""
        if system is None:
            return
        _start(system, options, 0)
        for stop in options.stops:
            if stop.body >= system.bodies:
                raise ValueError(f"stops: body = {stop.body} is not in the chain")

    def coordinates(self, options) -> list[str]:
        """Return no coordinates beside the swept paths."""
        return []

    def compute(self, system, samples, options, run, progress) -> dict[str, Variable]:
        """Return the motions of samples, each field along the axis `sample`."""
        import equinox as eqx

        from ....dynamics.chains.motion import chain_motion
        from ....systems import replace

        times = np.linspace(0.0, options.duration, options.points)

        @eqx.filter_jit
        def moved(values):
            chain = replace(system, values)
            start = _start(chain, options, run.seed)
            return chain_motion(chain, start, times, **_forces(options))

        rows = []
        for values in zip(*samples.values(), strict=True) if samples else [()]:
            rows.append(
                moved({p: np.asarray(v) for p, v in zip(samples, values, strict=True)})
            )
            progress(1)
        return variables(stacked(rows), ("sample",))

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/wave_packet.toml`."""
        return Cost(4.0, 6.0, 1e-3 * options.points, 5.0, 32.0 * options.points, ("moved",))

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return the energy density and frames of evenly chosen samples."""

        def start(chain):
            return _start(chain, study.analysis, study.run.seed)

        return fields_of_chains(system, samples, study, start, **_forces(study.analysis))

    def summary(self, read: Callable, study) -> list[str]:
        """Return the mean energies and fluctuations of at most four samples."""
        lines = []
        for sample in range(min(4, len(read("result")))):
            at = "".join(f"{path} = {read(path)[sample]:.5g}: " for path in study.paths)
            parts = ", ".join(
                f"{kind} {read(f'statistics.mean.{kind}')[sample]:.4g} +- "
                f"{read(f'statistics.fluctuation.{kind}')[sample]:.2g} J"
                for kind in ("translational", "rotational", "potential")
            )
            lines.append(f"energies   {at}{parts} (mean over time +- fluctuation)")
        return [*lines, f"energy     kept to {read('energy_change').max():.1g}"]


def _forces(options) -> dict:
    """Return what makes a chain not linear, and how it is stepped then."""
    import jax.numpy as jnp

    from ....dynamics import CubicGround, Stop
    from ....systems import HertzContact

    ground = (options.ground.stiffness, options.ground.cubic)
    held = (CubicGround(*map(jnp.asarray, ground)),) if any(ground) else ()
    stops = tuple(
        Stop(stop.body, jnp.asarray(stop.gap), HertzContact(jnp.asarray(stop.stiffness)))
        for stop in options.stops
    )
    return {"forces": (*held, *stops), "step": options.step}


def _start(chain, options, seed: int):
    import jax

    from ....dynamics import kick, random_velocities, wave_packet
    from ....systems import BeamChain

    if options.start == "packet":
        # of the chain without its defects, which a packet has yet to meet
        plain = BeamChain(
            chain.bodies, chain.gamma, chain.ends, mass=chain.mass, length=chain.length,
            bending_stiffness=chain.bending_stiffness,
        )  # fmt: skip
        return wave_packet(
            plain, float(options.body), options.width, options.wave_number,
            upper=options.branch == "upper",
        )  # fmt: skip
    if options.start == "kick":
        return kick(chain, options.body, options.velocity, options.angular_velocity)
    key = jax.random.fold_in(jax.random.key(seed), 0)
    return random_velocities(chain, key, 1.0, options.rotational)
