"""Checked against: closed forms of linear and circular motions, scipy, published flips."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.orbits import FieldSection, SettlingSettings, poincare_section


def roessler_rates(x, p):
    return [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - p["c"])]


roessler = jv.autonomous_system(roessler_rates, parameters={"c": 2.5}, dimension=3)
spring = jv.autonomous_system(
    lambda x, p: [x[1], -p["k"] * x[0]], parameters={"k": 4.0}, dimension=2
)


def test_a_harmonic_motion_crosses_once_a_period():
    section = FieldSection(3.0, lambda x: x[0])
    found = poincare_section(spring, [1.0, 0.0], 8, 0, section=section)
    np.testing.assert_allclose(found.states, [[0.0, 2.0]] * 8, atol=1e-7)
    np.testing.assert_allclose(found.times, [0.75 * np.pi] + [np.pi] * 7, rtol=1e-8)


def test_crossings_of_a_chaotic_motion_are_those_of_events_of_scipy():
    system = jv.replace(roessler, {"c": 5.7})
    maxima = poincare_section(
        system, [1.0, 1.0, 0.0], 6, 0, section=FieldSection(6.0), rtol=1e-11
    )

    def rates(time, x):
        return roessler_rates(x, {"c": 5.7})

    def turns(time, x):
        return -rates(time, x)[0]

    turns.direction = 1.0
    found = solve_ivp(
        rates, (0, 50), [1.0, 1.0, 0.0], "DOP853", rtol=1e-12, atol=1e-12, events=turns
    )
    np.testing.assert_allclose(maxima.states, found.y_events[0][:6], rtol=1e-7)
    np.testing.assert_allclose(np.cumsum(maxima.times), found.t_events[0][:6], rtol=1e-8)


def test_a_batch_equals_a_loop():
    section = FieldSection(6.0)

    def states(c):
        system = jv.replace(roessler, {"c": c})
        return poincare_section(system, [1.0, 1.0, 0.0], 4, 2, section=section).states

    values = jnp.array([2.5, 4.0])
    each = [states(c) for c in values]
    np.testing.assert_allclose(jax.jit(jax.vmap(states))(values), each, rtol=1e-9)


def test_a_motion_that_comes_to_rest_crosses_no_more():
    calm = jv.autonomous_system(
        lambda x, p: [x[1], -p["k"] * x[0] - x[1]], parameters={"k": 4.0}, dimension=2
    )
    section = FieldSection(3.0, lambda x: x[0] - 0.1)
    found = poincare_section(calm, [1.0, 0.0], 4, 0, section=section)
    assert int(found.result) == Reason.NO_CROSSING
    assert np.isnan(found.states[-1]).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: poincare_section(spring, [1.0, 0.0]), "section = None of a system"),
        (lambda: FieldSection(0.0), r"period = 0 s is not in \(0, inf\)"),
        (
            lambda: jv.bifurcation_diagram(spring, "k", [1.0, 2.0]),
            "settings.section = None",
        ),
    ],
)
def test_a_missing_or_bad_section_is_reported(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.slow  # it compiles Newton's method for cycles of three states
def test_the_cascade_of_roessler_has_the_published_periods():
    """Of a = b = 0.2: period 1 at c = 2.5, 2 at 3.5, 4 at 4, chaos at 5.7 (Sprott)."""
    settings = SettlingSettings(section=FieldSection(6.0), transient=384)
    values = np.array([2.5, 3.5, 4.0, 5.7])
    found = jv.bifurcation_diagram(
        roessler, "c", values, state=[1.0, 1.0, 0.0], settings=settings
    )
    assert found.periods.tolist() == [1, 2, 4, 0]
    assert found.result.tolist() == [0, 0, 0, Reason.CHAOTIC]
    assert np.isfinite(found.states[:, :, 0]).sum(axis=1).tolist() == [1, 2, 4, 64]
    exponent, error = found.lyapunov_exponent[3], found.lyapunov_error[3]
    assert abs(exponent - 0.0714) < 3 * error
    assert (found.lyapunov_exponent[:3] < 0).all()
    assert repr(found).endswith("1 of period 1, 1 of period 2, 1 of period 4")


@pytest.mark.slow  # it compiles Newton's method for cycles of two states
def test_below_a_hopf_point_there_is_an_equilibrium_and_above_it_a_circle():
    """Of r' = r (m - r^2), angle' = 1: rest for m < 0, a circle of radius sqrt(m)."""
    normal = jv.autonomous_system(
        lambda x, p: [
            p["m"] * x[0] - x[1] - x[0] * (x[0] ** 2 + x[1] ** 2),
            x[0] + p["m"] * x[1] - x[1] * (x[0] ** 2 + x[1] ** 2),
        ],
        parameters={"m": 0.0}, dimension=2,
    )  # fmt: skip
    settings = SettlingSettings(section=FieldSection(6.0), transient=64)
    found = jv.bifurcation_diagram(
        normal, "m", [-2.0, 0.25, 1.0], state=[0.5, 0.1], settings=settings, points=16
    )
    assert found.result.tolist() == [Reason.EQUILIBRIUM, 0, 0]
    assert found.periods.tolist() == [0, 1, 1]
    np.testing.assert_allclose(found.orbits.amplitude[1:, 0], [0.5, 1.0], rtol=1e-6)
    np.testing.assert_allclose(found.lyapunov_exponent, [-2.0, -0.5, -2.0], rtol=1e-4)
    np.testing.assert_allclose(found.orbits.period[1:], 2 * np.pi, rtol=1e-8)
    # The crossing is the maximum of the first component: m x = y + x r^2 there, so y = 0.
    np.testing.assert_allclose(found.states[0, 0], 0.0, atol=1e-9)
    np.testing.assert_allclose(np.hypot(*found.states[1, 0]), 0.5, rtol=1e-6)
