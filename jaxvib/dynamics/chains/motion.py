"""Motion of one chain: energies over time, their means and fluctuations, and fields."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ...drawing.plottable import Plottable, ResultRepr
from ...ensemble import Reason
from ...foundation.quantity import (
    Range,
    check_ascending,
    check_count,
    check_range,
    floats,
    result_field,
)
from ...systems.structures.chain import BeamChain, ChainEnergies
from ..propagation import propagate
from .energy import beam_shapes, energy_field
from .stepping import checked_fields, step_chain

# Wave numbers of the reported bands, including 0 and the ends of the zone: a band's
# maximum between two of them is missed by 3e-4 of it at most.
_WAVES = 129
# Frames in the shortest period: the sampling theorem requires more than two; six show
# the direction of a wave.
_PER_PERIOD = 6
FINE = 0.1  # a step times the highest frequency: of order 4, an error of some 1e-6


class EnergyStatistics(Plottable):
    """Averages of energies over time and their root-mean-square fluctuations."""

    mean: ChainEnergies
    fluctuation: ChainEnergies


class ChainMotion(ResultRepr):
    """Energies of one chain over time, and the bands of its waves."""

    instants: Float[Array, " time"] = result_field("time", "s", ("time",))
    translational: Float[Array, " time"] = result_field(
        "translational kinetic energy", "J", ("time",)
    )
    rotational: Float[Array, " time"] = result_field(
        "rotational kinetic energy", "J", ("time",)
    )
    potential: Float[Array, " time"] = result_field("potential energy", "J", ("time",))
    statistics: EnergyStatistics
    energy_change: Float[Array, ""] = result_field("largest relative change of energy")
    wave_numbers: Float[Array, " wave"] = result_field("wave number", "rad/body", ("wave",))
    lower: Float[Array, " wave"] = result_field("lower branch", "rad/s", ("wave",))
    upper: Float[Array, " wave"] = result_field("upper branch", "rad/s", ("wave",))
    lower_velocity: Float[Array, " wave"] = result_field(
        "group velocity, lower branch", "bodies/s", ("wave",)
    )
    upper_velocity: Float[Array, " wave"] = result_field(
        "group velocity, upper branch", "bodies/s", ("wave",)
    )
    result: Int[Array, ""] = result_field("reason code")


class ChainFields(ResultRepr):
    """Energy fields of a chain, and frames of its motion with moments and shears."""

    density: Float[Array, "time body"] = result_field(
        "energy of a body", "J", ("time", "body")
    )
    flux: Float[Array, "time beam"] = result_field(
        "energy flux to the right", "W", ("time", "beam")
    )
    frames: Float[Array, " frame"] = result_field("time of a frame", "s", ("frame",))
    states: Float[Array, "frame field body"] = result_field(
        "displacement, rotation and their rates", "", ("frame", "field", "body")
    )
    moments: Float[Array, "frame beam end"] = result_field(
        "bending moment at both ends of each beam", "N m", ("frame", "beam", "end")
    )
    shears: Float[Array, "frame beam"] = result_field(
        "shear in each beam", "N", ("frame", "beam")
    )


def energy_statistics(energies: ChainEnergies) -> EnergyStatistics:
    r"""Return averages over the last axis, evenly spaced times, and fluctuations.

    The fluctuation is $\sqrt{\langle E^2 \rangle - \langle E \rangle^2}$, taken about
    the mean so that no digits cancel.

    >>> states = jv.propagate(
    ...     chain, jv.dynamics.kick(chain, 3, 1.0), np.linspace(0.0, 9.0, 50)
    ... )
    >>> found = jv.dynamics.energy_statistics(jax.vmap(chain.energies)(states))
    >>> type(found).__name__
    'EnergyStatistics'
    """
    return EnergyStatistics(
        jax.tree.map(lambda e: jnp.mean(e, -1), energies),
        jax.tree.map(lambda e: jnp.std(e, -1), energies),
    )


def chain_motion(
    chain: BeamChain,
    state: Real[ArrayLike, "4 bodies"] | Sequence[Any],
    times: Real[ArrayLike, " times"] | Sequence[Any],
    *,
    forces: tuple[eqx.Module, ...] = (),
    step: Real[ArrayLike, ""] | float | None = None,
) -> ChainMotion:
    """Return a chain's energies at evenly spaced `times` (s) from `state`.

    Exactly, or with `forces` (`CubicGround`, `Stop`: see `step_chain`) by symplectic
    steps of order 4 and of at most `step` (s), by default a tenth of the highest
    frequency's inverse. The energy stored in `forces` counts as potential energy.

    >>> state = jv.dynamics.kick(chain, body=3, velocity=1.0)
    >>> motion = jv.dynamics.chain_motion(chain, state, np.linspace(0.0, 10.0, 11))
    >>> float(motion.energy_change) < 1e-12
    True
    """
    state, times = _checked(chain, state, times, forces)
    states = _moved(chain, state, times, forces, step)
    energies = _energies(chain, states, forces)
    start = _energies(chain, state[None], forces).total
    change = jnp.max(jnp.abs(energies.total / start - 1))
    waves = jnp.linspace(-jnp.pi, jnp.pi, _WAVES)
    bands = chain.bands(waves)
    code = jnp.where(
        jnp.all(jnp.isfinite(energies.total)),
        int(Reason.SUCCESS),
        int(Reason.BAD_PARAMETER),
    )
    return ChainMotion(
        times, energies.translational, energies.rotational, energies.potential,
        energy_statistics(energies), change, waves, bands.lower, bands.upper,
        bands.lower_velocity, bands.upper_velocity, code.astype(jnp.int32),
    )  # fmt: skip


def chain_fields(
    chain: BeamChain,
    state: Real[ArrayLike, "4 bodies"] | Sequence[Any],
    times: Real[ArrayLike, " times"] | Sequence[Any],
    frames: int = 121,
    *,
    forces: tuple[eqx.Module, ...] = (),
    step: Real[ArrayLike, ""] | float | None = None,
) -> ChainFields:
    """Return energy density and flux at `times` (s), and frames of every oscillation.

    Frames are evenly spaced, six or more in the shortest period of a wave, and end at
    the last time or before. `forces` and `step` are those of `chain_motion`; the energy
    stored in a ground spring or a stop is not attributed to any body.

    >>> state = jv.dynamics.kick(chain, body=3, velocity=1.0)
    >>> fields = jv.dynamics.chain_fields(chain, state, [0.0, 5.0], frames=12)
    >>> round(float(fields.density[1].sum()), 6)
    0.5
    """
    check_count("frames", frames, 4 * chain.bodies)
    state, times = _checked(chain, state, times, forces)
    last = jnp.minimum(times[-1], (frames - 1) * 2 * jnp.pi / _highest(chain) / _PER_PERIOD)
    shown = jnp.linspace(0.0, last, frames)
    field = jax.lax.map(
        lambda s: energy_field(chain, s), _moved(chain, state, times, forces, step)
    )
    states = _moved(chain, state, shown, forces, step)
    beams = jax.vmap(lambda s: beam_shapes(chain, s, 2))(states)
    return ChainFields(field.density, field.flux, shown, states, beams.moment, beams.shear)


def _checked(chain, state, times, forces) -> tuple[Array, Array]:
    state, times = checked_fields(chain, state), floats("times", times)
    if times.ndim != 1 or not times.size:
        raise ValueError(f"times has shape {times.shape}; allowed: (times,), not empty")
    check_range("times", times, "s", Range(at_least=0.0) if forces else Range())
    if forces:
        check_ascending("times", times, "s")
    return state, times


def _moved(chain, state, times, forces, step):
    if not forces:
        return propagate(chain, state, times)
    longest = FINE / _highest(chain) if step is None else step

    def on(state, interval):
        steps = jnp.maximum(jnp.ceil(interval / longest), 1.0)
        state = step_chain(chain, state, interval, steps, forces=forces, order=4)
        return state, state

    intervals = jnp.diff(times, prepend=0.0)
    return jax.lax.scan(on, state, intervals)[1]


def _energies(chain, states, forces) -> ChainEnergies:
    energies = chain.energies(states)
    outside = sum(jax.vmap(force.energy)(states[:, :2]) for force in forces)
    return ChainEnergies(
        energies.translational, energies.rotational, energies.potential + outside
    )


def _highest(chain):
    return jnp.max(chain.bands(jnp.linspace(0.0, jnp.pi, _WAVES)).upper)
