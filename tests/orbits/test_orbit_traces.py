"""Checked against: the peak force and the period that the orbit itself reports."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.orbits import orbit_trajectories, regimes


@pytest.mark.slow
def test_a_rigid_contact_is_seen_in_a_trace_of_128_points():
    samples = {
        "load.amplitude": np.array([640.0, 300.0, 500.0]),
        "load.frequency": np.array([6.8, 7.4, 5.8]),
    }
    system = jv.two_body_impact()
    orbits = regimes(system, samples)
    traces = orbit_trajectories(system, samples, orbits, points=128)
    # A contact lasts a thousandth of the period: evenly spread times would miss it.
    peaks = traces.contact_force.max(axis=(1, 2))
    np.testing.assert_allclose(peaks, orbits.max_contact_force, rtol=1e-2)
    assert (np.diff(traces.times) > 0).all()
    np.testing.assert_allclose(traces.times[:, -1], orbits.period, rtol=1e-12)
    np.testing.assert_allclose(traces.states[:, 0], traces.states[:, -1], atol=1e-5)
