"""Checked against: d'Alembert's solution of a falling bar; energy and momentum balances."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from experiments.contact_sums import imbalances
from tests.elastic_bar import (
    IMPULSE,
    RELEASE,
    SECOND_TOUCH,
    TOUCH,
    bar_force,
    falling_bar,
)


def bar_errors(modes: int) -> np.ndarray:
    """Return the errors of impulse, second touch and averaged force."""
    bar = falling_bar(modes)
    times = np.concatenate([[0.0], np.linspace(0.9, 1.8, 91), np.linspace(3.6, 3.7, 2001)])
    seen = jv.dynamics.contact_histories(bar, bar.rest(), times)
    rebound = np.interp(3.0, seen.times, seen.impulses[:, 0])
    again = seen.times[(seen.times > 3.5) & (seen.forces[:, 0] > 0)][0]
    inside = (times > TOUCH + 0.1) & (times < RELEASE - 0.1)
    off = (seen.averaged_forces[:, 0] - bar_force(times))[inside] / 400.0
    return np.array([rebound / IMPULSE - 1, again - SECOND_TOUCH, np.sqrt(np.mean(off**2))])


def test_a_hard_stop_on_a_falling_bar_has_the_exact_impulse_and_return():
    assert np.all(np.abs(bar_errors(10)) < [2.7e-3, 6.5e-3, 1.5e-3])


@pytest.mark.slow  # many modes, each number with its own programs
def test_a_hard_stop_converges_at_first_order():
    few, many, most = (np.abs(bar_errors(modes)) for modes in (20, 40, 80))
    assert np.all(most < [3e-4, 1e-3, 5e-4])
    assert np.all(many < few / 2)
    assert np.all(most < 0.52 * many)


def damped_tower():
    linear = jv.LinearSystem(
        [[2.0, 0.0], [0.0, 1.0]], [[0.4, 0.0], [0.0, 0.2]], [[40.0, -10.0], [-10.0, 10.0]]
    )
    stop = jv.Contact([0.0, 1.0], 0.05, jv.HuntCrossleyContact(2e3, 0.1), "roof")
    pair = jv.Contact([1.0, -1.0], 0.08, jv.HertzContact(2e3), "pair")
    load = jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(6.0, 3.0))
    return jv.ImpactSystem(linear, [stop, pair], [load])


@pytest.mark.slow  # compiles the events of two contacts
def test_losses_are_those_of_the_energy_balance():
    system = damped_tower()
    times = np.linspace(0.0, 8.0, 5)
    seen = jv.dynamics.contact_histories(system, system.rest(), times, rtol=1e-11)
    balance = jv.dynamics.energy_balance(system, system.rest(), 0.0, 8.0)
    assert seen.names == ("roof", "pair")
    assert seen.losses[-1, 0] > 0.01
    np.testing.assert_allclose(seen.losses[-1], balance.contacts, rtol=1e-6)
    np.testing.assert_allclose(seen.work_rates, balance.contacts / 8.0, rtol=1e-6)


@pytest.mark.slow  # compiles four structures, each by three programs
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_sums_balance_momentum_and_energy_under_loads_of_any_speed(seed):
    for each in (seed, seed + 4, seed + 8):  # slow and fast loads, pulses, records
        off, allowed, relative, bars = imbalances(each)
        assert np.all(off <= allowed)
        assert np.all(bars < 1e-5)
        assert np.all(relative < 1e-7)


def test_impulses_under_a_load_much_faster_than_the_bodies_are_those_of_the_momentum():
    # A load 2000 times as fast, and a stop that lets go before the body has left it.
    law = jv.KelvinVoigtContact(400.0, damping=12.0)
    contact = jv.Contact([1.0], 0.01, law, "stop")
    waves = jv.AppliedLoad([1.0], jv.HarmonicLoad(4e4, 2e4))
    push = jv.AppliedLoad([1.0], jv.ConstantLoad(3.0))
    linear = jv.LinearSystem([[1.0]], [[0.1]], [[2.0]])
    system = jv.ImpactSystem(linear, [contact], [waves, push])
    times = np.linspace(0.0, 3.0, 20001)
    seen = jv.dynamics.contact_histories(system, system.rest(), times[[0, 7000, -1]])
    place, speed = np.asarray(jv.simulate(system, [0.0, 0.0], times, rtol=1e-12).states).T
    whole = np.trapezoid(place, times) + times[1] ** 2 / 12 * (speed[0] - speed[-1])
    given = 4e4 / 2e4 * np.sin(2e4 * 3.0) + 3.0 * 3.0
    impulse = given - (speed[-1] - speed[0]) - 0.1 * (place[-1] - place[0]) - 2.0 * whole
    assert impulse > 1.0
    off = abs(float(seen.impulses[-1, 0]) - impulse)
    assert off < 1e-6 * impulse + float(seen.impulse_errors[-1, 0])
    assert float(seen.impulse_errors[-1, 0]) < 1e-5 * impulse
    balance = jv.dynamics.energy_balance(system, system.rest(), 0.0, 3.0, rtol=1e-12)
    off = np.abs(seen.losses[-1] - balance.contacts)
    assert np.all(off <= seen.loss_errors[-1] + 1e-8 * balance.contacts)


def test_systems_without_contact_histories_are_refused():
    system = damped_tower()
    hard = jv.ImpactSystem(
        system.linear, [jv.Contact([0.0, 1.0], 0.1, jv.RestitutionContact(0.5))]
    )
    with pytest.raises(ValueError, match="RestitutionContact has no force"):
        jv.dynamics.contact_histories(hard, hard.rest(), [0.0, 1.0])
    free = jv.ImpactSystem(system.linear)
    with pytest.raises(ValueError, match="contacts is empty"):
        jv.dynamics.contact_histories(free, free.rest(), [0.0, 1.0])
    with pytest.raises(ValueError, match="ascend"):
        jv.dynamics.contact_histories(system, jnp.zeros(4), [1.0, 0.0])


@pytest.mark.slow  # compiles two systems of its own
def test_two_bodies_give_what_the_same_assembled_system_gives():
    bodies = jv.two_body_impact(contact=jv.HertzContact(3.504e7))
    load = jv.AppliedLoad([1.0, 0.0], bodies.load, "load")
    same = jv.ImpactSystem(jv.LinearSystem(*bodies.matrices()), bodies.contacts, (load,))
    times = np.linspace(0.0, 3.0, 31)
    found = jv.dynamics.contact_histories(bodies, bodies.rest(), times)
    expected = jv.dynamics.contact_histories(same, np.zeros(4), times)
    assert float(expected.impulses[-1, 0]) > 0
    np.testing.assert_allclose(found.impulses, expected.impulses, rtol=1e-7)
