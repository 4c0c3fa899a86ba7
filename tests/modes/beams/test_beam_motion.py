"""Checked against: Hermite elements in time, by matrix exponentials."""

import numpy as np
import pytest
import scipy.linalg

import jaxvib as jv

BEAM = jv.Beam(2.0, 3.0, 5.0, ("clamped", "free"))
SYSTEM = jv.oscillators_on_beam(BEAM, [0.5, 1.5], [0.3, 0.8], [20.0, 7.0])
TIMES = np.linspace(0.0, 12.0, 241)
FORCE = np.interp(TIMES, [0.0, 1.0, 4.0, 5.0, 12.0], [0.0, 2.0, -1.0, 0.0, 0.5])


def elements(number):
    """Return (M, K) of the same system by cubic Hermite elements, and the places."""
    length, density, stiffness = 2.0, 3.0, 5.0
    h = length / number
    k = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]], float)
    m = np.array(
        [[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]], float
    )
    unit = np.array([1, h, 1, h])
    k, m = (a * np.outer(unit, unit) for a in (k, m))
    size = 2 * (number + 1) + 2
    M, K = (np.zeros((size, size)) for _ in range(2))
    for e in range(number):
        s = slice(2 * e, 2 * e + 4)
        M[s, s] += density * h / 420 * m
        K[s, s] += stiffness / h**3 * k
    links = zip([0.5, 1.5], [0.3, 0.8], [20.0, 7.0], strict=True)
    for i, (place, mass, spring) in enumerate(links):
        pair = np.zeros(size)
        pair[2 * round(place / h)], pair[2 * (number + 1) + i] = 1, -1
        M[2 * (number + 1) + i, 2 * (number + 1) + i] = mass
        K += spring * np.outer(pair, pair)
    return tuple(a[2:, 2:] for a in (M, K)), h


def by_elements(place, number=24):
    """Return the motions of the point 1.0, of the tip and of both bodies."""
    (M, K), h = elements(number)
    size = len(M)
    inverse = np.linalg.inv(M)
    push = np.zeros(size)
    push[2 * round(place / h) - 2] = 1.0
    whole = np.zeros((2 * size + 2, 2 * size + 2))
    whole[:size, size : 2 * size] = np.eye(size)
    whole[size : 2 * size, :size] = -inverse @ K
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


@pytest.mark.slow  # compiles the motion of eight modes under a record, 20 s
@pytest.mark.parametrize("place", [1.0, 0.5])
def test_a_force_moves_beam_and_bodies_as_elements_say(place):
    points = {"middle": 1.0, "tip": 2.0, "first": "body.0", "second": "body.1"}
    structure = jv.elastic_structure(SYSTEM, 8, {**points, "pushed": place})
    load = jv.AppliedLoad(structure.direction("pushed"), jv.RecordLoad(TIMES, FORCE))
    system = jv.ImpactSystem(structure, loads=(load,))
    modes = jv.simulate(system, system.rest(), TIMES).states[:, :8]
    found = modes @ structure.shapes.T + np.outer(FORCE, structure.residual[-1])
    expected = by_elements(place)
    np.testing.assert_allclose(found[:, :4], expected, atol=2e-5 * np.abs(expected).max())
