"""Checked against: AUTO-07p, see `experiments.bifurcations`; scipy's motions."""

import functools
import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

from experiments.bifurcations import curves
from experiments.bifurcations.autonomous import RESULT, beside, difference, ours
from experiments.bifurcations.fields import CASES

pytestmark = pytest.mark.slow


@functools.cache
def found(name):
    return ours(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_from_rest_to_the_last_branch_every_point_is_autos(name):
    told = json.loads(RESULT.read_text())["fields"][name]["AUTO-07p"]
    pairs = list(beside(told, found(name)))
    assert len(pairs) == len(told) > 1
    for theirs, mine in pairs:
        assert abs(difference(theirs, mine)) < 1e-8
        # Where it met its branch point AUTO's steps were loose.
        if "period" in theirs and theirs["kind"] != "branch_point":
            assert abs(difference(theirs, mine, "period")) < 1e-8


def test_curves_of_hopf_points_and_of_folds_of_cycles_are_autos():
    told = json.loads(curves.RESULT.read_text())["AUTO-07p"]
    assert max(curves.differences(told, curves.ours()).values()) < 3e-9


GUESS = 0.1737, 0.194, 8.69, -0.587  # x and z with y = 0, the period, nu


def half_a_period(unknown):
    """Return what is left of x(T/2) = -x with y = 0 and a second mode that turns round."""
    x0, z0, period, nu = unknown

    def rate(t, state):
        (x, y, z), frame = state[:3], state[3:].reshape(3, 3)
        bent = 0.933578 * (y - x) ** 3
        first = (-(0.5 + nu) * x + 0.5 * y - 0.328578 * x**3 + bent) / 0.6
        second = 0.5 * x + 0.1 * y - z - bent
        d = 3 * 0.933578 * (y - x) ** 2
        matrix = [
            [(-(0.5 + nu) - 3 * 0.328578 * x**2 - d) / 0.6, (0.5 + d) / 0.6, 0],
            [0.5 + d, 0.1 - d, -1],
            [0, 1, 0],
        ]
        return np.concatenate([[first, second, y], (np.array(matrix) @ frame).ravel()])

    start = np.concatenate([[x0, 0.0, z0], np.eye(3).ravel()])
    end = solve_ivp(rate, (0, period / 2), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return [*(end[:3] + start[:3]), np.linalg.det(end[3:].reshape(3, 3) - np.eye(3))]


def test_where_symmetric_cycles_become_two_is_scipys_pitchfork():
    """AUTO's own value moves by 5e-7 with its tolerances; -1 of half a period is simple."""
    rows = found("electronic oscillator")
    mine = next(row for row in rows if row["kind"] == "branch_point")
    expected, _, ok, told = fsolve(half_a_period, GUESS, xtol=1e-13, full_output=True)
    assert ok == 1, told
    np.testing.assert_allclose(mine["parameter"], expected[3], rtol=0, atol=1e-9)
    np.testing.assert_allclose(mine["period"], expected[2], rtol=0, atol=1e-7)
