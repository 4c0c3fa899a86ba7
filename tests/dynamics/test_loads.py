"""Checked against: scipy's integrator and the responses to each wave in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jaxvib as jv

COSINE, SINE, W = np.array([3.0, -1.0, 0.4]), np.array([0.5, 0.8, -0.6]), 2.1
SPAN, START = 4.0, np.array([0.0, 0.1, 0.5, -0.2])
STIFFNESS = np.array([[40.0, -15.0], [-15.0, 25.0]])
GAP, HERTZ = 0.12, 3e3


def force(t):
    orders = np.arange(1, 4) * W * t
    return 0.7 + COSINE @ np.cos(orders) + SINE @ np.sin(orders)


def two_bodies(weight=-2.0, contacts=True):
    """Return two bodies on springs under a series, a weight and a harmonic load."""
    linear = jv.LinearSystem(jnp.eye(2), 0.2 * jnp.eye(2), STIFFNESS)
    first, second = jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])
    stop = jv.Contact(first, GAP, jv.HertzContact(HERTZ), name="stop")
    loads = (
        jv.AppliedLoad(first, jv.FourierLoad(W, COSINE, SINE, 0.7), name="series"),
        jv.AppliedLoad(second, jv.ConstantLoad(weight), name="weight"),
        jv.AppliedLoad(second, jv.HarmonicLoad(1.5, 2 * W, 0.3), name="push"),
    )
    return jv.ImpactSystem(linear, (stop,) if contacts else (), loads)


def by_scipy(weight=-2.0, hertz=HERTZ):
    def rates(t, y):
        push = np.array([force(t), weight + 1.5 * np.cos(2 * W * t + 0.3)])
        push[0] -= hertz * max(y[0] - GAP, 0.0) ** 1.5
        return [*y[2:], *(push - STIFFNESS @ y[:2] - 0.2 * y[2:])]

    found = scipy.integrate.solve_ivp(
        rates, (0.0, SPAN), START, "DOP853", rtol=1e-13, atol=1e-14, max_step=5e-3
    )
    return found.y[:, -1]


@pytest.mark.parametrize("engine", ["event", "diffrax"])
@pytest.mark.slow  # compiles a flow under three loads and its derivative, 4 s each
def test_every_engine_takes_weights_and_series_with_contacts(engine):
    def end(weight):
        system = two_bodies(weight)
        return jv.flow(system, START, 0.0, SPAN, rtol=1e-11, engine=engine)

    found, slope = jax.jit(lambda w: jax.jvp(end, (w,), (1.0,)))(-2.0)
    np.testing.assert_allclose(found, by_scipy(), atol=1e-8)
    difference = (by_scipy(-1.999) - by_scipy(-2.001)) / 2e-3
    np.testing.assert_allclose(slope, difference, atol=1e-5)


def test_the_exact_motion_takes_weights_and_series():
    found = jv.propagate(two_bodies(contacts=False), START, [0.0, SPAN])
    np.testing.assert_allclose(found[1], by_scipy(hertz=0.0), rtol=1e-11)
    np.testing.assert_array_equal(found[0], START)


@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e5])
def test_a_load_far_faster_than_the_system_leaves_its_motion_as_it_is(ratio):
    """The closed form of an oscillator; its steps are as short as the load's turns.

    What each of thousands leaves out of the velocity moves the slow motion in the end.
    """
    mass, own = 1e6, 1.0
    stop = jv.Contact([1.0], 1.0, jv.LinearContact(1.0))  # out of reach
    force, fast = 2e-6 * mass, ratio * own
    oscillator = jv.ImpactSystem(
        jv.LinearSystem([[mass]], [[0.0]], [[mass * own**2]]),
        (stop,),
        (jv.AppliedLoad([1.0], jv.HarmonicLoad(force, fast, 0.4)),),
    )
    found = jv.flow(oscillator, [3e-6, -1e-6], 0.0, 1.0, engine="event")
    ripple = force / mass / (own**2 - fast**2)

    def swing(time):
        angle = fast * time + 0.4
        return ripple * np.array([np.cos(angle), -fast * np.sin(angle)])

    place, speed = np.array([3e-6, -1e-6]) - swing(0.0)
    free = [place * np.cos(own) + speed * np.sin(own),
            speed * np.cos(own) - place * np.sin(own)]  # fmt: skip
    np.testing.assert_allclose(found, free + swing(1.0), rtol=0, atol=1e-8 * 3e-6)
