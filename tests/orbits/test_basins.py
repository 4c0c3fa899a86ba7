"""Checked against: shares printed for Attractors.jl, scipy's DOP853, continuation."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.orbits import SettlingSettings, attractors, basins, state_grid
from tests import zoo

TAU = 2 * np.pi


def two_wells(t, x, p):
    return [x[1], p["f"] * jnp.cos(t) - p["d"] * x[1] + x[0] - x[0] ** 3]


# DynamicalSystems.jl's duffing([0.1, 0.25]; w = 1, f = 0.2, d = 0.15, beta = -1).
double_well = jv.forced_system(
    two_wells, parameters={"f": 0.2, "d": 0.15}, period=TAU, dimension=2
)
oscillator = zoo.duffing(w=1.046)


def by_scipy(start, periods):
    def rate(t, x):
        return [x[1], 0.2 * math.cos(t) - 0.15 * x[1] + x[0] - x[0] ** 3]

    span = (0, periods * TAU)
    return solve_ivp(rate, span, start, "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]


@pytest.fixture(scope="module")
def wells():
    # Its tests draw 1000 starts from this square, too.
    starts = np.random.default_rng(1234).uniform(-2.2, 2.2, (1000, 2))
    return starts, basins(double_well, starts)


def test_the_double_well_has_the_shares_that_attractors_jl_prints(wells):
    _, found = wells
    assert found.attractors.names == [
        "A1: period 1, 0 contacts",
        "A2: period 1, 0 contacts",
    ]
    assert np.sign(found.attractors.state[:, 0]).tolist() == [-1, 1]
    assert not (found.label < 0).any()
    # 0.489 and 0.511 there, of 1000 other random starts.
    assert np.abs(found.share - [0.489, 0.511]).max() < 3 * np.sqrt(2) * 0.0158
    np.testing.assert_allclose(found.share_error, 0.0158, atol=1e-4)
    np.testing.assert_allclose(found.share.sum(), 1.0)


@pytest.mark.slow  # integrates 1000 periods by scipy, 3 s
def test_starts_lead_where_scipy_leads_them(wells):
    starts, found = wells
    for i in range(0, 1000, 100):
        state = found.attractors.state[found.label[i]]
        np.testing.assert_allclose(by_scipy(starts[i], 100), state, atol=1e-5)


def test_multipliers_have_the_product_that_damping_gives_them(wells):
    multipliers = wells[1].attractors.floquet_multipliers
    np.testing.assert_allclose(multipliers.prod(1).real, np.exp(-0.15 * TAU), rtol=1e-6)
    exponents = wells[1].attractors.lyapunov_exponent
    np.testing.assert_allclose(exponents, -0.075, rtol=1e-6)  # complex pairs


def test_batches_change_no_label(wells):
    starts, found = wells
    again = basins(double_well, starts[:96], batch=32)
    np.testing.assert_array_equal(again.label, found.label[:96])


def test_a_non_finite_state_is_undecided():
    found = basins(double_well, np.array([[1.0, 0.0], [np.nan, 0.0], [1.1, 0.0]]))
    assert found.result.tolist() == [Reason.SUCCESS, Reason.BAD_PARAMETER, Reason.SUCCESS]
    assert found.label.tolist() == [0, -1, 0]
    np.testing.assert_allclose(found.undecided, 1 / 3)
    assert "undecided" in repr(found)


def test_too_few_periods_leave_states_undecided():
    short = SettlingSettings(transient=16)
    found = basins(double_well, np.array([[1.0, 0.0], [1.1, 0.0]]), settings=short)
    assert set(found.result.tolist()) <= {Reason.SUCCESS, Reason.NOT_CONVERGED}
    assert (found.result == np.where(found.label < 0, Reason.NOT_CONVERGED, 0)).all()


def test_a_grid_has_its_first_component_slowest_and_the_rest_at_rest():
    grid = state_grid(jv.two_body_impact(), {2: [1.0, 2.0], 0: [-0.1, 0.1]})
    expected = [[x, 0.05, v, 0] for v in (1, 2) for x in (-0.1, 0.1)]
    np.testing.assert_allclose(grid, expected)


@pytest.mark.parametrize("bad", [np.zeros(2), np.zeros((3, 3)), np.zeros((0, 2))])
def test_starts_of_another_shape_are_named(bad):
    with pytest.raises(ValueError, match=r"starts have shape .* allowed: \(starts, 2\)"):
        basins(double_well, bad)


@pytest.mark.slow
@pytest.mark.parametrize("w", [1.0435, 1.0442, 1.046, 1.049, 1.0497])
def test_within_the_folds_two_orbits_attract_and_are_those_of_continuation(w):
    here = jv.replace(oscillator, {"w": w})
    grid = np.linspace(-0.6, 0.6, 9)
    found = attractors(here, state_grid(here, {0: grid, 1: grid}))
    orbit = jv.periodic_orbit(jv.replace(oscillator, {"w": 1.0}), np.zeros(2))
    start = jv.replace(oscillator, {"w": 1.0})
    branch = jv.continue_orbit(start, orbit, "w", (0.98, 1.1), method="arclength")
    # Where the branch passes this value, and Newton's method from there.
    value = np.asarray(branch.parameter)
    passes = np.flatnonzero((value[:-1] - w) * (value[1:] - w) <= 0)
    orbits = [jv.periodic_orbit(here, np.asarray(branch.states)[i]) for i in passes]
    stable = sorted(orbits_state(each) for each in orbits if int(each.stable) == 1)
    assert len(stable) == (2 if 1.0439137088 < w < 1.0492623992 else 1)
    found_states = sorted(tuple(state) for state in found.state)
    np.testing.assert_allclose(found_states, stable, atol=1e-7)


def orbits_state(orbit):
    return tuple(np.asarray(orbit.state).tolist())


@pytest.mark.slow
def test_the_chaotic_attractor_of_ueda_takes_all_starts():
    system = jv.forced_system(
        lambda t, x, p: [x[1], p["b"] * jnp.cos(t) - 0.05 * x[1] - x[0] ** 3],
        parameters={"b": 7.5}, period=TAU, dimension=2,
    )  # fmt: skip
    grid = np.linspace(-3, 3, 8)
    found = basins(system, state_grid(system, {0: grid, 1: grid}))
    assert found.attractors.names == ["A1: chaotic"]
    # said of the periods that were watched, and no more
    assert 512 <= int(found.attractors.orbits.watched[0]) <= 3584
    assert "converged" not in jv.reason(Reason.CHAOTIC)
    assert found.share.tolist() == [1.0]
    assert found.attractors.lyapunov_exponent[0] > 10 * found.attractors.lyapunov_error[0]
