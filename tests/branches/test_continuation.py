"""Checked against: orbits found one by one, and direct integration."""

import inspect

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.analyses.kinds import ANALYSES
from tests.independent import TwoBody, periodic_orbit
from tests.systems_table import SOFT

system = jv.two_body_impact(contact=jv.HertzContact(stiffness=SOFT))
published = np.array([0.0800211577, 0.2072153515, 0.7223403033, 0.3775679893])


@pytest.fixture(scope="module")
def orbit():
    return jv.periodic_orbit(system, published)


@pytest.fixture(scope="module")
def branch(orbit):
    return jv.continue_orbit(system, orbit, "load.amplitude", (300.0, 1000.0))


def test_its_points_are_the_independent_orbits(branch):
    for point in np.linspace(2, len(branch.parameter) - 1, 5).astype(int):
        value = float(branch.parameter[point])
        other = TwoBody(contact_stiffness=SOFT, load_amplitude=value)
        expected = periodic_orbit(other, branch.states[point])
        np.testing.assert_allclose(branch.states[point], expected.state, rtol=0, atol=1e-8)
        largest = np.abs(expected.multipliers).max()
        assert branch.largest_multiplier[point] == pytest.approx(largest, abs=1e-6)
        assert branch.contacts[point] == expected.contacts
        assert branch.max_contact_force[point] == pytest.approx(
            expected.peak_force, rel=1e-6
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "load.amplitud"}, "did you mean 'load.amplitude'"),
        ({"bounds": (600.0, 700.0)}, "do not enclose load.amplitude = 500 N"),
        ({"path": "gap", "bounds": (-1.0, 1.0)}, "bounds of gap = -1 m is not in"),
        ({"method": "natural"}, "method = 'natural'; allowed: arclength"),
    ],
)
def test_bad_arguments_are_named(orbit, arguments, message):
    usual = {"path": "load.amplitude", "bounds": (400.0, 600.0)}
    with pytest.raises(ValueError, match=message):
        jv.continue_orbit(system, orbit, **(usual | arguments))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"first_step": 0.0}, "first_step = 0 is not in"),
        ({"most_points": 1}, "most_points = 1 is not in"),
        ({"segments": 0}, "segments = 0 is not in"),
        ({"evidence": "much"}, "evidence = 'much'; allowed: quick"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        jv.branches.ContinuationSettings(**settings)


def test_by_default_a_branch_goes_round_its_folds():
    parameters = inspect.signature(jv.continue_orbit).parameters
    assert parameters["method"].default == "arclength"
    assert "engine" not in parameters  # it was checked and never used
    assert ANALYSES["continuation"].options.model_fields["method"].default == "arclength"
