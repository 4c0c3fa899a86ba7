"""Checked against: scipy's DOP853 in absolute coordinates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv

SPEED, SPRING, PRELOAD, CONTACT = 60.0, 900.0, 25.0, 2e5
LIFT = 4e-3
BODIES = [[0.2, 0.0], [0.0, 0.08]]  # a follower, and a valve on its rod
DAMPING, STIFFNESS = np.array([[3.0, -2.0], [-2.0, 4.0]]), 4e4
STIFF = np.array([[STIFFNESS, -STIFFNESS], [-STIFFNESS, STIFFNESS + SPRING]])


def lift(t):
    """Return a cam's lift, m, and its first two derivatives."""
    a, b = SPEED * t, 2 * SPEED * t
    place = LIFT * (0.5 - 0.55 * np.cos(a) + 0.05 * np.cos(b))
    rate = LIFT * SPEED * (0.55 * np.sin(a) - 0.1 * np.sin(b))
    return place, rate


def train(motion, law):
    """Return a follower on a cam, and a valve with a preloaded spring."""
    cam = jv.StopMotion([1.0, 0.0], motion, name="cam")
    contact = jv.Contact([-1.0, 0.0], 0.0, law, name="cam")
    seat = jv.AppliedLoad([0.0, 1.0], jv.ConstantLoad(-PRELOAD), name="spring")
    linear = jv.LinearSystem(BODIES, DAMPING, STIFF)
    return jv.ImpactSystem(linear, [contact], [cam, seat])


def series():
    return jv.FourierLoad(SPEED, LIFT * np.array([-0.55, 0.05]), [0.0, 0.0], LIFT * 0.5)


def motion_of(times, start, law):
    """Return absolute states by scipy."""
    inverse = np.linalg.inv(BODIES)

    def field(t, x):
        place, rate = lift(t)
        force = law(place - x[0], rate - x[2])
        total = np.array([force, -PRELOAD]) - DAMPING @ x[2:] - STIFF @ x[:2]
        return np.append(x[2:], inverse @ total)

    found = solve_ivp(field, (0.0, times[-1]), start, "DOP853", times, rtol=1e-11,
                      atol=1e-14, max_step=2e-4)  # fmt: skip
    return found.y.T


def pressed(depth, rate):
    return CONTACT * max(depth, 0.0)


def test_the_force_of_a_cam_is_that_of_an_independent_integration():
    times = np.linspace(0.0, 0.4, 401)
    system = train(series(), jv.LinearContact(CONTACT))
    path = jv.simulate(system, system.rest(), times, 1e-11)
    found = jv.absolute_states(system, times, path.states)
    start = np.asarray(found[0])
    np.testing.assert_allclose(start, [lift(0.0)[0], 0.0, lift(0.0)[1], 0.0], atol=1e-18)
    exact = motion_of(times, start, pressed)
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=1e-8)
    force = [pressed(lift(t)[0] - x[0], 0.0) for t, x in zip(times, exact, strict=True)]
    assert np.min(force) == 0.0  # the follower leaves the cam
    assert np.max(force) > 60.0
    np.testing.assert_allclose(path.contact_force[:, 0], force, rtol=0.0, atol=1e-3)


@pytest.mark.slow  # compiles the orbit of a system of its own, 3 s
def test_its_orbit_repeats_in_absolute_coordinates_and_has_its_derivatives():
    orbit = jv.periodic_orbit(train(series(), jv.LinearContact(CONTACT)))
    start = np.asarray(orbit.state) + np.array([lift(0.0)[0], 0.0, lift(0.0)[1], 0.0])
    period = 2 * np.pi / SPEED
    end = motion_of(np.array([0.0, float(orbit.period)]), start, pressed)[-1]
    np.testing.assert_allclose(orbit.period, period, rtol=1e-12)
    np.testing.assert_allclose(end, start, rtol=0.0, atol=1e-8)

    def force(scale):
        moved = jv.FourierLoad(SPEED, scale * series().cosine, [0.0, 0.0], scale * 2e-3)
        changed = train(moved, jv.LinearContact(CONTACT))
        return jv.periodic_orbit(changed, orbit.state).max_contact_force

    slope = jax.jit(jax.jacfwd(force))(1.0)
    step = 1e-4
    change = (force(1 + step) - force(1 - step)) / (2 * step)
    np.testing.assert_allclose(slope, change, rtol=1e-5)


def test_a_table_of_the_lift_gives_its_series():
    times = np.arange(16) * 2 * np.pi / SPEED / 16
    found = jv.FourierLoad.through([lift(t)[0] for t in times], SPEED, 3)
    expected = series()
    np.testing.assert_allclose(found.cosine[:2], expected.cosine, rtol=1e-12)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.sine, 0.0, atol=1e-17)
    with pytest.raises(ValueError, match="terms = 8 of 16 values; allowed: 1 to 7"):
        jv.FourierLoad.through([0.0] * 16, SPEED, 8)


def test_motions_without_an_acceleration_are_refused():
    with pytest.raises(ValueError, match="RecordLoad has no derivative that is a law"):
        jv.StopMotion([1.0], jv.RecordLoad([0.0, 1.0, 2.0], [0.0, 1.0, 0.0]))


def test_linear_motions_between_stops_that_move_are_exact():
    # No contact: the linear response in relative coordinates is the absolute one.
    linear = jv.LinearSystem(BODIES, DAMPING, STIFF)
    law = jv.HarmonicLoad(LIFT, SPEED)
    moved = jv.ImpactSystem(linear, loads=[jv.StopMotion([1.0, 0.0], law)])
    times = jnp.linspace(0.0, 0.3, 7)
    start = jnp.array([-LIFT, 0.0, 0.0, 0.0])
    found = jv.absolute_states(moved, times, jv.propagate(moved, start, times))
    np.testing.assert_allclose(found, np.zeros((7, 4)), atol=1e-12)
