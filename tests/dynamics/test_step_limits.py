"""Checked against: closed forms of impulses, and the saltation matrix of dry friction."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import jaxvib as jv
from jaxvib.dynamics.flow import solve_system
from jaxvib.ensemble import Reason

PERIOD, AT = 2 * np.pi, 1.7  # s


def swing(pulse, **options):
    """Return a swing of 1 rad/s that a pulse of a unit impulse kicks once a period."""

    def field(t, x, p):
        late = jnp.mod(t, PERIOD) - AT
        return jnp.stack([x[1], pulse(late, p["width"]) - x[0] - 0.2 * x[1]])

    return jv.forced_system(
        field, parameters={"width": 0.003 * PERIOD}, period=PERIOD, dimension=2, **options
    )


def bump(late, width):
    """Return a smooth pulse of a unit impulse, and of a support of two widths or so."""
    return jnp.exp(-((2 * late / width) ** 2)) * 2 / (width * jnp.sqrt(jnp.pi))


def box(late, width):
    """Return a rectangular pulse of a unit impulse."""
    return jnp.where(jnp.abs(late) < width / 2, 1 / width, 0.0)


def kicked(after):
    """Return the state a time after a unit impulse."""
    damped = np.sqrt(1 - 0.01)
    wave = np.exp(-0.1 * after) * np.array([np.sin(damped * after), np.cos(damped * after)])
    return np.array([wave[0] / damped, wave[1] - 0.1 * wave[0] / damped])


KICKED = swing(bump)


@pytest.mark.parametrize("engine", ["diffrax"])
def test_a_short_pulse_moves_a_body_at_rest(engine):
    end = jv.flow(KICKED, jnp.zeros(2), 0.0, PERIOD, rtol=1e-8, engine=engine)
    np.testing.assert_allclose(end, kicked(PERIOD - AT), atol=1e-4)  # of its width


def test_an_orbit_under_a_rectangular_pulse_is_the_one_of_its_impulse():
    system = jv.replace(swing(box), {"width": 0.001 * PERIOD})
    orbit = jv.periodic_orbit(system, jnp.zeros(2))
    matrix = np.array([[0.0, 1.0], [-1.0, -0.2]])
    once = scipy.linalg.expm(matrix * PERIOD)
    expected = np.linalg.solve(np.eye(2) - once, kicked(PERIOD - AT))
    off = np.abs(orbit.state - expected).max()
    assert int(orbit.result) == Reason.SUCCESS
    assert off < 1e-4 + 3 * float(orbit.state_error)


def test_the_longest_step_is_the_requested_one():
    system = swing(lambda late, width: 0.0 * late, largest_step=0.01)
    steps = solve_system(system, jnp.zeros(2), 0.0, PERIOD, rtol=1e-6).steps
    assert 100 <= int(steps) <= 110
    with pytest.raises(ValueError, match=r"largest_step = 2 periods is not in"):
        swing(bump, largest_step=2.0)


def rubbed(slip):
    """Return an oscillator with dry friction, or one that is smooth over a speed."""

    def field(t, x, p):
        friction = jnp.sign(x[1]) if slip == 0 else jnp.tanh(x[1] / slip)
        force = 2.0 * jnp.cos(0.7 * t) - 0.3 * friction
        return jnp.stack([x[1], force - x[0] - 0.1 * x[1]])

    return jv.forced_system(field, parameters={}, period=2 * np.pi / 0.7, dimension=2)


@pytest.mark.slow  # compiles an orbit and exponents, 5 s
def test_a_field_that_jumps_in_its_state_has_no_sensitivities_and_says_so():
    rough = rubbed(0)
    orbit = jv.periodic_orbit(rough, jnp.array([1.0, 1.0]), throw=False)
    assert int(orbit.result) == Reason.FIELD_JUMPS
    assert Reason.FIELD_JUMPS.failed
    found = jv.lyapunov_exponents(rough, jnp.array([1.0, 1.0]), 16, skip=1, throw=False)
    assert int(found.result) == Reason.FIELD_JUMPS
    # The motion itself is one.
    end = solve_system(rough, jnp.array([1.0, 1.0]), 0.0, 5.0, rtol=1e-8)
    assert int(end.result) == Reason.SUCCESS
    near = solve_system(rubbed(1e-5), jnp.array([1.0, 1.0]), 0.0, 5.0, rtol=1e-8)
    np.testing.assert_allclose(end.state, near.state, atol=1e-4)


@pytest.mark.slow  # compiles two orbits, 4 s
def test_a_steep_field_and_one_that_jumps_in_time_have_their_sensitivities():
    steep = jv.periodic_orbit(rubbed(0.01), jnp.array([1.0, 1.0]))
    assert int(steep.result) == Reason.SUCCESS
    square = jv.forced_system(
        lambda t, x, p: jnp.stack([x[1], jnp.sign(jnp.cos(t + 0.3)) - x[0] - 0.2 * x[1]]),
        parameters={},
        period=2 * np.pi,
        dimension=2,
    )
    orbit = jv.periodic_orbit(square, jnp.zeros(2))
    assert int(orbit.result) == Reason.SUCCESS
    matrix = np.array([[0.0, 1.0], [-1.0, -0.2]])
    once = scipy.linalg.expm(2 * np.pi * matrix)
    np.testing.assert_allclose(orbit.monodromy, once, rtol=0, atol=1e-7)
