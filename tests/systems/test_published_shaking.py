"""Checked against: VPCS SDLD04 and SDND102 as code_aster prints them; Duhamel's integral.

Its manual V2.01.004 and V5.01.102 pose them; its tests sdld04a and sdnd102a have figures.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.systems.loads import PolynomialLoad

pytestmark = pytest.mark.slow

ALL = np.ones(3)
CHAIN = jv.LinearSystem(
    np.eye(3), np.zeros((3, 3)), 1e3 * np.array([[2.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
)
# The support's acceleration is 2e5 t^2: displacements of the last mass relative to it.
GROWTH = 2e5
PRINTED = {0.04: -0.0426, 0.05: -0.1041, 0.06: -0.2158, 0.08: -0.6813, 0.1: -1.658}
COMPUTED = {
    0.02: -2.666665554879e-3, 0.04: -0.04266557859280, 0.05: -0.10415687012651,
    0.06: -0.21594178847878, 0.08: -0.68173499170504, 0.1: -1.659060801518,
}  # fmt: skip


def duhamel(time):
    """Return the last mass's displacement, mode by mode."""
    squares, modes = np.linalg.eigh(np.asarray(CHAIN.stiffness))
    rates = np.sqrt(squares)
    parts = GROWTH * (time**2 - 2 * (1 - np.cos(rates * time)) / squares) / squares
    return -(modes[2] * (modes.T @ ALL)) @ parts


def test_three_masses_on_a_support_that_speeds_up_are_those_of_sdld04():
    found = jv.natural_frequencies(CHAIN) / (2 * np.pi)
    np.testing.assert_allclose(found, [2.239, 6.275, 9.069], rtol=0, atol=1e-3)
    expected = [2.23986065656, 6.27595009655, 9.06901065044]
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    law = PolynomialLoad(0.0, jnp.array([0.0, 0.0, GROWTH]), GROWTH * 1e-2, 60.0)
    system = jv.ImpactSystem(CHAIN, (), (jv.BaseMotion(ALL, law, "acceleration"),))
    ends = jv.simulate(system, np.zeros(6), [0.0, *COMPUTED]).states[1:, 2]
    np.testing.assert_allclose(ends, [duhamel(time) for time in COMPUTED], rtol=1e-8)
    # Theirs are of steps of 1e-4 s.
    np.testing.assert_allclose(ends, list(COMPUTED.values()), rtol=1e-5)
    np.testing.assert_allclose(ends[1:], list(PRINTED.values()), rtol=2e-3)


STIFFNESS, MASS, W, GAP = 98696.0, 25.0, 20 * np.pi, 5e-4
DAMPING = 2 * 0.07 * np.sqrt(STIFFNESS * MASS)
# Absolute displacements of the mass, m; theirs, to be the same with wall and with partner,
# may differ by 3e-5: what steps of 2.5e-4 s leave is 2e-6.
SHOCKED = {
    0.05: -3.58082e-4, 0.156: -1.22321e-4, 0.25: -1.8876e-4, 0.4: -1.89772e-4,
    0.5: -6.84454e-5, 0.8: -1.11982e-4, 0.9: -1.20103e-4, 1.0: -1.07178e-4,
}  # fmt: skip


def shaken(signs, directions, stiffness, gap):
    """Return masses on supports that accelerate with +-sin(w t), absolute displacements."""
    each = np.eye(len(signs))
    linear = jv.LinearSystem(MASS * each, DAMPING * each, STIFFNESS * each)
    pull = jv.HarmonicLoad(STIFFNESS / W**2, W, np.pi / 2)  # k y with y = -sin(w t) / w^2
    drag = jv.HarmonicLoad(DAMPING / W, W, np.pi)
    loads = [jv.AppliedLoad(np.array(signs), law) for law in (pull, drag)]
    contact = jv.Contact(np.array(directions), gap, jv.LinearContact(stiffness))
    return jv.ImpactSystem(linear, (contact,), loads)


def test_a_mass_on_a_wall_and_two_that_meet_move_alike_as_in_sdnd102():
    wall = shaken([1.0], [1.0], 5.76e7, GAP)
    pair = shaken([1.0, -1.0], [1.0, -1.0], 2.88e7, 2 * GAP)
    times = [0.0, *SHOCKED]
    one = jv.simulate(wall, [0.0, -1 / W], times).states[1:]
    two = jv.simulate(pair, [0.0, 0.0, -1 / W, 1 / W], times).states[1:]
    np.testing.assert_allclose(two[:, 0], one[:, 0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(two[:, 1], -one[:, 0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(one[:, 0], list(SHOCKED.values()), rtol=0, atol=3e-6)
