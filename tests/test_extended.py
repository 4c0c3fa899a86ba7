"""Checked against: reference.json (50 digits, closed-form flights and longer series)."""

import json
import pathlib

import numpy as np
import pytest

from tests.extended import Real, System, Touch, motion, periodic_orbit

FILE = pathlib.Path(__file__).with_name("orbits") / "reference.json"
REFERENCES = json.loads(FILE.read_text())["orbits"]


@pytest.mark.parametrize("place", [0, 1, 3, 7, 13])
def test_orbits_have_the_digits_of_the_reference(place):
    reference = REFERENCES[place]
    values = reference["parameters"]
    frequencies, ratio, masses = (Real(6.283), Real(5.646)), Real(0.036), (1000.0, 100.0)
    springs = [m * w**2 for m, w in zip(masses, frequencies, strict=True)]
    dampers = [2 * ratio * m * w for m, w in zip(masses, frequencies, strict=True)]

    def overlaid(main, attached):
        return np.array([[main + attached, -attached], [-attached, attached]])

    touch = Touch([1, -1], values["gap"], "hertz", values["contact.stiffness"])
    system = System(
        np.diag(masses), overlaid(*dampers), overlaid(*springs), [touch], [1, 0],
        values["load.amplitude"], values["load.frequency"], values["load.phase"],
    )  # fmt: skip
    state = np.array(reference["state"], Real)
    state[1] -= Real(values["gap"])
    orbit = periodic_orbit(system, state * (1 + 1e-7), reference["periods"])
    assert float(np.abs(orbit.state - state).max()) < 1e-15
    multipliers = np.array(reference["multipliers"]) @ [1, 1j]
    apart = np.abs(orbit.multipliers[:, None] - multipliers)
    assert apart.min(axis=0).max() < 1e-12
    assert orbit.onsets == reference["contacts"]
    assert orbit.duration == pytest.approx(reference["contact_duration"], abs=1e-14)


def test_a_hard_stop_has_the_closed_form_s_state_and_columns():
    # A body without spring, at 1 m/s, hits a stop at 0.3 m with e = 0.5, at t = 0.3 s.
    touch = Touch([1.0], 0.3, "stop", 0.5)
    system = System(1.0, 0.0, 0.0, [touch], [1.0], 0.0, 1.0)
    found = motion(system, [0.0, 1.0], 1.0)
    np.testing.assert_allclose(found.state.astype(float), [-0.05, -0.5], atol=1e-15)
    # q(1) = g - e v (1 - (g - q) / v), v(1) = -e v.
    expected = [[-0.5, -0.5], [0.0, -0.5]]
    np.testing.assert_allclose(found.monodromy.astype(float), expected, atol=1e-15)
