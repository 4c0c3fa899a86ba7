"""Energy density and flux in a chain, moments in its beams, and energy partition."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ...drawing.plottable import ResultRepr
from ...foundation.quantity import Range, check_count, check_range, result_field
from ...systems.structures.chain import BeamChain
from .stepping import checked_fields

_SHARE = Range(at_least=0.0, at_most=1.0)


class EnergyField(ResultRepr):
    """Energy of each body with half of its beams, and flux through each beam."""

    density: Float[Array, "... bodies"] = result_field("energy of a body", "J", ("body",))
    flux: Float[Array, "... beams"] = result_field(
        "energy flux to the right", "W", ("beam",)
    )


class BeamShapes(ResultRepr):
    """Deflection, moment and shear along every beam, at equally spaced points."""

    positions: Float[Array, " points"] = result_field(
        "position in the beam", "m", ("point",)
    )
    deflection: Float[Array, "beams points"] = result_field(
        "deflection", "m", ("beam", "point")
    )
    moment: Float[Array, "beams points"] = result_field(
        "bending moment E J_b y''", "N m", ("beam", "point")
    )
    shear: Float[Array, " beams"] = result_field("shear E J_b y'''", "N", ("beam",))


class KineticSplit(ResultRepr):
    """Shares of the total energy in translation and in rotation."""

    translational: Float[Array, "..."] = result_field("translational share")
    rotational: Float[Array, "..."] = result_field("rotational share")


def energy_field(
    chain: BeamChain, state: Real[ArrayLike, "4 bodies"] | Sequence[Any]
) -> EnergyField:
    r"""Return the energy of each body and the flux through each beam.

    Half of a beam's energy is attributed to each of its bodies ($e_i$). With $P^l$,
    $P^r$ the powers of a beam on its left and its right body, the flux $j = (P^r -
    P^l)/2$ satisfies the balance $\dot e_i = j_{i-1} - j_i$ exactly.

    >>> state = jv.dynamics.kick(chain, body=3, velocity=1.0)
    >>> float(jv.dynamics.energy_field(chain, state).density.sum())
    0.5
    """
    state = checked_fields(chain, state)
    sheared, bent = chain.strains(state[:2])
    weights = chain.strain_weights()
    force, moment = weights[0] * sheared, weights[1] * bent
    stored = (force * sheared + moment * bent) / 2
    half = chain.length / 2
    (left, right), (p, q) = (chain.beam_motion(rate) for rate in state[2:])
    to_left = force * (left + half * p) - moment * p
    to_right = force * (half * q - right) + moment * q
    kinetic = (chain.masses * state[2] ** 2 + chain.inertias * state[3] ** 2) / 2
    density = kinetic + chain.on_bodies(stored, 1.0) / 2
    return EnergyField(density, (to_right - to_left) / 2)


def beam_shapes(
    chain: BeamChain, state: Real[ArrayLike, "4 bodies"] | Sequence[Any], points: int = 9
) -> BeamShapes:
    r"""Return the cubic of every beam, its moment $E J_b y''$ and shear $E J_b y'''$.

    >>> state = jv.dynamics.wave_packet(chain, centre=16, width=3.0, wave_number=0.9)
    >>> jv.dynamics.beam_shapes(chain, state).deflection.shape
    (32, 9)
    """
    check_count("points", points, chain.bodies)
    state = checked_fields(chain, state)
    length = chain.length
    s = jnp.linspace(0.0, 1.0, points)
    (y1, y2), (p, q) = (chain.beam_motion(field) for field in state[:2])
    basis = jnp.stack(
        [1 - 3 * s**2 + 2 * s**3, s - 2 * s**2 + s**3, 3 * s**2 - 2 * s**3, s**3 - s**2]
    )
    bends = jnp.stack([12 * s - 6, 6 * s - 4, 6 - 12 * s, 6 * s - 2])
    ends = jnp.stack([y1, length * p, y2, length * q], -1)
    stiffness = chain.stiffnesses
    moment = stiffness[:, None] * (ends @ bends) / length**2
    shear = stiffness * (ends @ jnp.array([12.0, 6.0, -12.0, 6.0])) / length**3
    return BeamShapes(s * length, ends @ basis, moment, shear)


def kinetic_split(
    chain: BeamChain,
    times: Real[ArrayLike, "..."] | Sequence[Any],
    rotational: Real[ArrayLike, ""] | float = 0.0,
    *,
    points: int = 4096,
) -> KineticSplit:
    r"""Return the mean partition of energy over time in an infinite uniform chain.

    All energy is given as random velocities at t = 0, its share `rotational` in
    rotation. With $\theta(q)$ from `BeamChain.waves`, translation keeps

    $$\frac{1}{2\pi} \int \bigl(\cos^2\theta \cos\omega_2 t + \sin^2\theta \cos\omega_1 t
      \bigr)^2 dq$$

    of its initial energy and passes $\frac{1}{2\pi} \int \sin^2\theta \cos^2\theta
    (\cos\omega_2 t - \cos\omega_1 t)^2 dq$ to rotation, and vice versa. `points` of the
    Brillouin zone suffice until waves have crossed as many bodies.

    >>> round(float(jv.dynamics.kinetic_split(chain, 4.0).translational), 4)
    0.4721
    """
    check_range("times", times, "s", Range())
    check_range("rotational", rotational, "", _SHARE)
    times = jnp.asarray(times, float)
    lower, upper, cos, sin = chain.waves(_zone(points))

    def at(time):
        fast, slow = jnp.cos(upper * time), jnp.cos(lower * time)
        translation = jnp.mean((cos**2 * fast + sin**2 * slow) ** 2)
        rotation = jnp.mean((sin**2 * fast + cos**2 * slow) ** 2)
        exchange = jnp.mean((cos * sin * (fast - slow)) ** 2)
        return translation, rotation, exchange

    translation, rotation, exchange = jax.lax.map(at, times.reshape(-1))
    turning = jnp.asarray(rotational, float)
    shares = (
        (1 - turning) * translation + turning * exchange,
        turning * rotation + (1 - turning) * exchange,
    )
    return KineticSplit(*(share.reshape(times.shape) for share in shares))


def equilibrium_split(
    chain: BeamChain,
    rotational: Real[ArrayLike, ""] | float = 0.0,
    *,
    points: int = 4096,
) -> KineticSplit:
    r"""Return the long-time limit of `kinetic_split`, from the band structure.

    $$\frac12 (1 - \rho) - (1 - 2 \rho) R, \quad \frac12 \rho + (1 - 2 \rho) R, \qquad
      R = \frac{1}{2\pi} \int \cos^2\theta \sin^2\theta \, dq,$$

    with $\rho$ the share given to rotation; the other half is potential. At
    $\gamma = 1$ and $\rho = 0$: $(\sqrt 6 - 1)/4$ and $(3 - \sqrt 6)/4$.

    >>> round(float(jv.dynamics.equilibrium_split(chain).rotational), 6)
    0.137628
    """
    check_range("rotational", rotational, "", _SHARE)
    _, _, cos, sin = chain.waves(_zone(points))
    passed = jnp.mean((cos * sin) ** 2)
    turning = jnp.asarray(rotational, float)
    exchanged = (1 - 2 * turning) * passed
    return KineticSplit((1 - turning) / 2 - exchanged, turning / 2 + exchanged)


def _zone(points):
    check_count("points", points, 4)  # two bands, and cosine and sine of their shapes
    # midpoints: the integrand is periodic, so the sum converges faster than any power
    return 2 * jnp.pi * (jnp.arange(float(points)) + 0.5) / points - jnp.pi
