"""Checked against: closed forms of decay by friction, of belts and of impacts; sums."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.dynamics import energy_balance
from tests.dynamics.test_friction_beside_stops import two_bodies

ONE = [1.0]
MASS, STIFFNESS, RUBS = 2.0, 50.0, 3.0
FREQUENCY = np.sqrt(STIFFNESS / MASS)


def rubbing(force=RUBS, *, static=None, speed=0.0, contacts=(), loads=(), stiffness=50.0):
    linear = jv.LinearSystem([[MASS]], [[0.0]], [[stiffness]])
    pad = jv.CoulombFriction(ONE, force, static=static, speed=speed)
    return jv.ImpactSystem(linear, contacts, loads, [pad])


def test_a_body_that_friction_stops_has_lost_it_all_on_its_path():
    # Each swing is 2 R / k shorter than the one before it: 0.5, 0.38, 0.26, 0.14, 0.02.
    start, time = [0.5, 0.0], 5 * np.pi / FREQUENCY
    found = energy_balance(rubbing(), start, 0.0, time)
    ends = 0.5 - 2 * RUBS / STIFFNESS * np.arange(5)
    path = np.sum(ends[:-1] + ends[1:])
    np.testing.assert_allclose(found.frictions, [RUBS * path], rtol=1e-12)
    np.testing.assert_allclose(found.state, [ends[-1], 0.0], atol=1e-12)
    change = STIFFNESS * (ends[-1] ** 2 - 0.25) / 2
    np.testing.assert_allclose(found.potential, change, rtol=1e-12)
    assert abs(float(found.left)) < 1e-12


@pytest.mark.slow
def test_derivatives_of_losses_are_those_of_the_path():
    def lost(force, reach):
        end = 4 * np.pi / FREQUENCY
        return energy_balance(rubbing(force), [reach, 0.0], 0.0, end).frictions[0]

    # Four swings: R (8 a - 32 R / k).
    by_force, by_reach = jax.jit(jax.jacfwd(lost, argnums=(0, 1)))(RUBS, 0.5)
    expected = 8 * 0.5 - 2 * 32 * RUBS / STIFFNESS
    np.testing.assert_allclose(by_force, expected, rtol=1e-9)
    np.testing.assert_allclose(by_reach, 8 * RUBS, rtol=1e-9)


def test_a_belt_does_work_through_sticking_and_sliding_contacts():
    speed, static = 0.3, 5.0
    belt = rubbing(static=static, speed=speed)
    slips = static / STIFFNESS / speed  # it is carried along until the spring tears it off
    stuck = energy_balance(belt, [0.0, speed], 0.0, 0.9 * slips)
    carried = STIFFNESS * (0.9 * slips * speed) ** 2 / 2
    np.testing.assert_allclose(stuck.belts, [carried], rtol=1e-12)
    np.testing.assert_allclose(stuck.frictions, [0.0], atol=1e-14)
    span = 0.2
    slid = energy_balance(belt, [0.0, speed], 0.0, slips + span)
    phase = FREQUENCY * span
    way = (static - RUBS) / STIFFNESS * (np.cos(phase) - 1) + speed / FREQUENCY * np.sin(
        phase
    )
    worked = STIFFNESS * (slips * speed) ** 2 / 2 + RUBS * speed * span
    np.testing.assert_allclose(slid.belts, [worked], rtol=1e-10)
    np.testing.assert_allclose(slid.frictions, [RUBS * (speed * span - way)], rtol=1e-9)
    assert abs(float(slid.left)) < 1e-11


def test_a_stop_loses_what_its_restitution_says_each_time():
    e, pull = 0.6, 4.0
    stop = jv.Contact(ONE, 0.0, jv.RestitutionContact(e))
    weight = jv.AppliedLoad(ONE, jv.ConstantLoad(pull), name="weight")
    ball = rubbing(1.0, contacts=(stop,), loads=(weight,), stiffness=0.0)
    speed, up, down = 1.2, (pull + 1.0) / MASS, (pull - 1.0) / MASS
    rebounds, lost, rubbed = e * speed, MASS * (1 - e**2) * speed**2 / 2, 0.0
    height = rebounds**2 / up / 2
    back = np.sqrt(2 * down * height)
    flight = rebounds / up + back / down
    lost, rubbed = lost + MASS * (1 - e**2) * back**2 / 2, 2 * height
    found = energy_balance(ball, [0.0, speed], 0.0, flight + 1e-9)
    np.testing.assert_allclose(found.contacts, [lost], rtol=1e-9)
    np.testing.assert_allclose(found.frictions, [rubbed], rtol=1e-8)
    np.testing.assert_allclose(found.loads, [0.0], atol=1e-7)


@pytest.mark.slow
def test_derivatives_of_the_loss_at_a_stop_are_those_of_the_closed_form():
    speed, e = 1.2, 0.6
    ball = rubbing(
        1.0, contacts=(jv.Contact(ONE, 0.0, jv.RestitutionContact(e)),), stiffness=0.0
    )

    def lost(e, speed):
        struck = jv.replace(ball, {"contacts.0.law.restitution": e})
        return energy_balance(struck, [0.0, speed], 0.0, 0.1).contacts[0]

    found = jax.jit(jax.jacfwd(lost, argnums=(0, 1)))(e, speed)
    expected = [-MASS * e * speed**2, MASS * (1 - e**2) * speed]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_friction_under_a_contact_loses_mu_times_its_force_times_the_way():
    linear = jv.LinearSystem(MASS * np.eye(2), np.zeros((2, 2)), np.diag([STIFFNESS, 0.0]))
    along, down = [1.0, 0.0], [0.0, 1.0]
    floor = jv.Contact(down, 0.0, jv.LinearContact(1e3), name="floor")
    weight = jv.AppliedLoad(down, jv.ConstantLoad(10.0))
    sole = jv.ContactFriction(along, "floor", 0.3)
    block = jv.ImpactSystem(linear, (floor,), (weight,), (sole,))
    start = [0.5, 0.01, 0.0, 0.0]
    found = energy_balance(block, start, 0.0, 5 * np.pi / FREQUENCY)
    ends = 0.5 - 2 * RUBS / STIFFNESS * np.arange(5)
    np.testing.assert_allclose(
        found.frictions, [RUBS * np.sum(ends[:-1] + ends[1:])], rtol=1e-9
    )
    assert abs(float(found.left)) < 1e-10


@pytest.mark.slow
def test_hundreds_of_random_systems_with_stops_friction_and_springs_leave_nothing_over():
    count, draw = 300, np.random.default_rng(4)
    numbers = {
        "mass": draw.uniform(0.5, 2, (count, 2)),
        "stiffness": draw.uniform(10, 60, (count, 2)),
        "damping": draw.uniform(0, 0.6, (count, 2)),
        "gap": draw.uniform(0, 0.1, (count, 3)),
        "restitution": draw.uniform(0, 0.9, (count, 2)),
        "stop": draw.uniform(1e2, 1e4, count),
        "load": draw.uniform([0, 1], [12, 8], (count, 2)),
        "sliding": draw.uniform(0, 2, (count, 2)),
        "excess": draw.uniform(0, 1, (count, 2)),
        "cubic": draw.uniform(0, 500, count),
    }
    starts = draw.uniform([-0.02, -0.02, -1, -1], [0, 0, 1, 1], (count, 4))
    starts[:, 1] = np.maximum(starts[:, 1], starts[:, 0])

    @jax.jit
    @jax.vmap
    def balance(numbers, start):
        return energy_balance(two_bodies(numbers), start, 0.0, 5.0, rtol=1e-12)

    found = balance(jax.tree.map(jnp.asarray, numbers), jnp.asarray(starts))
    assert not np.asarray(found.result).any()
    np.testing.assert_allclose(found.left, 0.0, atol=1e-9)
    assert np.all(np.asarray(found.frictions) >= -1e-12)
    assert np.median(found.contacts.sum(axis=1)) > 0.1


def test_a_contact_without_event_form_leaves_nothing_over():
    contact = jv.Contact(ONE, 0.1, jv.PowerContact(1e3, 1.2))
    linear = jv.LinearSystem([[1.0]], [[0.2]], [[1.0]])
    push = jv.AppliedLoad(ONE, jv.HarmonicLoad(3.0, 2.0))
    bumping = jv.ImpactSystem(linear, (contact,), (push,))
    found = energy_balance(bumping, [0.0, 1.0], 0.0, 10.0)
    assert float(found.damping) > 0.1
    assert abs(float(found.left)) < 1e-8 * float(found.damping)
