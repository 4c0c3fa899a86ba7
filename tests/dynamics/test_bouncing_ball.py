"""Checked against: free fall, and the impact map of a vibrating table (Holmes, 1982)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.dynamics.flow import observe

G, HEIGHT, MASS = 9.81, 1.0, 2.0
FREQUENCY = 2 * np.pi  # of the table, so that its period is a second
ONE = jnp.ones(1)
FALL = np.sqrt(2 * HEIGHT / G)


def ball(restitution=0.8, amplitude=None):
    """Return a ball above a table, by its height over the table's y = A cos(w t)."""
    loads = [jv.AppliedLoad(-ONE, jv.ConstantLoad(MASS * G), name="weight")]
    if amplitude is not None:
        shake = jv.HarmonicLoad(MASS * amplitude * FREQUENCY**2, FREQUENCY)
        loads.append(jv.AppliedLoad(ONE, shake, name="table"))
    stop = jv.Contact(-ONE, 0.0, jv.RestitutionContact(restitution))
    linear = jv.LinearSystem([[MASS]], [[0.0]], [[0.0]])
    return jv.ImpactSystem(linear, (stop,), tuple(loads))


def last_impact(restitution):
    return FALL * (1 + 2 * restitution / (1 - restitution))


def test_heights_after_n_bounces_and_rest_after_all_of_them_are_the_closed_forms():
    e, bounces = 0.8, np.arange(1, 12)
    tops = [FALL * (1 + 2 * sum(e**k for k in range(1, n)) + e**n) for n in bounces]
    times = [0.0, *tops, 1.001 * last_impact(e), 2 * last_impact(e)]
    found = jv.simulate(ball(e), [HEIGHT, 0.0], times, rtol=1e-12)
    heights = found.states[1:-2, 0]
    np.testing.assert_allclose(heights, HEIGHT * e ** (2.0 * bounces), rtol=1e-12)
    np.testing.assert_allclose(found.states[1:-2, 1], 0, atol=1e-12)
    np.testing.assert_array_equal(found.states[-2:], 0)
    np.testing.assert_allclose(found.contact_force[-2:, 0], MASS * G, rtol=1e-14)


@pytest.mark.parametrize("restitution", [0.3, 0.8])
def test_the_time_of_the_last_bounce_is_the_closed_form(restitution):
    span = 6.0
    _, seen, result = observe(
        ball(restitution), jnp.array([HEIGHT, 0.0]), 0.0, span,
        rtol=1e-12, grazing=1e-9, engine="event",
    )  # fmt: skip
    assert int(result) == 0
    assert span - float(seen.duration[0]) == pytest.approx(
        last_impact(restitution), abs=1e-12
    )
    assert float(seen.impulse[0]) == pytest.approx(
        (1 + restitution) * MASS * G * FALL, rel=1e-12
    )


def test_derivatives_by_weight_and_restitution_are_those_of_free_fall():
    def height(weight, restitution):
        system = jv.replace(ball(restitution), {"loads.weight.law.force": weight})
        return jv.flow(system, [HEIGHT, 0.0], 0.0, 0.9, rtol=1e-12)[0]

    def expected(weight, restitution):
        g = weight / MASS
        fall = jnp.sqrt(2 * HEIGHT / g)
        left = 0.9 - fall
        return restitution * g * fall * left - g * left**2 / 2

    numbers = MASS * G, 0.8
    found = jax.jit(jax.grad(height, argnums=(0, 1)))(*numbers)
    np.testing.assert_allclose(
        found, jax.grad(expected, argnums=(0, 1))(*numbers), rtol=1e-11
    )


def by_holmes(amplitude, restitution):
    """Return phases of the period-one impacts, states at t = 0, and multipliers.

    The ball flies for a period T, is launched and lands at g T / 2, so that the table
    moves at (g T / 2)(1 - e) / (1 + e) then. The impact map has the determinant e^2 and
    the trace 1 + e^2 + (1 + e)^2 y'' / g.
    """
    e, speed = restitution, G / 2
    rise = speed * (1 - e) / (1 + e) / (amplitude * FREQUENCY)
    for phase in (2 * np.pi - np.arcsin(rise), np.pi + np.arcsin(rise)):
        bend = -amplitude * FREQUENCY**2 * np.cos(phase) / G
        left = 1 - phase / FREQUENCY  # since the impact one period before
        place = amplitude * (np.cos(phase) - 1) + speed * left - G * left**2 / 2
        trace = 1 + e**2 + (1 + e) ** 2 * bend
        yield [place, speed - G * left], np.roots([1.0, -trace, e**2])


@jax.jit
def orbit_near(amplitude, guess):
    return jv.periodic_orbit(ball(0.5, amplitude), guess, engine="event")


@pytest.mark.slow  # compiles an orbit with its multipliers, 3 s
def test_period_one_on_a_vibrating_table_is_stable_where_holmes_says():
    e = 0.5
    born = G * (1 - e) / (1 + e) / 2 / FREQUENCY
    slope = 2 * (1 + e**2) / (1 + e) ** 2 * G / FREQUENCY**2
    flips = np.hypot(born, slope)
    verdicts = []
    for amplitude in (1.01 * born, 0.3, 0.99 * flips, 1.01 * flips):
        for state, multipliers in by_holmes(amplitude, e):
            found = orbit_near(amplitude, jnp.array(state) + 1e-6)
            assert int(found.result) == 0
            assert int(found.contacts) == 1
            np.testing.assert_allclose(found.state, state, atol=1e-9)
            size = np.abs(found.floquet_multipliers)
            np.testing.assert_allclose(
                np.sort(size), np.sort(np.abs(multipliers)), rtol=1e-7
            )
            verdicts.append(int(found.stable))
    assert verdicts == [1, 0, 1, 0, 1, 0, 0, 0]
