"""Initial states of a chain: random velocities, a kick, a wave packet."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ...foundation.quantity import Range, check_range
from ...systems.structures.chain import BeamChain


def random_velocities(
    chain: BeamChain,
    key: Array,
    energy: Real[Array, ""] | float = 1.0,
    rotational: Real[ArrayLike, ""] = 0.0,
) -> Float[Array, "4 bodies"]:
    """Return random normal velocities with a mean kinetic `energy` for each body.

    **Arguments:** `key`: of `jax.random`; `rotational`: the share of the energy in
    rotation, in [0, 1]. The chain is at its rest position; velocities at the ends of a
    hinged one are 0. **Raises:** `ValueError` for an energy below 0 or a share outside
    [0, 1].

    >>> state = jv.dynamics.random_velocities(chain, jax.random.key(0), energy=1.0)
    >>> bool((state[:2] == 0).all())
    True
    """
    check_range("energy", energy, "J", Range(at_least=0.0))
    check_range("rotational", rotational, "", Range(at_least=0.0, at_most=1.0))
    drawn = jax.random.normal(key, (2, chain.bodies))
    shares = jnp.stack([1.0 - rotational, jnp.asarray(rotational, float)])
    inertia = jnp.stack([chain.masses, chain.inertias])
    rates = jnp.sqrt(2 * energy * shares[:, None] / inertia) * drawn
    return jnp.concatenate([jnp.zeros_like(rates), _with_fixed_ends(chain, rates)])


def kick(
    chain: BeamChain, body: int, velocity: float = 0.0, angular_velocity: float = 0.0
) -> Float[Array, "4 bodies"]:
    """Return one body's velocity (m/s) and angular velocity (rad/s), others at rest.

    **Raises:** `ValueError` for a body number out of range.

    >>> state = jv.dynamics.kick(chain, body=3, velocity=1.0)
    >>> float(chain.energies(state).translational)
    0.5
    """
    check_range("body", body, "", Range(at_least=0, below=chain.bodies))
    rates = (
        jnp.zeros((2, chain.bodies))
        .at[:, body]
        .set(
            jnp.stack([jnp.asarray(velocity, float), jnp.asarray(angular_velocity, float)])
        )
    )
    return jnp.concatenate([jnp.zeros_like(rates), _with_fixed_ends(chain, rates)])


def wave_packet(
    chain: BeamChain,
    centre: float,
    width: float,
    wave_number: float,
    *,
    upper: bool = False,
    amplitude: float = 1.0,
) -> Float[Array, "4 bodies"]:
    r"""Return a packet of one branch of waves, with the envelope $e^{-(n - c)^2/2 w^2}$.

    It travels with the branch's group velocity (see `BeamChain.bands`). **Arguments:**
    `centre` and `width` in bodies; `wave_number` in rad per body; `amplitude`: of the
    displacement, m, where it is the larger part of the wave. **Raises:** `ValueError`
    for a width that is not positive, a centre outside the chain or a chain with
    defects.

    >>> state = jv.dynamics.wave_packet(chain, centre=16, width=3.0, wave_number=0.9)
    >>> state.shape
    (4, 32)
    """
    check_range("width", width, "bodies", Range(above=0.0))
    last = chain.bodies - 1
    check_range("body in the middle", centre, "", Range(at_least=0.0, at_most=last))
    if not chain.uniform:
        raise ValueError("the chain has defects; wave packets require a uniform chain")
    numbers = jnp.arange(float(chain.bodies)) - centre
    carrier = jax.lax.complex(
        jnp.cos(wave_number * numbers), jnp.sin(wave_number * numbers)
    )
    envelope = amplitude * jnp.exp(-(numbers**2) / (2 * width**2))
    wave = envelope.astype(complex) * carrier
    waves = jnp.fft.fft(wave)
    every = 2 * jnp.pi * jnp.fft.fftfreq(chain.bodies)
    lower_frequency, upper_frequency, cos, sin = chain.waves(every)
    frequency = upper_frequency if upper else lower_frequency
    shift, turn = (cos, sin) if upper else (-sin, cos)
    scale = 1j * (chain.length / jnp.sqrt(6 * chain.gamma)).astype(complex)
    y = waves * shift.astype(complex)
    angle = waves * turn.astype(complex) / scale
    rate = -1j * frequency.astype(complex)
    fields = jnp.stack([y, angle, rate * y, rate * angle])
    fields = jnp.fft.ifft(fields, axis=-1).real
    return jnp.concatenate(
        [_with_fixed_ends(chain, fields[:2]), _with_fixed_ends(chain, fields[2:])]
    )


def _with_fixed_ends(chain, fields):
    """Return fields with y = 0 at the ends of a hinged chain."""
    if chain.ends != "hinged":
        return fields
    return fields.at[0, 0].set(0.0).at[0, -1].set(0.0)
