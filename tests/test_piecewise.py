"""Checked against: scipy's DOP853 on the same equations, stepped through its kinks."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from experiments.piecewise import Piecewise, unsupported_reason

MASS = np.array([1.0, 0.7])
STIFFNESS = np.array([[900.0, -400.0], [-400.0, 400.0]])
DAMPING = 1e-3 * STIFFNESS
GAPS, SPRINGS, FREQUENCY = np.array([2e-3, 1e-3]), np.array([600.0, 5e4]), 21.0


@pytest.mark.skipif(bool(unsupported_reason()), reason=unsupported_reason())
def test_flights_with_a_soft_and_a_stiff_stop_are_those_of_small_steps():
    stops = np.array([[0.0, 1.0], [-1.0, 0.0]])
    system = Piecewise(
        np.diag(MASS)[None], DAMPING[None], STIFFNESS[None], stops[None], GAPS[None],
        SPRINGS[None], np.array([[1.0, 0.0]]), np.array([FREQUENCY]),
    )  # fmt: skip
    found = system.section(np.zeros((1, 4)), 6, np.array([0]))[0]

    def rate(t, state):
        place, speed = state[:2], state[2:]
        force = np.array([np.cos(FREQUENCY * t), 0.0]) - STIFFNESS @ place - DAMPING @ speed
        force -= (SPRINGS * np.maximum(stops @ place - GAPS, 0.0)) @ stops
        return np.concatenate([speed, force / MASS])

    ends = 2 * np.pi / FREQUENCY * np.arange(1, 7)
    steps = {"rtol": 1e-12, "atol": 1e-16, "max_step": 1e-3}
    span = 0, ends[-1]
    other = solve_ivp(rate, span, np.zeros(4), "DOP853", dense_output=True, **steps)
    deepest = (stops @ other.y[:2]).max(axis=1)
    assert (deepest > GAPS).all()  # it touches both
    size = np.abs(found).max(axis=0)
    np.testing.assert_allclose(found / size, other.sol(ends).T / size, atol=1e-7)
