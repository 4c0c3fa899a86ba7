"""Checked against: basins that are discs, in closed form; symmetry; scipy; published."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.orbits import SettlingSettings, basins
from jaxvib.orbits.searches.field_attractors import _distance_from

NAMES = ("c0", "c1", "c2", "c3")
BOX = np.random.default_rng(3).uniform(-4, 4, (400, 2))
RADIUS = np.hypot(*BOX.T)


def turning(x, p):
    """Return r' = r g(r^2), angle' = w, whose cycles are the circles of g's roots."""
    square = x[0] ** 2 + x[1] ** 2
    grow = sum(p[name] * square**power for power, name in enumerate(NAMES))
    return [grow * x[0] - p["w"] * x[1], grow * x[1] + p["w"] * x[0]]


def circles(*squares, lead=-1.0):
    """Return the field of cycles whose radii have these squares."""
    found = np.zeros(4)
    found[: len(squares) + 1] = lead * np.polynomial.polynomial.polyfromroots(squares)
    values = dict(zip(NAMES, found.tolist(), strict=True)) | {"w": 2.0}
    return jv.autonomous_system(turning, parameters=values, dimension=2)


def lorenz(x, p):
    return [
        10.0 * (x[1] - x[0]), x[0] * (p["r"] - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2],
    ]  # fmt: skip


def area_agrees(found, position, radius):
    """Return whether a share is that of a disc in the box within three of its errors."""
    share = np.pi * radius**2 / 64
    error = np.sqrt(share * (1 - share) / len(BOX))
    return abs(found.share[position] - share) < 3 * error


def test_the_distance_from_a_closed_curve_is_that_from_its_nearest_chord():
    angles = np.linspace(0.0, 2 * np.pi, 9)
    corners = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    corners[-1] = corners[0]
    away = _distance_from(corners, np.ones(2))
    for part in (0.1, 0.4, 0.6, 0.9):  # also of the last chord, nearer to the first state
        on_chords = corners[:-1] + part * np.diff(corners, axis=0)
        np.testing.assert_allclose(away(on_chords), 0.0, atol=1e-15)


@pytest.mark.slow
def test_between_nested_cycles_the_basins_part_at_the_one_that_repels():
    found = basins(circles(1.0, 4.0, 9.0), BOX, period=2.0)
    assert found.attractors.names == ["A1: cycle, 3.14159 s", "A2: cycle, 3.14159 s"]
    np.testing.assert_array_equal(found.label, np.where(RADIUS < 2, 0, 1))
    assert area_agrees(found, 0, 2.0)
    np.testing.assert_allclose(found.attractors.orbits.period, np.pi, rtol=1e-9)
    np.testing.assert_allclose(found.attractors.orbits.amplitude[:, 0], [1, 3], rtol=1e-6)
    # r' has the slope -48 at r = 1: e^(-48 pi) is far below what is known of a multiplier.
    assert np.isnan(found.attractors.lyapunov_exponent[0])


@pytest.mark.slow
def test_inside_a_cycle_that_repels_motions_come_to_rest():
    found = basins(circles(1.0, 4.0), BOX, period=2.0)
    assert found.attractors.names == ["A1: equilibrium", "A2: cycle, 3.14159 s"]
    np.testing.assert_array_equal(found.label, np.where(RADIUS < 1, 0, 1))
    assert area_agrees(found, 0, 1.0)
    orbits = found.attractors.orbits
    assert orbits.result.tolist() == [Reason.EQUILIBRIUM, Reason.SUCCESS]
    assert orbits.lyapunov_exponent[0] == -4.0  # g(0)
    assert np.isnan(orbits.period[0])
    assert found.attractors.points.shape == (2, 64, 2)
    np.testing.assert_allclose(np.hypot(*found.attractors.points[1].T), 2.0, rtol=1e-7)


@pytest.mark.slow
def test_states_at_rest_that_do_not_attract_are_no_attractors():
    """Of x' = -k x, y' = 0 each motion stays on its line and ends at x = 0: closed form."""
    line = jv.autonomous_system(
        lambda x, p: [-p["k"] * x[0], 0.0 * x[1]], parameters={"k": 1.0}, dimension=2
    )
    found = basins(line, BOX[:4], period=6.0)
    assert len(found.attractors.points) == 0
    assert (found.result == Reason.NOT_CONVERGED).all()


@pytest.mark.slow
def test_an_equilibrium_that_motions_come_to_one_by_one_is_listed_once():
    slow = jv.autonomous_system(
        lambda x, p: [x[1], -x[0] - p["d"] * x[1]], parameters={"d": 0.05}, dimension=2
    )
    found = basins(slow, BOX[:40], period=0.5)
    assert found.attractors.names == ["A1: equilibrium"]
    assert found.share.tolist() == [1.0]


