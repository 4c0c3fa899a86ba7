"""Checked against: tests.extended (series of order 32 in extended precision)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.dynamics.flow import observe_with_monodromy
from tests import extended

# Damping, gap, stiffness, amplitude, frequency, phase, then displacement (at rest pressed
# into the stop where it is None) and velocity.
CASES = {
    # A light load hardly moves what is in contact, but its neighbours swing.
    "preload": (0.0596, -0.277, 1.48e5, 3.36e-3, 2.0, 4.9, None, 0.0),
    # Gaps turn in flights before they close.
    "long flights": (0.077, 0.6467, 2.997e5, 1.01, 0.073, 0.0228, -0.529, -0.21),
    "from next to rest": (0.0106, -1e-9, 30.48, 0.2283, 1.09, 0.638, 0.0, 0.0),
}


def start(case):
    """Return displacement and velocity at t = 0."""
    _, gap, stiffness, *_, place, speed = CASES[case]
    depth = (max(-gap, 0.0) / stiffness) ** (2 / 3)
    return [gap + depth if place is None else place, speed]


@jax.jit
def observed(values):
    def one(values):
        damping, gap, stiffness, amplitude, frequency, phase, *state = values
        linear = jv.LinearSystem(jnp.eye(1), damping * jnp.eye(1), jnp.eye(1))
        contact = jv.Contact(jnp.ones(1), gap, jv.HertzContact(stiffness))
        load = jv.HarmonicLoad(amplitude, frequency, phase)
        system = jv.ImpactSystem(linear, (contact,), (jv.AppliedLoad(jnp.ones(1), load),))
        return observe_with_monodromy(
            system, jnp.stack(state), 0.0, system.period(), rtol=1e-10, grazing=1e-12,
            engine="event",
        )  # fmt: skip

    return jax.vmap(one)(values)


@pytest.fixture(scope="module")
def found():
    return observed(jnp.array([[*CASES[case][:6], *start(case)] for case in CASES]))


@pytest.mark.parametrize("case", CASES)
def test_columns_and_times_of_contact_are_the_independent_ones(found, case):
    lane = list(CASES).index(case)
    damping, gap, stiffness, amplitude, frequency, phase, *_ = CASES[case]
    touch = extended.Touch([1.0], gap, "hertz", stiffness)
    system = extended.System(1.0, damping, 1.0, [touch], [1.0], amplitude, frequency, phase)
    true = extended.motion(system, start(case), system.period)
    ours = jax.tree.map(lambda leaf: np.asarray(leaf[lane]), found)
    assert int(ours.result) == 0
    scale = np.abs(true.monodromy).max()
    assert np.abs(ours.monodromy - true.monodromy).max() < 1e-6 * scale
    np.testing.assert_allclose(ours.observables.duration, true.duration, rtol=1e-7)
    np.testing.assert_array_equal(ours.observables.onsets, true.onsets)
