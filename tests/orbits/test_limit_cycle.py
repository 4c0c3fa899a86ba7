"""Checked against: the Hopf normal form in closed form, scipy, published periods."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from tests import zoo


def normal_form(x, p):
    """Return the field whose cycle is a circle of the radius sqrt(mu)."""
    square = x[0] ** 2 + x[1] ** 2
    turn = p["w"] + p["b"] * square
    grow = p["mu"] - square
    return jnp.stack([grow * x[0] - turn * x[1], turn * x[0] + grow * x[1]])


VALUES = {"mu": 0.09, "w": 2.0, "b": 1.5}
circle = jv.autonomous_system(normal_form, parameters=VALUES, dimension=2)
PERIOD = 2 * np.pi / (2.0 + 1.5 * 0.09)


@pytest.mark.parametrize(
    ("guess", "period"),
    [([0.3, 0.0], 3.0), ([0.01, 0.02], 2.0), ([3.0, -1.0], 4.0)],
    ids=["near", "at rest nearly", "far outside"],
)
def test_a_circle_is_found_with_its_period_and_its_multiplier(guess, period):
    found = jv.periodic_orbit(circle, guess, period=period)
    assert abs(found.period - PERIOD) < max(found.period_error, 1e-13)
    assert found.period_error < 1e-8
    assert abs(np.hypot(*found.state) - 0.3) < 2 * found.state_error + 1e-15
    # Between steps a polynomial tells the extremes.
    np.testing.assert_allclose(found.amplitude, 0.3, rtol=1e-7)
    trivial, other = np.asarray(found.floquet_multipliers)
    assert abs(trivial - 1) < 1e-10
    assert abs(other - np.exp(-2 * 0.09 * PERIOD)) < found.multiplier_error < 1e-6
    assert int(found.stable) == 1
    assert int(found.result) == 0
    assert "stable" in repr(found)


@pytest.mark.slow
def test_an_unstable_circle_is_found_from_near_it():
    def backward(x, p):
        return -normal_form(x, p)

    turned = jv.autonomous_system(backward, parameters=VALUES, dimension=2)
    found = jv.periodic_orbit(turned, [0.31, 0.02], period=3.0)
    np.testing.assert_allclose(found.period, PERIOD, rtol=1e-10)
    growth = np.exp(2 * 0.09 * PERIOD)
    np.testing.assert_allclose(found.floquet_multipliers[1], growth, rtol=1e-8)
    assert int(found.stable) == 0


@pytest.mark.parametrize("turns", [2, 11, 60])
def test_a_guess_of_several_periods_gives_the_cycle_with_its_own(turns):
    found = jv.periodic_orbit(circle, [0.3, 0.0], period=turns * PERIOD)
    assert int(found.result) == 0
    np.testing.assert_allclose(found.period, PERIOD, rtol=1e-12)


def test_a_state_of_rounding_size_does_not_hinder():
    """Two oscillators in step; the third follows their difference."""

    def rates(x, p):
        push = p["mu"] * x[3] - p["mu"] * x[2] * x[2] * x[3]
        pull = 0.7 * (x[2] - x[0])
        lag = x[0] - x[2] - x[4]
        return [*zoo.van_der_pol_rates(x, p), x[3], push - x[2] - pull, lag]

    pair = jv.autonomous_system(rates, parameters={"mu": 1.0}, dimension=5)
    found = jv.periodic_orbit(pair, [2.0, 0.0, 2.0, 0.0, 1e-17], period=6.6)
    assert abs(found.period - 6.66328685932313) < 1e-11


def test_an_equilibrium_is_no_cycle():
    damped = jv.replace(circle, {"mu": -0.3})
    found = jv.periodic_orbit(damped, [0.3, 0.0], period=3.0, throw=False)
    assert jv.reason(found.result) == "converged to an equilibrium, not to a limit cycle"
    assert np.isnan(found.period)
    assert int(found.stable) == -1
    with pytest.raises(RuntimeError, match="periodic_orbit: converged to an equilibrium"):
        jv.periodic_orbit(damped, [0.3, 0.0], period=3.0)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="period = None of an autonomous system"):
        jv.periodic_orbit(circle, [0.3, 0.0])
    with pytest.raises(ValueError, match="guess = None of an autonomous system"):
        jv.periodic_orbit(circle, period=3.0)
    with pytest.raises(ValueError, match=r"period = -1 s is not in \(0, inf\)"):
        jv.periodic_orbit(circle, [0.3, 0.0], period=-1.0)
    with pytest.raises(ValueError, match="periods = 2 of an autonomous system"):
        jv.periodic_orbit(circle, [0.3, 0.0], 2, period=3.0)
    with pytest.raises(ValueError, match="allowed: periods, the number of load p"):
        jv.periodic_orbit(jv.two_body_impact(), period=1.0)
    line = jv.autonomous_system(lambda x, p: -x, parameters={}, dimension=1)
    with pytest.raises(ValueError, match="a cycle of one state"):
        jv.periodic_orbit(line, [1.0], period=1.0)


def told(values):
    system = jv.replace(circle, dict(zip(VALUES, values, strict=True)))
    found = jv.periodic_orbit(system, [0.4, 0.1], period=3.0)
    trivial = found.floquet_multipliers[0].real
    return jnp.stack([found.period, found.amplitude[0], found.largest_multiplier, trivial])


def closed_form(values):
    mu, w, b = values
    period = 2 * np.pi / (w + b * mu)
    return np.array([period, np.sqrt(mu), np.exp(-2 * mu * period), 1.0])


@pytest.mark.slow
def test_derivatives_by_all_parameters_are_the_closed_form():
    values, h = np.array(list(VALUES.values())), 1e-6
    steps = h * np.eye(3)
    differences = [
        (closed_form(values + d) - closed_form(values - d)) / (2 * h) for d in steps
    ]
    forward = jax.jit(jax.jacfwd(told))(jnp.asarray(values))
    np.testing.assert_allclose(forward, np.transpose(differences), rtol=1e-8, atol=1e-9)
    slope = jax.jit(jax.grad(lambda values: told(values)[0]))(jnp.asarray(values))
    np.testing.assert_allclose(slope, forward[0], rtol=1e-9, atol=1e-11)


@pytest.mark.slow
def test_a_batch_equals_the_closed_form():
    values = np.array([[0.09, 2.0, 1.5], [0.2, 3.0, 1.0], [0.01, 1.5, 2.0]])
    found = jax.vmap(told)(jnp.asarray(values))
    expected = np.array([closed_form(v) for v in values])
    np.testing.assert_allclose(found[:, 1], expected[:, 1], rtol=1e-7)
    np.testing.assert_allclose(found[:, ::2], expected[:, ::2], rtol=1e-8)


@pytest.mark.slow
def test_van_der_pol_has_the_published_period_and_scipys_multiplier():
    """Period at mu = 1: 6.66328685932313 (Andersen and Geer, 1982, by series)."""
    system = zoo.van_der_pol(1.0)
    found = jv.periodic_orbit(system, [2.0, 0.0], period=6.0)
    assert abs(found.period - 6.66328685932313) < 1e-11

    def both(t, y):
        return [y[1], (1 - y[0] ** 2) * y[1] - y[0], 1 - y[0] ** 2]

    start, span = [*np.asarray(found.state), 0.0], (0.0, float(found.period))
    seen = solve_ivp(both, span, start, "DOP853", rtol=1e-13, atol=1e-14)
    growth = np.exp(seen.y[2, -1])
    np.testing.assert_allclose(found.floquet_multipliers[1], growth, rtol=1e-8)


@pytest.mark.slow
def test_rosslers_cycle_has_scipys_multipliers():
    system = zoo.rossler()
    found = jv.periodic_orbit(system, [3.0, 0.0, 0.1], period=6.0)

    def columns(t, y):
        x, frame = y[:3], y[3:].reshape(3, 3)
        matrix = np.array([[0, -1, -1], [1, 0.2, 0], [x[2], 0, x[0] - 2.5]])
        rate = [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - 2.5)]
        return np.concatenate([rate, (matrix @ frame).ravel()])

    start = np.concatenate([np.asarray(found.state), np.eye(3).ravel()])
    span = (0.0, float(found.period))
    end = solve_ivp(columns, span, start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(end[:3], found.state, atol=1e-10)
    values = np.linalg.eigvals(end[3:].reshape(3, 3))
    expected = sorted(values, key=lambda value: abs(value - 1))
    expected = [expected[0], *sorted(expected[1:], key=abs, reverse=True)]
    np.testing.assert_allclose(found.floquet_multipliers, expected, atol=1e-8)
    assert int(found.stable) == 1
