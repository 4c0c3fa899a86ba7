"""Checked against: scipy's integration of the Duffing oscillator over many periods."""

import numpy as np
import pytest
import scipy.integrate

import jaxvib as jv
from jaxvib.ensemble import Reason
from tests import zoo

FORCE, DAMPING = 4.0, 0.1


@pytest.fixture(scope="module")
def system():
    return zoo.duffing(4.5, FORCE, DAMPING)


def settled(frequency, state, periods):
    """Return the state after many periods, by scipy."""

    def rates(t, x):
        load = FORCE * np.cos(frequency * t)
        return [x[1], load - DAMPING * x[1] - x[0] - x[0] ** 3]

    span = 2 * np.pi / frequency * periods
    solution = scipy.integrate.solve_ivp(
        rates, (0.0, span), state, method="DOP853", rtol=1e-11, atol=1e-12
    )
    return solution.y[:, -1]


@pytest.mark.slow
def test_an_isolated_branch_of_subharmonics_is_found_and_followed_once(system):
    starts = jv.orbits.state_grid(
        system, {0: np.linspace(-2, 2, 5), 1: np.linspace(-4, 4, 5)}
    )
    [branch] = jv.branches.find_branches(
        system,
        "w",
        (2.5, 12.0),
        starts,
        values=5,
        periods=3,
        settings=jv.branches.ContinuationSettings(largest_step=0.2),
    )
    assert {int(code) for code in np.asarray(branch.ends)} == {int(Reason.CLOSED)}
    low, high = sorted(float(point.parameter) for point in branch.bifurcations)
    assert {point.kind for point in branch.bifurcations} == {"fold"}
    stable = np.flatnonzero(np.asarray(branch.stable) == 1)
    i = stable[len(stable) // 2]
    frequency, state = float(branch.parameter[i]), np.asarray(branch.states[i])
    # It comes back after three periods, and not after one.
    np.testing.assert_allclose(settled(frequency, state, 30), state, atol=1e-6)
    assert np.abs(settled(frequency, state, 1) - state).max() > 0.1
    # Beyond both folds the motion goes over to one of a single period.
    for outside in (0.98 * low, 1.02 * high):
        after = settled(outside, state, 300)
        np.testing.assert_allclose(settled(outside, after, 1), after, atol=1e-5)


def test_starts_of_another_size_are_refused(system):
    with pytest.raises(ValueError, match=r"allowed: \(starts, 2\)"):
        jv.branches.find_branches(system, "w", (4.0, 6.0), np.zeros((3, 4)))
