"""Checked against: AUTO-07p, see `experiments.bifurcations`; scipy's motions."""

import functools
import json

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import jaxvib as jv
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


def reaction(x, p):
    """Return the rates of AUTO's demo abc, A to B to C, with its beta = 1.55."""
    burnt = p["D"] * jnp.exp(x[2]) * jnp.stack([1 - x[0], 0.04 * x[1]])
    return jnp.stack(
        [burnt[0] - x[0], burnt[0] - burnt[1] - x[1], 8 * jnp.sum(burnt) - 2.55 * x[2]]
    )


def test_cycles_between_four_hopf_points_end_at_the_other_one():
    system, bounds = (
        jv.autonomous_system(reaction, parameters={"D": 0.01}, dimension=3),
        (0, 0.4),
    )
    rest = jv.equilibrium(system, [0.01, 0.01, 0.05])
    points = jv.continue_equilibrium(system, rest, "D", bounds).bifurcations
    printed = 0.204185, 0.229836, 0.259957, 0.346208
    np.testing.assert_allclose([p.parameter for p in points], printed, atol=4e-6)
    folds = [0.211903, 0.213697], [0.224962], [0.224962], [0.211903, 0.213697]
    for start, end, met in zip(points, (3, 2, 1, 0), folds, strict=True):
        cycles = jv.switch_branch(system, start, bounds)
        *between, last = sorted(cycles.bifurcations, key=lambda p: p.kind == "hopf")
        np.testing.assert_allclose(last.parameter, points[end].parameter, rtol=1e-9)
        np.testing.assert_allclose(sorted(p.parameter for p in between), met, atol=1e-6)
        assert int(cycles.ends[1]) == jv.Reason.EQUILIBRIUM


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
