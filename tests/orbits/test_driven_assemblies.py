"""Checked against: `tests/independent.py`, with matrices written down by hand."""

import itertools

import numpy as np
import pytest

import jaxvib as jv
from tests.independent import Linear, Load, Touch
from tests.independent import periodic_orbit as search

BODIES, DAMPING, TURN_DAMPING = 3, 0.15, 0.02


def chain_with_a_stop():
    chain = jv.BeamChain(bodies=BODIES, gamma=1.0, ends="clamped")
    dampers = [jv.Spring("ground", f"{i}.y", damping=DAMPING) for i in range(BODIES)]
    dampers += [
        jv.AngularSpring("ground", f"{i}.angle", damping=TURN_DAMPING)
        for i in range(BODIES)
    ]
    whole = chain.assembled().added(*dampers)
    push = jv.AppliedLoad(whole.direction("0.y"), jv.HarmonicLoad(0.25, 0.8))
    stop = jv.Contact(whole.direction("2.y"), 0.04, jv.HertzContact(30.0))
    return jv.ImpactSystem(whole, (stop,), (push,))


def chain_by_hand(names):
    # the dimensionless equations: m = 1, J = 1/6, walls beside the end bodies
    step = np.eye(BODIES, k=1) + np.eye(BODIES, k=-1)
    skew = np.eye(BODIES, k=1) - np.eye(BODIES, k=-1)
    one = np.eye(BODIES)
    stiffness = np.block([[2 * one - step, skew / 2], [-skew / 2, (step + 4 * one) / 6]])
    mass = np.diag([1.0] * BODIES + [1 / 6] * BODIES)
    damping = np.diag([DAMPING] * BODIES + [TURN_DAMPING] * BODIES)
    own = [f"{i}.{motion}" for motion in ("y", "angle") for i in range(BODIES)]
    place = np.ix_(*[[own.index(name) for name in names]] * 2)
    unit = np.eye(2 * BODIES)
    return Linear(
        mass[place], damping[place], stiffness[place],
        (Touch(unit[names.index("2.y")], 0.04, 30.0),),
        (Load(unit[names.index("0.y")], 0.25, 0.8),),
    )  # fmt: skip


RADII = (0.10, 0.15, 0.06)


def gears():
    inertias = (0.02, 0.05, 0.01)
    modules = []
    for name, inertia in zip("abc", inertias, strict=True):
        modules.append(jv.PointInertia(name, inertia))
        modules.append(jv.AngularSpring("ground", name, stiffness=9.0, damping=0.06))
    train = jv.assemble(modules)
    law = jv.HertzContact(3e5)
    contacts = [
        jv.Contact(train.direction({a: sign * r, b: sign * s}), 1e-3, law)
        for (a, r), (b, s) in itertools.pairwise(zip("abc", RADII, strict=True))
        for sign in (1.0, -1.0)
    ]
    push = jv.AppliedLoad(train.direction("a"), jv.HarmonicLoad(2.0, 13.0))
    return jv.ImpactSystem(train, tuple(contacts), (push,))


def gears_by_hand(names):
    one = np.eye(3)
    touches = [
        Touch(sign * (RADII[i] * one[i] + RADII[i + 1] * one[i + 1]), 1e-3, 3e5)
        for i in (0, 1)
        for sign in (1.0, -1.0)
    ]
    return Linear(np.diag([0.02, 0.05, 0.01]), 0.06 * one, 9.0 * one, touches,
                  (Load(one[0], 2.0, 13.0),))  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "by_hand"),
    [
        (chain_with_a_stop, chain_by_hand),
        (gears, gears_by_hand),
    ],
)
def test_orbits_of_assemblies_are_those_of_an_independent_search(build, by_hand):
    system = build()
    orbit = jv.periodic_orbit(system, periods=None)
    assert int(orbit.result) == 0
    assert int(orbit.contacts) >= 1
    other = by_hand(list(system.linear.names))
    found = search(other, orbit.state, int(orbit.periods))
    scale = np.abs(found.state).max()
    np.testing.assert_allclose(orbit.state, found.state, rtol=0, atol=1e-8 * scale)
    largest = np.abs(found.multipliers).max()
    assert float(orbit.largest_multiplier) == pytest.approx(largest, abs=1e-6)
    np.testing.assert_allclose(orbit.monodromy, found.monodromy, rtol=0,
                               atol=1e-6 * np.abs(found.monodromy).max())  # fmt: skip
    assert int(orbit.contacts) == found.contacts
    assert float(orbit.max_contact_force) == pytest.approx(found.peak_force, rel=1e-6)
