"""Rates of amplitudes, and of the states that they stand for."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.types import Number
from .contact import axis_laws
from .gaps import Gaps
from .modal_form import ModalForm


def state_and_rate(
    system: ModalForm, gaps: Gaps, y: Float[Array, " y"], time: Number
) -> tuple[Float[Array, " state"], Float[Array, " state"]]:
    r"""Return the state and its rate, from that of the amplitudes.

    As velocities have the shapes $\lambda_k$ times those of displacements, those of
    displacements suffice: reading them takes most of the time.
    """
    own = rates_of_amplitudes(system, gaps, y, time)
    half = system.forced.shape[-1] // 2
    rows = jnp.stack([y, own, system.modes.eigenvalues.of(own)])
    place, speed, bend = rows @ system.modes.shapes[:, :half]
    steady = system.carried(time)
    angle = system.frequency * time + system.phase
    turn = jnp.stack([-jnp.sin(angle), jnp.cos(angle)]) * system.frequency[None]
    place = place + steady[:half] + system.motion.offset
    speed = speed + steady[half:]
    bend = bend + jnp.tensordot(turn, system.forced[..., half:], 2)
    return jnp.concatenate([place, speed]), jnp.concatenate([speed, bend])


def rates_of_amplitudes(
    system: ModalForm, gaps: Gaps, y: Float[Array, " y"], time: Number
) -> Float[Array, " y"]:
    """Return the rates of amplitudes y at a time."""
    along = gaps.at(y, time)[:, None]
    forces = axis_laws(system.motion, along[0], along[1])[0]
    return system.modes.eigenvalues.of(y) - system.pushes @ forces
