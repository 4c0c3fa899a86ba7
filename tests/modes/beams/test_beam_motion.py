"""Checked against: Hermite elements in time by matrix exponentials, and the response."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import jaxvib as jv

BEAM = jv.Beam(2.0, 3.0, 5.0, ("clamped", "free"))
SYSTEM = jv.oscillators_on_beam(BEAM, [0.5, 1.5], [0.3, 0.8], [20.0, 7.0], [0.4, 0.1])
TIMES = np.linspace(0.0, 12.0, 241)
FORCE = np.interp(TIMES, [0.0, 1.0, 4.0, 5.0, 12.0], [0.0, 2.0, -1.0, 0.0, 0.5])


def elements(number):
    """Return (M, C, K) of the same system by cubic Hermite elements, and the places."""
    length, density, stiffness = 2.0, 3.0, 5.0
    h = length / number
    k = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]], float)
    m = np.array(
        [[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]], float
    )
    unit = np.array([1, h, 1, h])
    k, m = (a * np.outer(unit, unit) for a in (k, m))
    size = 2 * (number + 1) + 2
    M, C, K = (np.zeros((size, size)) for _ in range(3))
    for e in range(number):
        s = slice(2 * e, 2 * e + 4)
        M[s, s] += density * h / 420 * m
        K[s, s] += stiffness / h**3 * k
    for i, (place, mass, spring, damper) in enumerate(
        zip([0.5, 1.5], [0.3, 0.8], [20.0, 7.0], [0.4, 0.1], strict=True)
    ):
        pair = np.zeros(size)
        pair[2 * round(place / h)], pair[2 * (number + 1) + i] = 1, -1
        M[2 * (number + 1) + i, 2 * (number + 1) + i] = mass
        K += spring * np.outer(pair, pair)
        C += damper * np.outer(pair, pair)
    return tuple(a[2:, 2:] for a in (M, C, K)), h


def by_elements(place, number=24):
    """Return the motions of the point 1.0, of the tip and of both bodies."""
    (M, C, K), h = elements(number)
    size = len(M)
    inverse = np.linalg.inv(M)
    push = np.zeros(size)
    push[2 * round(place / h) - 2] = 1.0
    whole = np.zeros((2 * size + 2, 2 * size + 2))
    whole[:size, size : 2 * size] = np.eye(size)
    whole[size : 2 * size, :size] = -inverse @ K
    whole[size : 2 * size, size : 2 * size] = -inverse @ C
    whole[size : 2 * size, 2 * size] = inverse @ push
    whole[2 * size, 2 * size + 1] = 1.0  # the force and its slope as two more states
    step = scipy.linalg.expm(whole * (TIMES[1] - TIMES[0]))
    state, motions = np.zeros(2 * size + 2), []
    for i, force in enumerate(FORCE):
        motions.append(state[[2 * round(1.0 / h) - 2, size - 4, size - 2, size - 1]])
        if i + 1 < len(FORCE):
            slope = (FORCE[i + 1] - force) / (TIMES[1] - TIMES[0])
            state[-2:] = force, slope
            state = step @ state
    return np.array(motions)


@pytest.mark.slow
@pytest.mark.parametrize("place", [1.0, 0.5])
def test_a_force_moves_beam_and_bodies_as_elements_say(place):
    beam, bodies = jv.modes.beam_motion(SYSTEM, TIMES, FORCE, force_at=place, at=[1.0, 2.0])
    expected = by_elements(place)
    found = np.concatenate([beam, bodies], axis=1)
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.slow
def test_a_long_harmonic_force_ends_in_the_response():
    frequency = 1.3
    times = np.linspace(0, 400.0, 40001)
    # So slow a beginning excites no mode.
    force = np.cos(frequency * times) * (1 + np.tanh((times - 150) / 30)) / 2
    _, bodies = jv.modes.beam_motion(SYSTEM, times, force, force_on=0, count=8)
    _, response = jv.modes.beam_response(SYSTEM, [frequency], force_on=0)
    late = times > 380
    expected = np.real(np.asarray(response) * np.exp(1j * frequency * times[late])[:, None])
    scale = np.abs(expected).max()
    np.testing.assert_allclose(bodies[late], expected, atol=2e-4 * scale)


@pytest.mark.slow
def test_its_derivative_is_its_slope():
    def end(spring):
        system = jv.replace(SYSTEM, {"link_stiffness.1": spring})
        _, bodies = jv.modes.beam_motion(system, TIMES, FORCE, force_at=1.0, count=12)
        return bodies[-1, 1]

    slope = jax.jacfwd(end)(7.0)
    step = 1e-4
    difference = (end(7.0 + step) - end(7.0 - step)) / (2 * step)
    np.testing.assert_allclose(slope, difference, rtol=1e-6)


def test_bad_arguments_of_beam_motion_are_named():
    with pytest.raises(ValueError, match="shapes"):
        jv.modes.beam_motion(SYSTEM, [0.0, 1.0], [1.0], force_on=0)
    with pytest.raises(ValueError, match="do not ascend"):
        jv.modes.beam_motion(SYSTEM, [1.0, 0.0], [1.0, 1.0], force_on=0)
    with pytest.raises(ValueError, match="give one of"):
        jv.modes.beam_motion(SYSTEM, [0.0, 1.0], [1.0, 1.0])
    free = jv.BeamWithBodies(jv.Beam(2.0, 3.0, 5.0, ("free", "free")))
    with pytest.raises(ValueError, match="repeated"):
        jv.modes.beam_motion(free, jnp.array([0.0, 1.0]), jnp.ones(2), force_at=1.0)
