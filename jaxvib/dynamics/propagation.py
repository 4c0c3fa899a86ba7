"""Exact motion of linear systems, at a cost independent of the time span."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range, check_shape, floats
from ..systems.base.roles import Linear
from ..systems.base_motion import pushes
from ..systems.loads import as_load
from ..systems.structures.chain import BeamChain

_NORM, _SQUARINGS = 4.0, 64  # of the scaled exponential: its norm, and at most how many


def propagate(
    system: Linear,
    state: Real[ArrayLike, "..."] | Sequence[Any],
    times: Real[ArrayLike, " times"] | Sequence[Any],
) -> Float[Array, "..."]:
    r"""Return the exact motion of a linear system from `state` at t = 0 at `times` (s).

    A chain's state (4, bodies) is split into waves (uniform and periodic: two branches
    per wave number) or modes, each rotated by $\omega t$. Any other system has the
    state $(q, \dot q)$, shape (2n,), and is advanced by $e^{A t}$, with an error of
    rounding times the norm of $A t$ in mass-normalised coordinates; constant loads,
    harmonic loads and their series augment the state, so that forced motion is exact
    too. Works under `jit`, `vmap` and differentiation (for a chain without symmetry
    with respect to its state only).

    **Raises:** `ValueError` for a state or times that are not finite or of the wrong
    shape, a chain with hinged ends that move, a system with contacts, or an unsupported
    load law.

    >>> jv.propagate(tower, [0.01, 0.02, 0.0, 0.0], [0.0, 1.0]).round(4).tolist()
    [[0.01, 0.02, 0.0, 0.0], [0.0073, 0.0147, 0.0301, 0.0603]]
    """
    times, state = floats("times", times), floats("state", state)
    if times.ndim != 1:
        raise ValueError(f"times has shape {times.shape}; allowed: (times,)")
    check_range("times", times, "s", Range())
    check_range("state", state, "", Range())
    shape = (4, system.bodies) if isinstance(system, BeamChain) else None
    if shape is None:
        _check_linear(system)
        shape = (2 * system.matrices()[0].shape[0],)
    check_shape("state", state, shape)
    if isinstance(system, BeamChain):
        _check_held(system, state)
    return _propagate(system, state, times)


def _check_held(chain, state) -> None:
    held = np.delete(np.arange(2 * chain.bodies), chain.moving) // 2
    if is_concrete(state) and np.any(np.asarray(state)[::2, held]):
        raise ValueError(
            f"state moves y of the bodies {', '.join(map(str, held))}, which are hinged; "
            "allowed: 0"
        )


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
        field = jnp.zeros((2, 2 * chain.bodies)).at[:, chain.moving].set(freedoms)
        return field.reshape(2, chain.bodies, 2).swapaxes(1, 2).reshape(4, chain.bodies)

    return jax.lax.map(at, times)


def _by_exponential(system, state, times):
    mass, damping, stiffness = system.matrices()
    size = mass.shape[0]
    # In L^T q with M = L L^T, velocities over a frequency, and load states as
    # displacements, all entries are of one size: squaring their exponential loses the
    # digits of those that are small, as velocities in rad/s or masses in t make them.
    factor = jnp.linalg.cholesky(mass)
    normal = [_solve(factor, _solve(factor, m).T).T for m in (stiffness, damping)]
    waves = [
        (_solve(factor, push), wave)
        for load in system.loads
        for push, law in pushes(load, (mass, damping, stiffness))
        for wave in law.waves()
    ]
    unit = _frequency(normal, [wave.frequency for _, wave in waves], times)
    top = jnp.concatenate([jnp.zeros((size, size)), unit * jnp.eye(size)], 1)
    matrix = jnp.concatenate([top, -jnp.concatenate([normal[0] / unit, normal[1]], 1)])
    place, rate = (factor.T @ part for part in jnp.split(state, 2))
    full = jnp.concatenate([place, rate / unit])
    for push, wave in waves:
        # the load's state, a multiple of (A cos(w t + phi), A sin(w t + phi))
        largest = jax.lax.stop_gradient(jnp.max(jnp.abs(push)))
        largest = jnp.where(largest > 0, largest, 1.0)
        turn = wave.frequency * jnp.array([[0.0, -1.0], [1.0, 0.0]])
        start = jnp.stack([jnp.cos(wave.phase), jnp.sin(wave.phase)])
        before = matrix.shape[0]
        matrix = jnp.pad(matrix, ((0, 2), (0, 2)))
        matrix = matrix.at[size : 2 * size, before].set(unit * push / largest)
        matrix = matrix.at[before:, before:].set(turn)
        full = jnp.concatenate([full, wave.amplitude * largest / unit**2 * start])

    def at(time):
        moved = _exponential(matrix * time) @ full
        place, rate = moved[:size], unit * moved[size : 2 * size]
        return jnp.concatenate([_solve(factor, part, trans=1) for part in (place, rate)])

    return jax.lax.map(at, times)


def _solve(factor, right, trans=0):
    return jax.scipy.linalg.solve_triangular(factor, right, lower=True, trans=trans)


def _frequency(normal, frequencies, times) -> Float[Array, ""]:
    """Return the unit of frequency, rad/s, from mass-normalised matrices."""
    strain, loss = (jnp.max(jnp.sum(jnp.abs(m), 1)) for m in normal)
    last = jnp.max(jnp.abs(times), initial=0.0)
    own = jnp.where(strain > 0, jnp.sqrt(strain), loss)
    longest = jnp.where(last > 0, 1 / jnp.where(last > 0, last, 1.0), 1.0)
    return jax.lax.stop_gradient(jnp.max(jnp.stack([own, longest, *map(abs, frequencies)])))


def _exponential(matrix):
    # JAX scales to norms of up to 10.7, twice those for which its approximant is exact:
    # six digits are lost.
    norm = jax.lax.stop_gradient(jnp.max(jnp.sum(jnp.abs(matrix), 0)))
    squarings = jnp.clip(jnp.ceil(jnp.log2(norm / _NORM)), 0.0, _SQUARINGS)
    small = jax.scipy.linalg.expm(matrix / 2.0**squarings, max_squarings=0)

    def square(power, count):
        return jax.lax.cond(count < squarings, lambda x: x @ x, lambda x: x, power), None

    return jax.lax.scan(square, small, jnp.arange(float(_SQUARINGS)))[0]


def _check_linear(system) -> None:
    if system.has_contacts:
        raise ValueError("the system has contacts; exact motion requires a linear one")
    if system.frictions or system.springs:
        raise ValueError(
            "frictions or nonlinear springs; exact motion requires a linear system"
        )
    if system.elements:
        raise ValueError("elements with states; exact motion requires bodies alone")
    for load in system.loads:
        if (law := as_load(load.law)) is None or law.waves() is None:
            name = type(load.law).__name__
            raise ValueError(
                f"load law {name} has no exact motion; allowed: ConstantLoad, FourierLoad, "
                "HarmonicLoad"
            )
