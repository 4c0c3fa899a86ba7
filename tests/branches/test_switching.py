"""Checked against: values printed for a pendulum, Mathieu functions, scipy motions."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.special

import jaxvib as jv
from jaxvib.ensemble import Reason

TAU = 2 * np.pi


def pendulum(t, x, p):
    drive = p["amplitude"] * jnp.cos(p["w"] * t)
    return [x[1], drive - x[1] / p["quality"] - jnp.sin(x[0])]


# Fitzpatrick, Computational Physics (University of Texas), "The chaotic pendulum".
driven = jv.forced_system(
    pendulum,
    parameters={"amplitude": 1.5, "w": 2 / 3, "quality": 1.1},
    period=lambda p: TAU / p["w"],
    dimension=2,
)


@pytest.fixture(scope="module")
def symmetric():
    orbit = jv.periodic_orbit(driven)
    assert int(orbit.result) == 0
    return jv.continue_orbit(driven, orbit, "quality", (1.0, 1.5), method="arclength")


@pytest.fixture(scope="module")
def tilted(symmetric):
    return jv.branches.switch_branch(driven, symmetric.bifurcations[0], (1.0, 1.5))


def flow_by_scipy(parameters, state, periods):
    span = periods * TAU / parameters["w"]
    return scipy.integrate.solve_ivp(
        lambda t, x: np.array(pendulum(t, x, parameters)),
        (0, span), state, method="DOP853", rtol=1e-12, atol=1e-13,
    ).y[:, -1]  # fmt: skip


def multipliers_by_scipy(point):
    """Return the multipliers at a point, by central differences of scipy's flow."""
    values = {"amplitude": 1.5, "w": 2 / 3, "quality": float(point.parameter)}
    state, step = np.asarray(point.state), 1e-5
    columns = [
        flow_by_scipy(values, state + step * way, 1)
        - flow_by_scipy(values, state - step * way, 1)
        for way in np.eye(2)
    ]
    return np.linalg.eigvals(np.array(columns).T / (2 * step))


@pytest.mark.slow
def test_the_pendulum_loses_its_symmetry_where_it_is_printed(symmetric, tilted):
    first = symmetric.bifurcations[0]
    assert first.kind == "branch_point"
    # "About 1.245", read off a diagram of settled motions.
    assert float(first.parameter) == pytest.approx(1.245, abs=3e-3)
    assert np.abs(multipliers_by_scipy(first) - 1).min() < 1e-6
    assert Reason(int(tilted.ends[0])) is Reason.BRANCHED
    # Turned round, half a period later, it is another motion.
    point = len(tilted.parameter) // 2
    values = {"amplitude": 1.5, "w": 2 / 3, "quality": float(tilted.parameter[point])}
    state = np.asarray(tilted.states[point])
    np.testing.assert_allclose(flow_by_scipy(values, state, 1), state, atol=1e-8)
    assert np.abs(flow_by_scipy(values, state, 0.5) + state).max() > 1e-3


@pytest.mark.slow
def test_its_period_doubles_where_it_is_printed(tilted):
    doubling = next(p for p in tilted.bifurcations if p.kind == "period_doubling")
    assert float(doubling.parameter) == pytest.approx(1.348, abs=3e-3)  # "about 1.348"
    assert np.abs(multipliers_by_scipy(doubling) + 1).min() < 1e-6
    double = jv.branches.switch_branch(driven, doubling, (1.3, 1.4))
    assert int(double.stable[0]) == 1
    point = len(double.parameter) // 3
    values = {"amplitude": 1.5, "w": 2 / 3, "quality": float(double.parameter[point])}
    state = np.asarray(double.states[point])
    np.testing.assert_allclose(flow_by_scipy(values, state, 2), state, atol=1e-7)
    assert np.abs(flow_by_scipy(values, state, 1) - state).max() > 1e-3


