"""Checked against: LAPACK's eigenvalues, condition numbers and determinants."""

import itertools

import jax
import numpy as np
import pytest

import jaxvib as jv
from jaxvib import linalg


def chain(bodies):
    """Return a chain of masses, the last of which hits a stop."""
    names = ["ground", *map(str, range(bodies))]
    links = [
        jv.TranslationTranslation(
            *pair, mass=1.0, stiffness=100.0, damping=2.0, first_mass=0.0
        )
        for pair in itertools.pairwise(names)
    ]
    first, last = np.eye(bodies)[[0, -1]]
    stop = jv.Contact(last, 0.02, jv.HertzContact(1e4))
    push = jv.AppliedLoad(first, jv.HarmonicLoad(5.0, 3.0))
    return jv.ImpactSystem(jv.assemble(links), (stop,), (push,))


of_jit = jax.jit(jv.periodic_orbit)


@pytest.mark.slow  # programs of up to 16 states are compiled for one motion each
@pytest.mark.parametrize("bodies", [4, 8, 9])
def test_orbits_of_all_sizes_have_the_evidence_of_their_matrix(bodies):
    system = chain(bodies)
    orbit = jv.periodic_orbit(system)
    matrix = np.asarray(orbit.monodromy)
    expected = np.linalg.eigvals(matrix)
    expected = expected[linalg.order_of(expected.real, expected.imag)]
    size = abs(expected[0])
    np.testing.assert_allclose(orbit.floquet_multipliers, expected, atol=1e-12 * size)
    condition = np.linalg.cond(matrix - np.eye(2 * bodies))
    np.testing.assert_allclose(orbit.condition, condition, rtol=1e-9)
    assert orbit.contacts > 0
    assert 0 < float(orbit.multiplier_error) < 1e-5
    assert abs(float(orbit.determinant_defect)) < 1e-6
    traced = of_jit(system, orbit.state)
    np.testing.assert_allclose(traced.condition, condition, rtol=1e-6)
    np.testing.assert_allclose(traced.floquet_multipliers, expected, atol=1e-6 * size)
    if bodies == 8:
        return  # programs of regimes, with transients of 16 states, compile for longest
    together = jv.orbits.regimes(system, {"loads.0.law.amplitude": [5.0, 5.0]})
    np.testing.assert_allclose(together.condition, condition, rtol=1e-4)
