"""Checked against: the same motion in metres and seconds, by a similarity that is exact."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from tests.similarity import UNITS, duffing, states_in, two_bodies

START, SWING = np.array([0.02, 0.17, 0.4, -0.3]), np.array([0.5, 0.1])


def back(states, length, time):
    """Return states in metres and seconds."""
    return np.asarray(states_in(np.asarray(states), 1 / length, 1 / time))


# Where a contact begins a step is wrong by far more than its tolerance, now and then.
@pytest.mark.parametrize(
    ("make", "start", "atol"),
    [
        (two_bodies, START, 5e-8),
        pytest.param(duffing, SWING, 1e-8, marks=pytest.mark.slow),  # compiles for 2 s
    ],
)
def test_a_motion_is_the_same_in_all_units(make, start, atol):
    ends, sections = [], []
    for length, time in UNITS:
        system, state = make(length, time), states_in(start, length, time)
        found = jv.simulate(system, state, jnp.array([0.0, 1.1, 2.2]) / time)
        ends.append(back(found.states, length, time))
        points = jv.orbits.poincare_section(system, state, 2, 1, rtol=1e-10)
        sections.append(back(points.states, length, time))
    for each in (ends, sections):
        for other in each[1:]:
            np.testing.assert_allclose(other, each[0], rtol=0, atol=atol)


def test_columns_are_the_same_in_all_units():
    @jax.jit
    def monodromy(system, state, span):
        return jax.jacfwd(lambda s: jv.flow(system, s, 0.0, span, rtol=1e-10))(state)

    found = []
    for length, time in UNITS:
        matrix = monodromy(
            duffing(length, time), states_in(SWING, length, time), 5.0 / time
        )
        units = np.array([1.0, 1 / time])
        found.append(np.asarray(matrix) * units[:, None] / units[None])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=0, atol=1e-8)
