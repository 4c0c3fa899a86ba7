"""Checked against: elliptic integrals of Duffing's oscillator; steps of another engine."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ellipk

import jaxvib as jv

MASS, LINEAR, CUBIC = 2.0, 30.0, 900.0


def oscillator(cubic):
    linear = jv.LinearSystem([[MASS]], [[0.0]], [[LINEAR]])
    spring = jv.NonlinearSpring([1.0], jv.PolynomialLaw(jnp.stack([0.0, 0.0, cubic])))
    return jv.ImpactSystem(linear, springs=[spring])


def period_of(cubic, top):
    """Return the period of the free motion from rest at a top."""
    rate = (LINEAR + cubic * top**2) / MASS
    return 4 * ellipk(cubic * top**2 / (2 * MASS * rate)) / np.sqrt(rate)


def test_a_cubic_spring_swings_with_the_period_of_its_elliptic_integral():
    top = 0.3
    period = period_of(CUBIC, top)

    def end(cubic):
        state = jnp.asarray([top, 0.0])
        return jv.flow(oscillator(cubic), state, 0.0, period, rtol=1e-11, engine="event")

    found, slope = jax.jvp(end, (jnp.asarray(CUBIC),), (jnp.ones(()),))
    np.testing.assert_allclose(found, [top, 0.0], atol=1e-9)
    step = 1e-3
    slower = (period_of(CUBIC + step, top) - period_of(CUBIC - step, top)) / (2 * step)
    bend = (LINEAR * top + CUBIC * top**3) / MASS
    np.testing.assert_allclose(slope, [0.0, bend * slower], rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_bodies_that_touch_on_polynomial_springs_move_as_steps_say():
    apart = jnp.asarray([1.0, -1.0])
    system = jv.ImpactSystem(
        jv.LinearSystem(np.eye(2), 0.1 * np.eye(2), 30.0 * np.eye(2)),
        (jv.Contact(apart, 0.03, jv.HertzContact(2e5)),),
        (jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(4.0, 5.0)),),
        springs=[
            jv.NonlinearSpring(apart, jv.PolynomialLaw([3.0, 40.0, 900.0, 0.0, 4e4])),
            jv.NonlinearSpring([0.0, 1.0], jv.PolynomialLaw([0.0, 0.0, 500.0])),
        ],
    )
    start = [0.03, -0.05, 0.4, -0.2]
    expected = jv.flow(system, start, 0.0, 3.0, rtol=1e-12, engine="diffrax")
    found = jv.flow(system, start, 0.0, 3.0, rtol=1e-11, engine="event")
    np.testing.assert_allclose(found, expected, atol=1e-8)
