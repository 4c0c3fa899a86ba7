"""Checked against: scipy's DOP853, linear frequencies, harmonic balance."""

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from tests.modal_cantilever import GAP, cantilever_frequencies, free_cantilever

pytestmark = pytest.mark.slow  # compiles a system of its own for each law, 4 s

MODES = 10
TOUCHING = (cantilever_frequencies(1)[0] * GAP / 2) ** 2 / 2  # J, of the first mode
STEPS = jv.branches.ContinuationSettings(first_step=0.2, largest_step=0.2)


@pytest.mark.parametrize(
    ("law", "force", "frequency"),
    [
        # By harmonic balance of the force at the stop with 800 harmonics, to 1e-11.
        (jv.HertzContact(50.0), lambda z: 50.0 * z**1.5, 3.5449578034),
        (jv.LinearContact(5.0), lambda z: 5.0 * z, None),
    ],
)
def test_a_mode_of_ten_coordinates_with_a_stop_comes_back(law, force, frequency):
    found = jv.nonlinear_modes(
        free_cantilever(MODES, law), 0, 1.3 * TOUCHING, settings=STEPS
    )
    assert np.asarray(found.ends).tolist() == [jv.Reason.PARAMETER_BOUND] * 2
    paces = cantilever_frequencies(MODES)
    touches = np.asarray(found.parameter) > TOUCHING
    assert np.asarray(found.orbits.contacts).tolist() == touches.astype(int).tolist()
    np.testing.assert_allclose(found.orbits.frequency[0], paces[0], rtol=1e-13)
    last = jax.tree.map(lambda leaf: np.asarray(leaf)[-1], found.orbits)
    tip = 2 * (-1.0) ** np.arange(MODES)

    def rates(time, state):
        x, v = np.split(state, 2)
        return np.append(v, -tip * force(max(tip @ x - GAP, 0.0)) - paces**2 * x)

    end = solve_ivp(rates, (0.0, last.period), last.state, "DOP853", rtol=1e-12, atol=1e-15)
    units = np.append(1 / paces, np.ones(MODES))
    off = np.abs((end.y[:, -1] - last.state) / units).max()
    assert off < 1e-9 * np.abs(last.state / units).max()
    assert last.period_error < 1e-11 * last.period
    x, v = np.split(last.state, 2)
    depth = max(tip @ x - GAP, 0.0)
    stored = np.sum(v**2 + (paces * x) ** 2) / 2 + float(law.energy(depth))
    np.testing.assert_allclose(stored, 1.3 * TOUCHING, rtol=1e-11)
    if frequency:
        np.testing.assert_allclose(last.frequency, frequency, rtol=1e-10)
