"""Checked against: the textbook's static deflections, reciprocity, and eigenvalues."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv

BEAM = jv.Beam(2.0, 3.0, 5.0, ("clamped", "free"))
SYSTEM = jv.oscillators_on_beam(BEAM, [0.5, 1.5], [0.3, 0.8], [20.0, 7.0], [0.4, 0.1])


def test_a_slow_force_at_the_tip_bends_a_cantilever_by_the_textbook():
    beam, _ = jv.modes.beam_response(
        jv.BeamWithBodies(BEAM), [1e-7], force_at=2.0, at=[1.0, 2.0]
    )
    # F x^2 (3 l - x) / (6 E J)
    expected = [1.0 * (6 - 1) / 30, 4.0 * (6 - 2) / 30]
    np.testing.assert_allclose(beam[0], expected, rtol=1e-12)


@pytest.mark.slow
def test_force_and_motion_may_change_places():
    frequencies = jnp.array([0.3, 2.0, 9.0, 40.0])
    one, bodies = jv.modes.beam_response(SYSTEM, frequencies, force_at=0.7, at=[1.9])
    other, _ = jv.modes.beam_response(SYSTEM, frequencies, force_at=1.9, at=[0.7])
    np.testing.assert_allclose(one, other, rtol=1e-11)
    back, _ = jv.modes.beam_response(SYSTEM, frequencies, force_on=1, at=[0.7])
    np.testing.assert_allclose(bodies[:, 1], back[:, 0], rtol=1e-11)


def test_a_rigid_body_and_lumped_masses_are_the_limits_of_each_other():
    lumped = jv.lumped_masses_on_beam(BEAM, [1.2], [0.9])
    carried = jv.oscillators_on_beam(BEAM, [1.2], [0.9], [1e9])
    body = jv.rigid_body_on_beam(BEAM, [1.2 - 1e-3, 1.2 + 1e-3], 1.2, 0.9, 1e-9, [5e8, 5e8])
    expected = jv.beam_eigenvalues(lumped, count=3).values
    for system in (carried, body):
        values = jv.beam_eigenvalues(system, count=3).values
        np.testing.assert_allclose(values, expected, rtol=1e-5)


def test_exactly_one_force_is_required():
    with pytest.raises(ValueError, match="give one of force_at"):
        jv.modes.beam_response(SYSTEM, [1.0], at=[0.5])
