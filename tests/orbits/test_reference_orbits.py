"""Checked against: reference.json (50 digits, Taylor series) and tests.independent.

Eighteen orbits with rigid and soft contact, none to six contacts, one to six periods,
stable and unstable.
"""

import json
import pathlib

import jax
import numpy as np
import pytest

import jaxvib as jv
from tests.independent import TwoBody, periodic_orbit

FILE = pathlib.Path(__file__).with_name("reference.json")
REFERENCES = json.loads(FILE.read_text())["orbits"]
NAMES = [
    f"{'rigid' if o['parameters']['contact.stiffness'] > 1e9 else 'soft'}-"
    f"{o['parameters']['load.frequency']}-{o['parameters']['load.amplitude']:g}-"
    f"{o['periods']}T-{o['contacts']}"
    for o in REFERENCES
]
usual = jv.two_body_impact()
dissipation = 2 * 0.036 * 6.283 + 2 * 0.036 * 5.646 * 1.1  # tr(M^-1 D), 1/s


def found(reference):
    """Return jaxvib's orbit from a guess that is right to a ten-thousandth."""
    system = jv.replace(usual, reference["parameters"])
    guess = np.array(reference["state"]) * (1 + 1e-4 * np.array([1, -1, 1, -1]))
    return jv.periodic_orbit(system, guess, reference["periods"])


@pytest.mark.parametrize("reference", REFERENCES, ids=NAMES)
def test_an_orbit_is_the_reference(reference):
    orbit = found(reference)
    state, monodromy = np.array(reference["state"]), np.array(reference["monodromy"])
    multipliers = np.array(reference["multipliers"]) @ [1, 1j]
    assert jv.reason(orbit.result) == "success"
    assert orbit.periods == reference["periods"]
    assert float(orbit.period) == pytest.approx(reference["period"], rel=1e-14)
    error = np.abs(orbit.state - state).max()
    assert error < 1e-8 * np.abs(state).max()
    assert error < 10 * float(orbit.state_error) + 1e-12
    np.testing.assert_allclose(
        orbit.monodromy, monodromy, rtol=0, atol=1e-6 * np.abs(monodromy).max()
    )
    ours = np.asarray(orbit.floquet_multipliers)
    distance = np.abs(ours[:, None] - multipliers)
    assert distance.min(axis=0).max() < 1e-6
    assert distance.min(axis=1).max() < 1e-6
    assert distance.min(axis=1).max() < float(orbit.multiplier_error)
    assert np.all(np.diff(np.abs(ours)) <= 1e-12)
    assert float(orbit.largest_multiplier) == pytest.approx(abs(multipliers[0]), abs=1e-6)
    assert int(orbit.stable) == (1 if abs(multipliers[0]) < 1 else 0)
    assert int(orbit.contacts) == reference["contacts"]
    assert float(orbit.max_contact_force) == pytest.approx(
        reference["peak_force"], rel=1e-6
    )
    assert float(orbit.contact_duration) == pytest.approx(
        reference["contact_duration"], rel=1e-6
    )
    determinant = np.linalg.det(orbit.monodromy)
    expected = np.exp(-dissipation * reference["period"])
    # Relative to the product of the columns: a determinant of 1e-8 made of entries of
    # order one has no nine digits of its own in float64.
    size = np.prod(np.linalg.norm(orbit.monodromy, axis=0))
    assert abs(determinant - expected) < 1e-9 * max(expected, size)


@pytest.mark.parametrize("name", ["load_amplitude", "attached_frequency", "gap"])
@pytest.mark.parametrize("kind", ["soft", "rigid"])
def test_derivatives_of_an_orbit_are_those_of_the_independent_one(kind, name):
    reference = next(o for o, label in zip(REFERENCES, NAMES, strict=True)
                     if label.startswith(f"{kind}-5.8-500"))  # fmt: skip
    path = {"load_amplitude": "load.amplitude", "gap": "gap",
            "attached_frequency": "attached.frequency"}[name]  # fmt: skip
    stiffness = reference["parameters"]["contact.stiffness"]
    system = jv.replace(usual, reference["parameters"])
    value = float(jv.parameters(system)[path].value)

    def properties(value):
        orbit = jv.periodic_orbit(
            jv.replace(system, {path: value}), np.array(reference["state"])
        )
        return orbit.state, orbit.largest_multiplier, orbit.max_contact_force

    def independent(shift):
        other = TwoBody(contact_stiffness=stiffness, **{name: value * (1 + shift)})
        orbit = periodic_orbit(other, reference["state"])
        return np.array([*orbit.state, abs(orbit.multipliers[0]), orbit.peak_force])

    slopes = jax.jit(jax.jacfwd(properties))(value)
    ahead, behind = independent(1e-4), independent(-1e-4)
    expected = (ahead - behind) / (2e-4 * value)
    actual = np.array([*slopes[0], slopes[1], slopes[2]])
    # the error of a central difference over 1e-4 is some 1e-8 of third derivatives
    np.testing.assert_allclose(
        actual, expected, rtol=3e-5, atol=3e-5 * np.abs(expected[:4]).max()
    )
