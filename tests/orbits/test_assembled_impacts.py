"""Checked against: scipy's DOP853 on equations written by hand, matrix exponentials."""

import itertools

import jax
import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp

import jaxvib as jv

TIGHT = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-13}


def hertz(stiffness, z):
    return stiffness * max(z, 0.0) ** 1.5


def tower_with_stop():
    names = ["ground", "low", "middle", "roof"]
    tower = jv.assemble(
        [
            jv.TranslationTranslation(a, b, mass=2.0, stiffness=300.0, damping=0.8)
            for a, b in itertools.pairwise(names)
        ]
    )
    stop = jv.Contact(tower.direction("roof"), 0.02, jv.HertzContact(4e4))
    push = jv.AppliedLoad(tower.direction("low"), jv.HarmonicLoad(12.0, 5.0))
    return jv.ImpactSystem(tower, (stop,), (push,))


def tower_by_hand(time, state):
    x, v = state[:3], state[3:]
    stretch, speed = np.diff(x, prepend=0.0), np.diff(v, prepend=0.0)
    link = 300.0 * stretch + 0.8 * speed
    force = np.append(link[1:], 0.0) - link
    force[0] += 12.0 * np.cos(5.0 * time)
    force[2] -= hertz(4e4, x[2] - 0.02)
    return np.concatenate([v, force / 2.0])


def gears():
    # three wheels on elastic shafts; teeth touch on either flank across a backlash
    wheels = [("one", 0.02, 0.10), ("two", 0.05, 0.15), ("three", 0.01, 0.06)]
    modules = []
    for name, inertia, _ in wheels:
        modules.append(jv.PointInertia(name, inertia))
        modules.append(jv.AngularSpring("ground", name, stiffness=9.0, damping=0.01))
    train = jv.assemble(modules)
    law, contacts = jv.HertzContact(3e5), []
    for (a, _, r_a), (b, _, r_b) in itertools.pairwise(wheels):
        for flank in (1.0, -1.0):
            # the point of contact moves by r phi on both wheels, in opposite senses
            direction = train.direction({a: flank * r_a, b: flank * r_b})
            contacts.append(jv.Contact(direction, 1e-3, law))
    push = jv.AppliedLoad(train.direction("one"), jv.HarmonicLoad(2.0, 14.0))
    return jv.ImpactSystem(train, tuple(contacts), (push,))


def gears_by_hand(time, state):
    phi, rate = state[:3], state[3:]
    radii, inertias = np.array([0.10, 0.15, 0.06]), np.array([0.02, 0.05, 0.01])
    moment = -9.0 * phi - 0.01 * rate
    moment[0] += 2.0 * np.cos(14.0 * time)
    for i in (0, 1):
        shift = radii[i] * phi[i] + radii[i + 1] * phi[i + 1]
        force = hertz(3e5, shift - 1e-3) - hertz(3e5, -shift - 1e-3)
        moment[i] -= radii[i] * force
        moment[i + 1] -= radii[i + 1] * force
    return np.concatenate([rate, moment / inertias])


@pytest.mark.parametrize(
    ("system", "by_hand", "touches"),
    [(tower_with_stop, tower_by_hand, [0]), (gears, gears_by_hand, [0, 1, 2, 3])],
)
@pytest.mark.slow
def test_contacts_attached_by_name_move_as_an_independent_integration(
    system, by_hand, touches
):
    system = system()
    times = np.linspace(0.0, 2.5, 26)
    start = np.zeros(6)
    solved = solve_ivp(by_hand, (0, 2.5), start, t_eval=times, **TIGHT)
    motion = jv.simulate(system, start, times, rtol=1e-10)
    scale = np.abs(solved.y).max(1)
    states = np.asarray(motion.states)
    np.testing.assert_allclose(states / scale, solved.y.T / scale, atol=2e-6)
    fine = solve_ivp(by_hand, (0, 2.5), start, max_step=1e-3, **TIGHT)
    for contact in touches:
        place = system.contacts[contact]
        depth = np.asarray(place.direction) @ fine.y[:3] - float(place.gap)
        assert depth.max() > 0


def driven_chain(stop):
    chain = jv.BeamChain(bodies=4, gamma=1.0, ends="clamped")
    push = jv.AppliedLoad(chain.direction("0.y"), jv.HarmonicLoad(0.2, 0.9))
    contacts = ()
    if stop:
        law = jv.HertzContact(30.0)
        contacts = (jv.Contact(chain.direction("2.y"), 0.05, law),)
    return jv.ImpactSystem(chain, contacts, (push,))


def state_matrix(system):
    mass, damping, stiffness = (np.asarray(m) for m in system.matrices())
    size = len(mass)
    below = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
    return np.vstack([np.hstack([np.zeros((size, size)), np.eye(size)]), below])


@pytest.mark.slow
def test_the_monodromy_of_a_driven_chain_is_its_matrix_exponential():
    system = driven_chain(stop=False)
    period = float(system.period())
    monodromy = jax.jit(jax.jacfwd(lambda s: jv.flow(system, s, 0.0, period)))(np.zeros(16))
    expected = scipy.linalg.expm(state_matrix(system) * period)
    np.testing.assert_allclose(monodromy, expected, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_the_monodromy_of_a_chain_with_a_stop_is_that_of_its_variation():
    system = driven_chain(stop=True)
    period = float(system.period())
    matrix = state_matrix(system)
    size, place = 16, system.linear.names.index("2.y")
    push = np.zeros(size)
    push[8] = 0.2  # all bodies have mass 1

    def field(time, whole):
        state, columns = whole[:size], whole[size:].reshape(size, size)
        z = max(state[place] - 0.05, 0.0)
        rate = matrix @ state + push * np.cos(0.9 * time)
        rate[8 + place] -= 30.0 * z**1.5
        slope = matrix.copy()
        slope[8 + place, place] -= 45.0 * np.sqrt(z)
        return np.concatenate([rate, (slope @ columns).reshape(-1)])

    start = 0.3 * np.cos(np.arange(size))
    whole = np.concatenate([start, np.eye(size).reshape(-1)])
    solved = solve_ivp(field, (0, period), whole, max_step=0.02, **TIGHT).y[:, -1]
    moved = jv.flow(system, start, 0.0, period)
    np.testing.assert_allclose(moved, solved[:size], rtol=0, atol=1e-8)
    monodromy = jax.jit(jax.jacfwd(lambda s: jv.flow(system, s, 0.0, period)))(start)
    np.testing.assert_allclose(
        monodromy, solved[size:].reshape(size, size), rtol=0, atol=1e-6
    )


@pytest.mark.slow
def test_a_driven_tower_with_a_stop_has_a_periodic_orbit():
    system = tower_with_stop()
    orbit = jv.periodic_orbit(system)
    assert int(orbit.result) == 0
    assert int(orbit.contacts) >= 1
    period = float(orbit.period)
    solved = solve_ivp(tower_by_hand, (0, period), orbit.state, max_step=1e-3, **TIGHT)
    np.testing.assert_allclose(solved.y[:, -1], orbit.state, rtol=0, atol=1e-7)