@pytest.mark.slow
def test_what_grows_without_bound_in_a_finite_time_has_escaped():
    found = basins(circles(1.0, 4.0, lead=1.0), BOX, period=2.0)
    np.testing.assert_array_equal(found.label, np.where(RADIUS < 2, 0, -1))
    np.testing.assert_array_equal(
        found.result, np.where(RADIUS < 2, Reason.SUCCESS, Reason.ESCAPED)
    )
    # r' has the slope 2 u g'(u) = -6 at u = 1.
    np.testing.assert_allclose(found.attractors.lyapunov_exponent, -6.0, rtol=1e-6)


@pytest.mark.slow
def test_motions_of_later_batches_count_for_the_size_beyond_which_one_has_escaped():
    starts = np.array([[1e-5, 0.0], [0.0, 1e-5], [2.0, 0.0], [0.0, 2.0]])
    found = basins(circles(1.0), starts, period=0.5, batch=2)
    assert found.attractors.names == ["A1: cycle, 3.14159 s"]
    assert found.label.tolist() == [0, 0, 0, 0]


@pytest.mark.slow
def test_lorenz_equilibria_share_all_starts_by_symmetry():
    below = jv.autonomous_system(lorenz, parameters={"r": 10.0}, dimension=3)
    half = np.random.default_rng(5).uniform([-15, -15, 0], [15, 15, 25], (100, 3))
    found = basins(below, np.concatenate([half, half * [-1, -1, 1]]), period=1.0)
    assert found.share.tolist() == [0.5, 0.5]
    np.testing.assert_array_equal(found.label[:100], 1 - found.label[100:])
    side = np.sqrt(8 / 3 * 9)
    expected = [[-side, -side, 9.0], [side, side, 9.0]]
    np.testing.assert_allclose(found.attractors.state, expected, rtol=1e-12)

    def rates(t, x):
        return lorenz(x, {"r": 10.0})

    for i in range(0, 100, 20):
        end = solve_ivp(rates, (0, 30), half[i], "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
        np.testing.assert_allclose(end, expected[found.label[i]], atol=1e-3)


@pytest.mark.slow
def test_lorenz_attractor_is_chaotic_with_the_published_exponent():
    system = jv.autonomous_system(lorenz, parameters={"r": 28.0}, dimension=3)
    starts = np.random.default_rng(5).uniform([-15, -15, 0], [15, 15, 25], (32, 3))
    found = basins(system, starts, period=1.0)
    assert found.attractors.names == ["A1: chaotic"]
    assert found.share.tolist() == [1.0]
    # 0.9056: Sprott, Chaos and Time-Series Analysis (2003).
    error = found.attractors.lyapunov_error[0]
    assert abs(found.attractors.lyapunov_exponent[0] - 0.9056) < 4 * error
    assert error < 0.03


def two_wells(push):
    """Return a body between two wells, x'' = -0.3 x' + x - x^3 + push."""
    spring = jv.NonlinearSpring([1.0], jv.PolynomialLaw([-2.0, 0.0, 1.0]))
    load = jv.AppliedLoad([1.0], jv.ConstantLoad(push))
    body = jv.LinearSystem([[1.0]], [[0.3]], [[1.0]])
    return jv.ImpactSystem(body, springs=[spring], loads=[load])


@pytest.mark.slow
def test_bodies_under_a_constant_load_rest_where_scipy_takes_them():
    starts = np.random.default_rng(5).uniform([-2, -2], [2, 2], (200, 2))
    found = basins(two_wells(0.1), starts, period=4.0)
    roots = np.roots([-1.0, 0.0, 1.0, 0.1]).real
    rest = np.sort(roots)[[0, 2]]
    np.testing.assert_allclose(found.attractors.state[:, 0], rest, rtol=1e-12)
    assert found.attractors.orbits.amplitude.shape == (2, 1)

    def rates(t, x):
        return [x[1], 0.1 - 0.3 * x[1] + x[0] - x[0] ** 3]

    for i in range(0, 200, 10):
        end = solve_ivp(rates, (0, 100), starts[i], "DOP853", rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(end.y[0, -1], rest[found.label[i]], atol=1e-3)


def test_missing_and_forbidden_arguments_are_named():
    system = circles(1.0)
    with pytest.raises(ValueError, match="period = None of an autonomous system"):
        basins(system, BOX)
    with pytest.raises(ValueError, match=r"period = -1 s is not in \(0, inf\)"):
        basins(system, BOX, period=-1.0)
    with pytest.raises(ValueError, match="max_periods = 2; basins of an autonomous system"):
        basins(system, BOX, period=1.0, settings=SettlingSettings(max_periods=2))
    with pytest.raises(ValueError, match=r"period = 1\.0 of a non-autonomous system"):
        basins(jv.two_body_impact(), np.zeros((1, 4)), period=1.0)
    stop = jv.Contact([1.0], 0.1, jv.RestitutionContact(0.5))
    body = jv.LinearSystem([[1.0]], [[0.3]], [[1.0]])
    stopped = jv.ImpactSystem(body, contacts=[stop])
    section = jv.orbits.FieldSection(1.0, lambda x: x[1])
    with pytest.raises(ValueError, match="hard stops, friction or a law that may jump"):
        jv.orbits.poincare_section(stopped, np.zeros(2), section=section)
