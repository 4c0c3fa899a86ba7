"""Checked against: matrices of Mathieu's equation by scipy; rates given in closed form."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jaxvib as jv
from jaxvib.branches.tracing.chords import _minima, _unresolved
from jaxvib.branches.tracing.test_functions import OF_MULTIPLIERS, EvaluatedPoints, changed

DAMPING, DEPTH = 0.01, 0.1
mathieu = jv.forced_system(
    lambda t, x, p: [
        x[1],
        -DAMPING * x[1] - (1 + DEPTH * jnp.cos(p["w"] * t)) * x[0] - x[0] ** 3,
    ],
    parameters={"w": 1.2},
    period=lambda p: 2 * jnp.pi / p["w"],
    dimension=2,
)

# Low and high ends, and the start; in the last the tongue is on the first chord.
RANGES = (0.294, 4.897, 1.2), (0.15, 9.0, 1.0), (1.7, 2.31, 2.2), (1.834, 8.417, 2.491)


def at_minus_one(w):
    """Return the product of 1 + mu at rest, from scipy's monodromy matrix."""

    def field(t, x):
        return [x[1], -DAMPING * x[1] - (1 + DEPTH * np.cos(w * t)) * x[0]]

    span = 0.0, 2 * np.pi / w
    columns = [
        solve_ivp(field, span, start, "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
        for start in ([1.0, 0.0], [0.0, 1.0])
    ]
    return np.linalg.det(np.eye(2) + np.column_stack(columns))


@pytest.mark.slow  # compiles a branch, 6 s
def test_a_tongue_between_two_points_is_found_in_any_range():
    ends = brentq(at_minus_one, 1.9, 2.0), brentq(at_minus_one, 2.0, 2.1)
    for low, high, start in RANGES:
        system = jv.replace(mathieu, {"w": start})
        orbit = jv.periodic_orbit(system, [0.0, 0.0])
        branch = jv.continue_orbit(system, orbit, "w", (low, high), progress=False)
        found = branch.bifurcations
        assert [point.kind for point in found] == ["period_doubling"] * 2
        np.testing.assert_allclose([p.parameter for p in found], ends, rtol=1e-10)
        values = np.asarray(branch.parameter)
        inside = (values > ends[0]) & (values < ends[1])
        np.testing.assert_array_equal(branch.orbits.stable == 1, ~inside)
        assert inside.any()


@pytest.mark.slow  # compiles a measure of a branch, 6 s
def test_a_stable_range_ends_at_a_tongue():
    measure = jv.design.stable_range_measure("high", "w", (0.294, 4.897), guess=[0.0, 0.0])
    found = measure.analysis(mathieu, measure.analysis.start(mathieu))
    assert int(found.code) == 0
    end = brentq(at_minus_one, 1.9, 2.0)
    assert float(measure.read(found.result)) == pytest.approx(end, rel=1e-10)


@pytest.mark.slow  # compiles a branch of equilibria, 5 s
@pytest.mark.parametrize("half", [5e-4, 3e-3, 0.1])
def test_windows_of_hopf_points_of_a_thousandth_of_the_range_are_found(half):
    centre = 0.41237

    def field(x, p):
        rate = 2 * jnp.exp2(-(((p["p"] - centre) / half) ** 2)) - 1
        return [rate * x[0] - 3 * x[1], 3 * x[0] + rate * x[1], -x[2]]

    system = jv.autonomous_system(field, parameters={"p": 0.9}, dimension=3)
    point = jv.equilibrium(system, np.zeros(3))
    branch = jv.continue_equilibrium(system, point, "p", (0.0, 1.0))
    assert [found.kind for found in branch.bifurcations] == ["hopf", "hopf"]
    values = [float(found.parameter) for found in branch.bifurcations]
    np.testing.assert_allclose(values, [centre - half, centre + half], rtol=1e-10)


def test_the_minimum_of_a_squared_factor_is_that_of_its_parabola():
    place = np.array([0.0, 1.0, 2.5, 3.0])
    squares = ((place - 1.8) ** 2 + 0.01)[:, None]
    depth, fraction = _minima(place, squares, np.zeros(3, bool))
    np.testing.assert_allclose(fraction[1], 0.8 / 1.5, rtol=1e-12)
    np.testing.assert_allclose(depth[1], 0.01 / (0.4 * 1.5**2), rtol=1e-10)
    assert np.isnan(depth[[0, 2]]).all()
    assert np.isnan(_minima(place, squares, np.ones(3, bool))[0]).all()


def test_a_multiplier_that_turns_by_radians_from_point_to_point_is_not_resolved():
    place = np.linspace(0.0, 1.0, 12)
    least = np.full(12, 0.1)
    assert not _unresolved(place, 2 * np.cos(4 * place), least).any()
    assert _unresolved(place, 2 * np.cos(40 * place**2), least)[-4:].all()


CIRCLE = 0.8 * np.exp(0.7j)


@pytest.mark.parametrize(
    ("before", "after", "passes"),
    [
        ([CIRCLE, CIRCLE.conj(), 0.3], [CIRCLE * 1.5, CIRCLE.conj() * 1.5, 0.3], True),
        ([6.59, 0.14, 0.99 * CIRCLE], [6.59, 0.16, 0.99 * CIRCLE], False),
        ([1.3, 1.1, 0.2], [1.2, 0.9, 0.2], False),
        ([1.2, 1.1, 0.2], [1.1 + 0.1j, 1.1 - 0.1j, 0.2], False),
        # A real one enters at -1 and a pair leaves.
        ([-1.1, CIRCLE, CIRCLE.conj()], [-0.9, CIRCLE * 1.5, CIRCLE.conj() * 1.5], True),
    ],
)
def test_a_pair_passes_the_circle_where_real_multipliers_cannot_tell(before, after, passes):
    (row,) = [test for test in OF_MULTIPLIERS if test.kind == "neimark_sacker"]
    seen = EvaluatedPoints(np.ones((2, 1)), np.array([before, after], complex), tuple)
    assert changed(row, seen).tolist() == [passes]
