"""Exact motion of linear systems, at a cost independent of the time span."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..foundation.quantity import floats
from ..systems.chain import BeamChain
from ..systems.loads import as_load
from ..systems.roles import Linear


def propagate(
    system: Linear,
    state: Real[ArrayLike, "..."] | Sequence,
    times: Real[ArrayLike, " times"] | Sequence,
) -> Float[Array, "..."]:
    r"""Return the exact motion of a linear system from `state` at t = 0 at `times` (s).

    A chain's state (4, bodies) is split into waves (uniform and periodic: two branches
    per wave number) or modes, each rotated by $\omega t$. Any other system has the
    state $(q, \dot q)$, shape (2n,), and is advanced by $e^{A t}$; constant loads,
    harmonic loads and their series augment the state, so that forced motion is exact
    too. Works under `jit`, `vmap` and differentiation (for a chain without symmetry
    with respect to its state only).

    **Raises:** `ValueError` for a state of the wrong shape, a system with contacts, or
    an unsupported load law.

    >>> jv.propagate(tower, [0.01, 0.02, 0.0, 0.0], [0.0, 1.0]).round(4).tolist()
    [[0.01, 0.02, 0.0, 0.0], [0.0073, 0.0147, 0.0301, 0.0603]]
    """
    times = jnp.asarray(times, float)
    state = floats("state", state)
    shape = (4, system.bodies) if isinstance(system, BeamChain) else None
    if shape is None:
        _check_linear(system)
        shape = (2 * system.matrices()[0].shape[0],)
    if state.shape != shape:
        raise ValueError(f"state has shape {state.shape}; allowed: {shape}")
    return _propagate(system, state, times)


@eqx.filter_jit
def _propagate(system, state, times):
    if not isinstance(system, BeamChain):
        return _by_exponential(system, state, times)
    if system.uniform and system.ends == "periodic":
        return _by_waves(system, state, times)
    return _by_modes(system, state, times)


def _by_waves(chain, state, times):
    wave_numbers = 2 * jnp.pi * jnp.arange(chain.bodies // 2 + 1.0) / chain.bodies
    lower, upper, cos, sin = (x.astype(complex) for x in chain.waves(wave_numbers))
    # rotation to coordinates in which stiffness and mass are real and symmetric
    scale = 1j * (chain.length / jnp.sqrt(6 * chain.gamma)).astype(complex)
    y, turn, y_rate, turn_rate = jnp.fft.rfft(state, axis=-1)
    place = _rotate(y, scale * turn, cos, sin)
    rate = _rotate(y_rate, scale * turn_rate, cos, sin)

    def at(time):
        time = time.astype(complex)
        moved = [
            _turn(place[k], rate[k], frequency, time)
            for k, frequency in enumerate((upper, lower))
        ]
        fields = []
        for part in (0, 1):
            y, turn = _rotate(moved[0][part], moved[1][part], cos, -sin)
            fields += [y, turn / scale]
        return jnp.fft.irfft(jnp.stack(fields), chain.bodies, axis=-1)

    return jax.lax.map(at, times)


def _rotate(first, second, cos, sin):
    return cos * first + sin * second, cos * second - sin * first


def _turn(place, rate, frequency, time):
    angle = frequency * time
    # sin(w t)/w tends to t for rigid-body motion, where w = 0
    still = frequency == 0
    safe = jnp.where(still, 1.0, frequency)
    reach = jnp.where(still, time, jnp.sin(angle) / safe)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return cos * place + reach * rate, cos * rate - frequency * sin * place


def _by_modes(chain, state, times):
    weights, rows = chain.strain_rows()
    root = jnp.sqrt(chain.diagonal_mass())
    scaled = jnp.sqrt(weights)[:, None] * rows / root[None, :]
    size = scaled.shape[1]
    missing = max(0, size - scaled.shape[0])  # rows, for the modes of rigid-body motion
    scaled = jnp.pad(scaled, ((0, missing), (0, 0)))
    # Frequencies are singular values: small ones keep digits that eigenvalues lose.
    _, frequencies, modes = jnp.linalg.svd(scaled, full_matrices=False)
    noise = jnp.finfo(scaled.dtype).eps * max(scaled.shape) * frequencies[0]
    frequencies = jnp.where(frequencies > noise, frequencies, 0.0)
    moving = state.reshape(2, 2, -1).swapaxes(1, 2).reshape(2, -1)[:, chain.moving]
    place, rate = (modes @ (root * part) for part in moving)

    def at(time):
        moved = _turn(place, rate, frequencies, time)
        freedoms = jnp.stack([(modes.T @ part) / root for part in moved])
        whole = jnp.zeros((2, 2 * chain.bodies)).at[:, chain.moving].set(freedoms)
        return whole.reshape(2, chain.bodies, 2).swapaxes(1, 2).reshape(4, chain.bodies)

    return jax.lax.map(at, times)


def _by_exponential(system, state, times):
    mass, damping, stiffness = system.matrices()
    size = mass.shape[0]
    solved = jnp.linalg.solve(mass, jnp.concatenate([stiffness, damping], 1))
    top = jnp.concatenate([jnp.zeros((size, size)), jnp.eye(size)], 1)
    matrix = jnp.concatenate([top, -solved])
    full = state
    for load in system.loads:
        response = jnp.linalg.solve(mass, load.push(mass))
        for wave in load.law.waves():
            # the load's state (A cos(w t + phi), A sin(w t + phi))
            turn = wave.frequency * jnp.array([[0.0, -1.0], [1.0, 0.0]])
            start = wave.amplitude * jnp.stack([jnp.cos(wave.phase), jnp.sin(wave.phase)])
            before = matrix.shape[0]
            matrix = jnp.pad(matrix, ((0, 2), (0, 2)))
            matrix = matrix.at[size : 2 * size, before].set(response)
            matrix = matrix.at[before:, before:].set(turn)
            full = jnp.concatenate([full, start])

    def at(time):
        moved = jax.scipy.linalg.expm(matrix * time, max_squarings=64) @ full
        return moved[: 2 * size]

    return jax.lax.map(at, times)


def _check_linear(system) -> None:
    if system.has_contacts:
        raise ValueError("the system has contacts; exact motion requires a linear one")
    if system.frictions or system.springs:
        raise ValueError(
            "frictions or nonlinear springs; exact motion requires a linear system"
        )
    if getattr(system, "elements", ()):
        raise ValueError("elements with states; exact motion requires bodies alone")
    for load in system.loads:
        if (law := as_load(load.law)) is None or law.waves() is None:
            name = type(load.law).__name__
            raise ValueError(
                f"load law {name} has no exact motion; allowed: ConstantLoad, FourierLoad, "
                "HarmonicLoad"
            )
