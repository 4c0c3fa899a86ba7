"""Computes motions of single chains and their energies, and their summary."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ....dynamics import CubicGround, Stop, kick, random_velocities, wave_packet
from ....dynamics.chains.motion import chain_motion
from ....foundation.arrays import stack_lanes
from ....systems import BeamChain, HertzContact, replace
from ...store.fields import Variable, variables
from ...store.rows import Rows
from ..summary_text import at
from .fields import fields_of_chains
from .kind import ChainMotionOptions


def compute(
    system: BeamChain,
    samples: Mapping[str, np.ndarray],
    options: ChainMotionOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the motions of samples, each field along the axis `sample`."""
    times = np.linspace(0.0, options.duration, options.points)

    @eqx.filter_jit
    def moved(values):
        chain = replace(system, values)
        start = first_state(chain, options, run.seed)
        return chain_motion(chain, start, times, **_forces(options))

    rows = []
    for values in zip(*samples.values(), strict=True) if samples else [()]:
        rows.append(moved({p: np.asarray(v) for p, v in zip(samples, values, strict=True)}))
        progress(1)
    return variables(stack_lanes(rows), ("sample",))


def group(
    name: str,
    system: BeamChain,
    samples: Mapping[str, np.ndarray | Rows],
    study: Any,
    read: Callable,
) -> dict[str, Variable]:
    """Return the energy density and frames of an even subsample."""

    def start(chain):
        return first_state(chain, study.analysis, study.run.seed)

    return fields_of_chains(system, samples, study, start, **_forces(study.analysis))


def summary(read: Callable, study: Any) -> list[str]:
    """Return the mean energies and fluctuations of up to four samples."""
    lines = []
    for sample in range(min(4, len(read("result")))):
        where = at(read, study, sample)
        where = f"{where}: " if where else ""
        parts = ", ".join(
            f"{kind} {read(f'statistics.mean.{kind}')[sample]:.4g} +- "
            f"{read(f'statistics.fluctuation.{kind}')[sample]:.2g} J"
            for kind in ("translational", "rotational", "potential")
        )
        lines.append(f"energies   {where}{parts} (mean over time +- fluctuation)")
    return [*lines, f"energy     conserved to {read('energy_change').max():.1g}"]


def _forces(options) -> dict:
    """Return the nonlinear forces of a chain, with the step size."""
    ground = (options.ground.stiffness, options.ground.cubic)
    springs = (CubicGround(*map(jnp.asarray, ground)),) if any(ground) else ()
    stops = tuple(
        Stop(stop.body, jnp.asarray(stop.gap), HertzContact(jnp.asarray(stop.stiffness)))
        for stop in options.stops
    )
    return {"forces": (*springs, *stops), "step": options.step}


def first_state(chain: BeamChain, options: ChainMotionOptions, seed: int) -> Array:
    """Return the initial state of a chain. **Raises:** `ValueError` if invalid."""
    return _STARTS[options.start](chain, options, seed)


def _packet(chain, options, seed: int):
    # of the chain without defects, which the packet has not reached yet
    plain = BeamChain(
        chain.bodies, chain.gamma, chain.ends, mass=chain.mass, length=chain.length,
        bending_stiffness=chain.bending_stiffness,
    )  # fmt: skip
    return wave_packet(
        plain, float(options.body), options.width, options.wave_number,
        upper=options.branch == "upper",
    )  # fmt: skip


def _kick(chain, options, seed: int):
    return kick(chain, options.body, options.velocity, options.angular_velocity)


def _random(chain, options, seed: int):
    key = jax.random.fold_in(jax.random.key(seed), 0)
    return random_velocities(chain, key, 1.0, options.rotational)


_STARTS = {"packet": _packet, "kick": _kick, "random": _random}
