"""Checked against: closed forms, scipy's roots, and all choices of closed stops."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import jaxvib as jv
from jaxvib.orbits.static_equilibrium import gaps_from_equilibrium

ONE, G = jnp.ones(1), 9.81


def body(law, stiffness=0.0, gap=0.0, weight=2.0 * G):
    """Return a body of 2 kg over a floor, pulled down by its weight."""
    linear = jv.LinearSystem([[2.0]], [[0.1]], [[stiffness]])
    pull = jv.AppliedLoad(-ONE, jv.ConstantLoad(weight), name="weight")
    shake = jv.AppliedLoad(ONE, jv.HarmonicLoad(5.0, 3.0))
    floor = jv.Contact(-ONE, gap, law, name="floor")
    return jv.ImpactSystem(linear, (floor,), (pull, shake))


def test_a_body_rests_on_elastic_and_on_hard_floors():
    hertz = jv.static_equilibrium(body(jv.HertzContact(3e6)))
    depth = (2 * G / 3e6) ** (2 / 3)
    np.testing.assert_allclose(hertz.state, [-depth, 0.0], rtol=1e-12)
    np.testing.assert_allclose(hertz.contact_force, [2 * G], rtol=1e-12)
    hard = jv.static_equilibrium(body(jv.RestitutionContact(0.5), gap=0.3))
    np.testing.assert_allclose(hard.state, [-0.3, 0.0], rtol=1e-15)
    np.testing.assert_allclose(hard.contact_force, [2 * G], rtol=1e-14)
    assert hard.closed.tolist() == [True]
    hanging = jv.static_equilibrium(body(jv.RestitutionContact(0.5), 100.0, gap=0.3))
    np.testing.assert_allclose(hanging.state, [-2 * G / 100, 0.0], rtol=1e-14)
    assert hanging.closed.tolist() == [False]
    assert int(hanging.result) == 0


def test_derivatives_are_those_of_the_closed_form():
    def depth(weight, stiffness):
        system = jv.replace(
            body(jv.HertzContact(3e6)),
            {"loads.weight.law.force": weight, "contacts.floor.law.stiffness": stiffness},
        )
        return -jv.static_equilibrium(system).state[0]

    numbers = 2 * G, 3e6
    found = jax.grad(depth, argnums=(0, 1))(*numbers)
    size = (2 * G / 3e6) ** (2 / 3)
    expected = [2 / 3 * size / (2 * G), -2 / 3 * size / 3e6]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_what_nothing_bears_has_none():
    falling = body(jv.RestitutionContact(0.5), gap=0.0, weight=-1.0)
    with pytest.raises(RuntimeError, match="static_equilibrium: "):
        jv.static_equilibrium(falling)
    assert int(jv.static_equilibrium(falling, throw=False).result) > 0


def random_chain(seed):
    """Return four bodies on springs with hard stops between them and a floor."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    stiffness = root @ root.T + 0.5 * np.eye(4)
    mass = np.diag(rng.uniform(0.5, 2.0, 4))
    directions = np.vstack([np.eye(4)[0] - np.eye(4)[1], np.eye(4)[1] - np.eye(4)[2],
                            np.eye(4)[2] - np.eye(4)[3], np.eye(4)[3]])  # fmt: skip
    gaps, force = rng.uniform(0.0, 0.2, 4), rng.normal(size=4)
    return mass, stiffness, directions, gaps, force


@jax.jit
@jax.vmap
def resting(mass, stiffness, directions, gaps, force):
    law = jv.RestitutionContact(0.5)
    contacts = tuple(jv.Contact(d, g, law) for d, g in zip(directions, gaps, strict=True))
    loads = tuple(
        jv.AppliedLoad(row, jv.ConstantLoad(f))
        for row, f in zip(jnp.eye(4), force, strict=True)
    )
    linear = jv.LinearSystem(mass, jnp.zeros((4, 4)), stiffness)
    return jv.static_equilibrium(jv.ImpactSystem(linear, contacts, loads))


def by_enumeration(mass, stiffness, directions, gaps, force):
    """Return place and forces of the one choice of closed stops that no force denies."""
    for closed in itertools.product([False, True], repeat=4):
        rows = directions[list(closed)]
        count = len(rows)
        whole = np.block([[stiffness, rows.T], [rows, np.zeros((count, count))]])
        found = np.linalg.solve(whole, np.concatenate([force, gaps[list(closed)]]))
        place, held = found[:4], found[4:]
        if np.all(held >= 0) and np.all(directions @ place <= gaps + 1e-12):
            forces = np.zeros(4)
            forces[list(closed)] = held
            return place, forces
    raise AssertionError


def test_hundreds_of_chains_with_stops_rest_where_enumeration_says():
    cases = [random_chain(seed) for seed in range(400)]
    found = resting(*map(jnp.asarray, map(np.stack, zip(*cases, strict=True))))
    assert not np.asarray(found.result).any()
    for lane, case in enumerate(cases):
        place, forces = by_enumeration(*case)
        np.testing.assert_allclose(found.state[lane, :4], place, atol=1e-10)
        np.testing.assert_allclose(found.contact_force[lane], forces, atol=1e-9)


def test_bodies_on_hertz_and_linear_contacts_rest_where_the_energy_is_least():
    stiffness = np.array([[40.0, -15.0], [-15.0, 25.0]])
    force, linear = (
        np.array([30.0, -8.0]),
        jv.LinearSystem(np.eye(2), 0 * np.eye(2), stiffness),
    )
    first, second = jnp.array([1.0, 0.0]), jnp.array([0.0, -1.0])
    system = jv.ImpactSystem(
        linear,
        (jv.Contact(first, 0.1, jv.HertzContact(1e3)),
         jv.Contact(second, 0.05, jv.LinearContact(500.0))),
        tuple(jv.AppliedLoad(row, jv.ConstantLoad(f))
              for row, f in zip(jnp.eye(2), force, strict=True)),
    )  # fmt: skip

    def slope(q):
        hertz, soft = max(q[0] - 0.1, 0.0), max(-q[1] - 0.05, 0.0)
        return stiffness @ q - force + [1e3 * hertz**1.5, -500.0 * soft]

    place = scipy.optimize.root(slope, [0.3, 0.0], tol=1e-13).x
    np.testing.assert_allclose(jv.static_equilibrium(system).state[:2], place, rtol=1e-10)


def test_gaps_may_count_from_the_equilibrium():
    given = body(jv.RestitutionContact(0.5), 100.0, gap=0.01)
    counted = gaps_from_equilibrium(given)
    rest = jv.static_equilibrium(counted)
    np.testing.assert_allclose(rest.penetration, [-0.01], rtol=1e-12)
    assert float(counted.contacts[0].gap) == pytest.approx(0.01 + 2 * G / 100)
