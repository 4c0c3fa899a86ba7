"""Checked against: a Hopf normal form of fifth order in closed form, scipy's DOP853."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from tests import zoo

pytestmark = pytest.mark.slow


def quintic(x, p):
    """Return the field of circles with mu + r^2 - r^4 = 0."""
    square = x[0] ** 2 + x[1] ** 2
    grow = p["mu"] + square - square**2
    turn = p["w"] + p["b"] * square
    return jnp.stack([grow * x[0] - turn * x[1], turn * x[0] + grow * x[1]])


circles = jv.autonomous_system(
    quintic, parameters={"mu": -0.5, "w": 2.0, "b": 0.5}, dimension=2
)
BOUNDS = (-1.0, 1.0)


def check_circles(branch):
    square = np.sum(np.asarray(branch.states) ** 2, axis=1)
    np.testing.assert_allclose(square**2 - square, branch.parameter, atol=1e-9)
    periods = 2 * np.pi / (2 + 0.5 * square)
    np.testing.assert_allclose(branch.periods, periods, rtol=1e-9)
    slopes = 2 * square - 4 * square**2  # of r' by r
    decided = np.asarray(branch.stable) != -1
    assert decided.mean() > 0.8
    np.testing.assert_array_equal((branch.stable == 1)[decided], (slopes < 0)[decided])


def test_a_hopf_point_leads_to_its_cycles_and_round_their_fold():
    rest = jv.equilibrium(circles, [0.0, 0.0])
    (hopf,) = jv.continue_equilibrium(circles, rest, "mu", BOUNDS).bifurcations
    assert abs(hopf.parameter) < 1e-12
    branch = jv.switch_branch(circles, hopf, BOUNDS)
    check_circles(branch)
    assert int(branch.ends[0]) == jv.Reason.BRANCHED
    np.testing.assert_allclose(branch.parameter[-1], 1.0, rtol=1e-15)
    (fold,) = branch.bifurcations
    assert (fold.kind, fold.of) == ("fold", "cycle")
    np.testing.assert_allclose(fold.parameter, -0.25, rtol=1e-9)
    np.testing.assert_allclose(fold.period, 2 * np.pi / 2.25, rtol=1e-6)


def test_cycles_are_followed_to_the_hopf_point_that_they_shrink_to():
    system = jv.replace(circles, {"mu": 0.5})
    cycle = jv.periodic_orbit(system, [1.1, 0.0], period=2.5)
    branch = jv.continue_orbit(system, cycle, "mu", BOUNDS)
    check_circles(branch)
    kinds = [found.kind for found in branch.bifurcations]
    assert sorted(kinds) == ["fold", "hopf"]
    hopf = branch.bifurcations[kinds.index("hopf")]
    assert abs(hopf.parameter) < 1e-12
    np.testing.assert_allclose(hopf.frequency, 2.0, rtol=1e-12)
    ends = {jv.Reason(int(code)) for code in branch.ends}
    assert ends == {jv.Reason.EQUILIBRIUM, jv.Reason.PARAMETER_BOUND}
    assert "cycles" in repr(branch)
    fold = branch.bifurcations[kinds.index("fold")]
    point = jv.bifurcation_point(system, fold, "fold", "mu")
    np.testing.assert_allclose(point.parameter, -0.25, rtol=1e-10)
    np.testing.assert_allclose(np.sum(point.state**2), 0.5, rtol=1e-8)


def monodromy_by_scipy(state, period, c):
    def rate(t, y):
        x, frame = y[:3], y[3:].reshape(3, 3)
        matrix = np.array([[0, -1, -1], [1, 0.2, 0], [x[2], 0, x[0] - c]])
        moved = [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - c)]
        return np.concatenate([moved, (matrix @ frame).ravel()])

    start = np.concatenate([np.asarray(state), np.eye(3).ravel()])
    end = solve_ivp(rate, (0, float(period)), start, "DOP853", rtol=1e-12, atol=1e-13)
    return end.y[:3, -1], end.y[3:, -1].reshape(3, 3)


def test_rosslers_cycle_doubles_its_period_and_the_doubled_one_is_switched_to():
    system = zoo.rossler()
    cycle = jv.periodic_orbit(system, [3.0, 0.0, 0.1], period=6.0)
    branch = jv.continue_orbit(system, cycle, "c", (2.3, 3.2))
    flip = next(p for p in branch.bifurcations if p.kind == "period_doubling")
    end, matrix = monodromy_by_scipy(flip.state, flip.period, float(flip.parameter))
    np.testing.assert_allclose(end, flip.state, atol=1e-8)
    assert np.abs(np.linalg.eigvals(matrix) + 1).min() < 1e-6
    doubled = jv.switch_branch(system, flip, (2.3, 3.2))
    # As few as the branch asks for, though its first state has a component that is small.
    assert len(doubled.parameter) < 40
    last = float(doubled.periods[-1])
    end, matrix = monodromy_by_scipy(doubled.states[-1], last, 3.2)
    np.testing.assert_allclose(end, doubled.states[-1], atol=1e-7)
    half, _ = monodromy_by_scipy(doubled.states[-1], last / 2, 3.2)
    assert np.abs(half - np.asarray(doubled.states[-1])).max() > 0.1
    values = np.linalg.eigvals(matrix)
    np.testing.assert_allclose(
        np.sort(np.abs(doubled.floquet_multipliers[-1])), np.sort(np.abs(values)), atol=1e-6
    )


def food_chain(x, p):
    """Return the field of Hastings and Powell, Ecology 72 (1991) 896."""
    eaten = 5 * x[0] / (1 + p["b"] * x[0]) * x[1]
    eaten_next = 0.1 * x[1] / (1 + 2 * x[1]) * x[2]
    plants = x[0] * (1 - x[0]) - eaten
    return jnp.stack([plants, eaten - eaten_next - 0.4 * x[1], eaten_next - 0.01 * x[2]])


def test_a_doubled_branch_ends_where_its_parent_flips_again():
    bounds = (2.2, 2.55)
    system = jv.autonomous_system(food_chain, parameters={"b": 2.2}, dimension=3)
    parent = jv.periodic_orbit(system, [0.8, 0.2, 9.0], period=60.0)
    branch = jv.continue_orbit(system, parent, "b", bounds)
    flips = [p for p in branch.bifurcations if p.kind == "period_doubling"][:2]
    system = jv.replace(system, {"b": 2.35})
    twice = jv.periodic_orbit(system, [0.8, 0.2, 9.0], period=130.0)
    assert 120 < twice.period < 140
    doubled = jv.continue_orbit(system, twice, "b", bounds)
    assert list(np.asarray(doubled.ends)) == [jv.Reason.PERIOD_HALVED] * 2
    assert len(doubled.parameter) < 100
    first, *others, last = doubled.bifurcations
    for end, flip in zip((first, last), flips, strict=True):
        assert end.kind == "period_doubling"
        np.testing.assert_allclose(end.parameter, flip.parameter, rtol=1e-10)
        np.testing.assert_allclose(end.period, flip.period, rtol=1e-8)
    # It has flips of its own, once each.
    assert [point.kind for point in others] == ["period_doubling"] * 2
    assert others[0].parameter < others[1].parameter
    switched = jv.switch_branch(system, flips[0], bounds)
    ends = list(np.asarray(switched.ends))
    assert ends == [jv.Reason.BRANCHED, jv.Reason.PERIOD_HALVED]
    np.testing.assert_allclose(
        switched.bifurcations[-1].parameter, flips[1].parameter, rtol=1e-10
    )


def test_bad_input_is_named():
    system = jv.replace(circles, {"mu": 0.5})
    cycle = jv.periodic_orbit(system, [1.1, 0.0], period=2.5)
    with pytest.raises(ValueError, match="kind = 'grazing' of a cycle; allowed: fold"):
        jv.bifurcation_point(system, cycle, "grazing", "mu")


def test_the_cycles_of_lorenz_go_from_their_hopf_point_to_the_homoclinic_motion():
    """It is at r = 13.9265: Doedel, Krauskopf and Osinga, Nonlinearity 19 (2006) 2947."""
    system = zoo.lorenz(20.0)
    rolls = jv.equilibrium(system, [7.0, 7.0, 19.0])
    (hopf,) = jv.continue_equilibrium(system, rolls, "r", (15.0, 30.0)).bifurcations
    branch = jv.switch_branch(system, hopf, (10.0, 30.0))
    assert branch.bifurcations == ()
    assert (np.asarray(branch.stable) != 1).all()
    assert abs(branch.parameter[0] - 470 / 19) < 2e-3
    assert abs(branch.parameter[-1] - 13.9265) < 1e-4
    assert branch.periods[-1] > 6 * branch.periods[0]