@pytest.mark.slow
def test_rest_loses_its_stability_at_mathieu_s_values():
    mathieu = jv.forced_system(
        lambda t, x, p: [x[1], -(p["a"] - 2 * 0.4 * jnp.cos(2 * t)) * x[0]],
        parameters={"a": 2.0},
        period=np.pi,
        dimension=2,
    )
    orbit = jv.periodic_orbit(mathieu, np.zeros(2))
    branch = jv.continue_orbit(
        mathieu,
        orbit,
        "a",
        (0.3, 4.5),
        settings=jv.branches.ContinuationSettings(largest_step=0.03),
    )
    found = {
        kind: [float(p.parameter) for p in branch.bifurcations if p.kind == kind]
        for kind in ("period_doubling", "branch_point")
    }
    special = scipy.special
    expected = {
        "period_doubling": [special.mathieu_b(1, 0.4), special.mathieu_a(1, 0.4)],
        "branch_point": [special.mathieu_b(2, 0.4), special.mathieu_a(2, 0.4)],
    }
    for kind, values in expected.items():
        np.testing.assert_allclose(found[kind], values, rtol=1e-8)


@pytest.mark.slow
def test_branches_are_switched_to_in_millimetres_as_in_metres():
    def ends(bent):
        def rates(t, x, p):
            spring = (p["a"] + 2.4 * jnp.cos(2 * t)) * x[0] + p["bent"] * x[0] ** 3
            return [x[1], -spring - 0.02 * x[1]]

        system = jv.forced_system(
            rates, parameters={"a": 3.5, "bent": bent}, period=np.pi, dimension=2
        )
        rest = jv.periodic_orbit(system, [0.0, 0.0])
        fork, _ = jv.continue_orbit(system, rest, "a", (3.0, 5.0)).bifurcations
        return np.asarray(jv.branches.switch_branch(system, fork, (3.0, 5.0)).states)[-1]

    np.testing.assert_allclose(ends(1e6), ends(1.0) * 1e-3, rtol=1e-7)


def test_nothing_branches_off_at_a_fold():
    fold = jv.branches.BifurcationPoint(
        kind="fold", path="quality", parameter=jnp.array(1.0), state=jnp.zeros(2),
        periods=jnp.array(1), time=jnp.array(0.0), residual=jnp.array(0.0),
        test=jnp.array(0.0), iterations=jnp.array(0), result=jnp.array(0),
    )  # fmt: skip
    with pytest.raises(ValueError, match="kind = 'fold'; allowed: period_doubling"):
        jv.branches.switch_branch(driven, fold, (0.5, 2.0))


def swing(t, x, p):
    """Return the field of a parametrically driven oscillator that stiffens."""
    stiffness = 1 + 0.5 * jnp.cos(p["w"] * t)
    return jnp.stack([x[1], -0.1 * x[1] - stiffness * x[0] - x[0] ** 3])


def wrong_multiplier_by_scipy(w):
    """Return how far rest is from a multiplier at -1, by scipy's linear motions."""
    columns = [
        scipy.integrate.solve_ivp(
            lambda t, x: [x[1], -0.1 * x[1] - (1 + 0.5 * np.cos(w * t)) * x[0]],
            (0, TAU / w), start, method="DOP853", rtol=1e-12, atol=1e-13,
        ).y[:, -1]
        for start in np.eye(2)
    ]  # fmt: skip
    return np.abs(np.linalg.eigvals(np.array(columns).T) + 1).min()


@pytest.mark.slow
def test_a_doubled_motion_ends_where_rest_flips_again():
    system = jv.forced_system(
        swing,
        parameters={"w": 1.5},
        dimension=2,
        period=lambda p: TAU / p["w"],
    )
    rest = jv.periodic_orbit(system, [0.0, 0.0])
    branch = jv.continue_orbit(system, rest, "w", (1.5, 3.0))
    first, second = branch.bifurcations
    doubled = jv.switch_branch(system, first, (1.5, 10.0))
    ends = [Reason(int(code)) for code in doubled.ends]
    assert ends == [Reason.BRANCHED, Reason.PERIOD_HALVED]
    assert [point.kind for point in doubled.bifurcations] == ["fold", "period_doubling"]
    end = doubled.bifurcations[-1]
    assert int(end.periods) == 1
    assert wrong_multiplier_by_scipy(float(end.parameter)) < 1e-8
    np.testing.assert_allclose(end.parameter, second.parameter, rtol=1e-10)
    assert "half the period" in repr(doubled)
