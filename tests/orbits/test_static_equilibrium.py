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
    found = jax.jit(jax.grad(depth, argnums=(0, 1)))(*numbers)
    size = (2 * G / 3e6) ** (2 / 3)
    expected = [2 / 3 * size / (2 * G), -2 / 3 * size / 3e6]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_an_unsupported_body_has_no_static_equilibrium():
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


def on_slope(stiffness, speed=0.0):
    """Return a block of 2 kg on a slope of 30 degrees with a soft surface, and its weight.

    Down the slope and into it; mu 0.3, and 0.4 of sticking.
    """
    along, into = jnp.asarray([1.0, 0.0]), jnp.asarray([0.0, 1.0])
    matrices = (
        2.0 * np.eye(2),
        0.5 * np.eye(2),
        np.diag([stiffness, 0.0]),
    )
    pull = 2.0 * G * jnp.asarray([np.sin(np.pi / 6), np.cos(np.pi / 6)])
    surface = jv.Contact(into, 0.0, jv.HertzContact(1e7), name="surface")
    rubs = jv.ContactFriction(along, "surface", 0.3, static=0.4, speed=speed)
    loads = (jv.AppliedLoad(pull, jv.ConstantLoad(1.0), name="weight"),)
    return jv.ImpactSystem(jv.LinearSystem(*matrices), (surface,), loads, (rubs,))


DOWN, PRESSED = 2 * G * np.sin(np.pi / 6), 2 * G * np.cos(np.pi / 6)


def test_a_block_on_a_slope_sticks_in_a_band_of_twice_its_friction_over_stiffness():
    system = on_slope(400.0)
    free = jv.static_equilibrium(system)
    depth = (PRESSED / 1e7) ** (2 / 3)
    np.testing.assert_allclose(free.state, [DOWN / 400, depth, 0.0, 0.0], rtol=1e-12)
    np.testing.assert_allclose(free.friction_limit, [0.4 * PRESSED], rtol=1e-12)
    assert free.friction_force.tolist() == [0.0]
    ends = [jv.static_equilibrium(system, [far, 0.0, 0.0, 0.0]) for far in (-1.0, 1.0)]
    band = ends[1].state[0] - ends[0].state[0]
    np.testing.assert_allclose(band, 2 * 0.4 * PRESSED / 400, rtol=1e-12)
    np.testing.assert_allclose(ends[0].friction_force, [0.4 * PRESSED], rtol=1e-12)
    np.testing.assert_allclose(ends[1].friction_force, [-0.4 * PRESSED], rtol=1e-12)
    inside = jv.static_equilibrium(system, [0.03, 0.0, 0.0, 0.0])
    assert float(inside.state[0]) == pytest.approx(0.03, rel=1e-15)
    np.testing.assert_allclose(inside.friction_force, [DOWN - 0.03 * 400], rtol=1e-12)


def test_motions_stay_at_the_ends_of_the_band_and_leave_the_outside():
    system = on_slope(400.0)
    for far, outwards in ((-1.0, -1.0), (1.0, 1.0)):
        end = jv.static_equilibrium(system, [far, 0.0, 0.0, 0.0]).state
        inside, beyond = (end.at[0].add(outwards * by) for by in (-1e-9, 1e-5))
        later = [jv.flow(system, state, 0.0, 0.05)[0] for state in (inside, beyond)]
        assert float(later[0]) == float(inside[0])
        assert outwards * float(later[1] - beyond[0]) < 0


def test_without_a_spring_friction_holds_a_block_or_nothing_does():
    held = jv.static_equilibrium(
        jv.replace(on_slope(0.0), {"frictions.0.static": 0.6}), [0.2, 0.0, 0.0, 0.0]
    )
    assert float(held.state[0]) == pytest.approx(0.2, rel=1e-15)
    np.testing.assert_allclose(held.friction_force, [DOWN], rtol=1e-12)  # tan 30 < 0.6
    np.testing.assert_allclose(held.friction_limit, [0.6 * PRESSED], rtol=1e-12)
    with pytest.raises(RuntimeError, match="static_equilibrium: "):
        jv.static_equilibrium(on_slope(0.0), [0.2, 0.0, 0.0, 0.0])


def test_a_belt_carries_a_block_to_where_sliding_balances():
    for speed, way in ((0.5, 1.0), (-0.5, -1.0)):
        for start in (None, [0.0, 0.0, 0.0, 0.0]):
            found = jv.static_equilibrium(on_slope(400.0, speed), start)
            expected = (DOWN + way * 0.3 * PRESSED) / 400
            np.testing.assert_allclose(found.state[0], expected, rtol=1e-12)
            np.testing.assert_allclose(found.friction_force, [-way * 0.3 * PRESSED])


