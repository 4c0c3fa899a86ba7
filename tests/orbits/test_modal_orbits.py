"""Checked against: scipy's DOP853 on equations by hand, and multipliers found with it."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from tests.modal_cantilever import (
    AMPLITUDE,
    DAMPING_RATIO,
    FREQUENCY,
    GAP,
    PERIOD,
    cantilever_frequencies,
    modal_cantilever,
)

# Largest multipliers by another program, Newton iteration on matrices at 1e-12.
MULTIPLIERS = {20: 0.878830, 40: 0.878853}


@pytest.mark.slow  # an orbit takes 20 s to compile
@pytest.mark.parametrize("modes", MULTIPLIERS)
def test_multipliers_are_those_of_another_program(modes):
    orbit = jv.periodic_orbit(modal_cantilever(modes, jv.HertzContact(5e3)))
    assert int(orbit.result) == 0
    assert int(orbit.contacts) == 2
    assert float(orbit.largest_multiplier) == pytest.approx(MULTIPLIERS[modes], abs=6e-7)
    assert float(orbit.state_error) < 1e-11


@pytest.mark.slow  # an orbit takes 20 s to compile
def test_an_orbit_closes_under_an_independent_integration():
    modes = 18
    orbit = jv.periodic_orbit(modal_cantilever(modes, jv.HertzContact(5e3)))
    frequencies, tip = cantilever_frequencies(modes), 2 * (-1.0) ** np.arange(modes)
    forces = []

    def rates(time, state):
        x, v = state[:modes], state[modes:]
        forces.append(5e3 * max(tip @ x - GAP, 0.0) ** 1.5)
        push = tip * (AMPLITUDE * np.cos(FREQUENCY * time) - forces[-1])
        push = push - frequencies**2 * x - 2 * DAMPING_RATIO * frequencies * v
        return np.concatenate([v, push])

    state, units = np.asarray(orbit.state), np.concatenate([frequencies, np.ones(modes)])
    tight = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-15}
    end = solve_ivp(rates, (0.0, PERIOD), state, **tight).y[:, -1]
    miss = np.abs(units * (end - state)).max() / np.abs(units * state).max()
    assert miss < 1e-9
    # Steps of DOP853 come within 1e-5 of the largest force.
    assert float(orbit.max_contact_force) == pytest.approx(max(forces), rel=1e-4)