@pytest.mark.slow  # compiles its own derivatives, 3 s
def test_derivatives_with_friction_are_those_of_the_closed_form():
    def end(static, stiffness):
        system = jv.replace(on_slope(400.0), {"frictions.0.static": static})
        system = jv.replace(system, {"linear.stiffness": jnp.diag(stiffness)})
        return jv.static_equilibrium(system, [1.0, 0.0, 0.0, 0.0]).state[0]

    by_static, by_stiffness = jax.jit(jax.grad(end, argnums=(0, 1)))(
        0.4, jnp.asarray([400.0, 0.0])
    )
    np.testing.assert_allclose(by_static, PRESSED / 400, rtol=1e-12)
    place = (DOWN + 0.4 * PRESSED) / 400
    np.testing.assert_allclose(by_stiffness[0], -place / 400, rtol=1e-12)


@pytest.mark.slow  # compiles two frictions, 2 s
def test_two_pads_of_one_disc_stick_as_one_within_their_limits():
    one = on_slope(400.0)
    pads = (
        jv.CoulombFriction([1.0, 0.0], 2.0),
        jv.CoulombFriction([-1.0, 0.0], 3.0),
    )
    both = jv.ImpactSystem(one.linear, one.contacts, one.loads, pads)
    inside = jv.static_equilibrium(both, [0.03, 0.0, 0.0, 0.0])
    needed = DOWN - 0.03 * 400
    np.testing.assert_allclose(
        inside.friction_force, [0.4 * needed, -0.6 * needed], rtol=1e-12
    )
    for far, way in ((-1.0, 1.0), (1.0, -1.0)):
        end = jv.static_equilibrium(both, [far, 0.0, 0.0, 0.0])
        np.testing.assert_allclose(end.state[0], (DOWN - way * 5.0) / 400, rtol=1e-12)
        np.testing.assert_allclose(end.friction_force, [way * 2.0, -way * 3.0])


def random_slides(seed):
    """Return three bodies on springs with dry friction each, and where they begin."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    directions = np.array([[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    limits, start = rng.uniform(0.1, 1.0, 3), rng.normal(size=3)
    return root @ root.T + np.eye(3), directions, limits, start, rng.normal(size=3)


@jax.jit
@jax.vmap
def slid(stiffness, directions, limits, start, force):
    pairs = zip(directions, limits, strict=True)
    frictions = tuple(jv.CoulombFriction(d, limit) for d, limit in pairs)
    loads = tuple(
        jv.AppliedLoad(row, jv.ConstantLoad(f))
        for row, f in zip(jnp.eye(3), force, strict=True)
    )
    linear = jv.LinearSystem(jnp.eye(3), jnp.zeros((3, 3)), stiffness)
    system = jv.ImpactSystem(linear, (), loads, frictions)
    return jv.static_equilibrium(system, jnp.append(start, jnp.zeros(3)))


@pytest.mark.slow  # 300 references by optimisation, 4 s
def test_hundreds_with_friction_rest_where_energy_and_friction_work_are_least():
    cases = [random_slides(seed) for seed in range(300)]
    found = slid(*map(jnp.asarray, map(np.stack, zip(*cases, strict=True))))
    assert not np.asarray(found.result).any()
    for lane, (stiffness, directions, limits, start, force) in enumerate(cases):
        # The dual problem: forces within their limits that store the least energy.
        flexible = directions @ np.linalg.inv(stiffness)
        apart = flexible @ force - directions @ start
        root = np.linalg.cholesky(flexible @ directions.T).T
        forces = scipy.optimize.lsq_linear(
            root, np.linalg.solve(root.T, apart), (-limits, limits), tol=1e-14
        ).x
        place = np.linalg.solve(stiffness, force - forces @ directions)
        np.testing.assert_allclose(found.friction_force[lane], forces, atol=1e-8)
        np.testing.assert_allclose(found.state[lane, :3], place, atol=1e-8)


def test_a_start_that_nothing_could_hold_is_refused():
    with pytest.raises(ValueError, match="start of a system without dry friction"):
        jv.static_equilibrium(body(jv.HertzContact(3e6)), [0.0, 0.0])
    with pytest.raises(ValueError, match=r"start has shape \(2,\); allowed: \(4,\)"):
        jv.static_equilibrium(on_slope(400.0), [0.0, 0.0])
