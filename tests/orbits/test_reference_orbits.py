"""Checked against: reference.json (50 digits, Taylor series) and tests.independent.

Eighteen orbits with rigid and soft contact, none to six contacts, one to six periods,
stable and unstable.
"""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import jaxvib as jv
from tests.independent import TwoBody, motion, periodic_orbit, settle, trajectory

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


def found(reference, engine="auto"):
    """Return jaxvib's orbit from a guess that is right to a ten-thousandth."""
    system = jv.replace(usual, reference["parameters"])
    guess = np.array(reference["state"]) * (1 + 1e-4 * np.array([1, -1, 1, -1]))
    return jv.periodic_orbit(system, guess, reference["periods"], engine=engine)


@pytest.mark.parametrize("reference", REFERENCES, ids=NAMES)
def test_an_orbit_is_the_reference_within_its_error_bars(reference):
    orbit = found(reference)
    check_against(reference, orbit)
    error = np.abs(orbit.state - np.array(reference["state"])).max()
    assert error < 10 * float(orbit.state_error) + 1e-12
    multipliers = np.array(reference["multipliers"]) @ [1, 1j]
    distance = np.abs(np.asarray(orbit.floquet_multipliers)[:, None] - multipliers)
    assert distance.min(axis=1).max() < float(orbit.multiplier_error)


@pytest.mark.slow
@pytest.mark.parametrize("reference", REFERENCES, ids=NAMES)
def test_an_orbit_from_event_to_event_is_the_reference(reference):
    check_against(reference, found(reference, "event"))


def check_against(reference, orbit):
    """Check an orbit and its evidence against the reference, but for its error bars."""
    state, monodromy = np.array(reference["state"]), np.array(reference["monodromy"])
    multipliers = np.array(reference["multipliers"]) @ [1, 1j]
    assert jv.reason(orbit.result) == "success"
    assert orbit.periods == reference["periods"]
    assert float(orbit.period) == pytest.approx(reference["period"], rel=1e-14)
    error = np.abs(orbit.state - state).max()
    assert error < 1e-8 * np.abs(state).max()
    np.testing.assert_allclose(
        orbit.monodromy, monodromy, rtol=0, atol=1e-6 * np.abs(monodromy).max()
    )
    ours = np.asarray(orbit.floquet_multipliers)
    distance = np.abs(ours[:, None] - multipliers)
    assert distance.min(axis=0).max() < 1e-6
    assert distance.min(axis=1).max() < 1e-6
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


@pytest.mark.parametrize(
    "frequency",
    [7.05, pytest.param(7.2, marks=pytest.mark.slow)],  # 2 s each for the reference
)
def test_a_motion_that_touches_at_the_start_is_decided(frequency):
    values = {"load.frequency": frequency, "contact.stiffness": 3.504e7}
    guess = settle(TwoBody(contact_stiffness=3.504e7, load_frequency=frequency), 60)[-1]
    assert guess[0] > guess[1]  # in contact at t = 0: the monodromy's condition is 1e6
    orbit = jv.periodic_orbit(jv.replace(usual, values), guess)
    true = periodic_orbit(
        TwoBody(contact_stiffness=3.504e7, load_frequency=frequency), orbit.state
    )
    distance = np.abs(np.asarray(orbit.floquet_multipliers)[:, None] - true.multipliers)
    assert distance.min(axis=0).max() < float(orbit.multiplier_error) < 1e-4
    assert int(orbit.stable) == 1
    assert int(orbit.contacts) == true.contacts == 1
    assert float(orbit.max_contact_force) == pytest.approx(true.peak_force, rel=1e-6)
    assert float(orbit.contact_duration) == pytest.approx(true.contact_duration, rel=1e-6)


SWEPT = {
    "load.amplitude": "load_amplitude",
    "attached.frequency": "attached_frequency",
    "gap": "gap",
}


@jax.jit
def slopes_of(values, parameters, guess):
    """Return the derivatives of what an orbit is reported to be, per path."""

    def properties(values):
        system = jv.replace(usual, parameters | values)
        orbit = jv.periodic_orbit(system, guess)
        several = orbit.largest_multiplier, orbit.max_contact_force
        return jnp.concatenate([orbit.state, jnp.stack(several), orbit.amplitude])

    return jax.jacfwd(properties)(values)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["soft", "rigid"])
def test_derivatives_of_an_orbit_are_those_of_the_independent_one(kind):
    label = f"{kind}-5.8-500-1T-1"
    reference = REFERENCES[NAMES.index(label)]
    parameters = reference["parameters"]
    found = jv.parameters(jv.replace(usual, parameters))
    values = {path: float(found[path].value) for path in SWEPT}
    slopes = slopes_of(values, parameters, np.array(reference["state"]))

    def properties(name, value):
        other = TwoBody(contact_stiffness=parameters["contact.stiffness"], **{name: value})
        orbit = periodic_orbit(other, reference["state"])
        several = abs(orbit.multipliers[0]), orbit.peak_force, *amplitudes(other, orbit)
        return np.array([*orbit.state, *several])

    for path, name in SWEPT.items():
        small = 1e-4 * values[path]
        ahead, behind = (properties(name, values[path] + h) for h in (small, -small))
        # The difference's own error is some 1e-8; |mu| and the peak time add theirs.
        expected = (ahead - behind) / (2 * small)
        np.testing.assert_allclose(slopes[path], expected, rtol=1e-5,
                                   atol=1e-6 * np.abs(expected[:4]).max())  # fmt: skip


def amplitudes(system, orbit):
    """Return half of highest minus lowest displacement, each where a body turns."""
    within = [np.linspace(m.begin, m.end, 40) for m in orbit.meetings]
    times = np.unique(np.concatenate([np.linspace(0, orbit.period, 200), *within]))
    states = trajectory(system, orbit.state, times)
    turns = [[], []]
    for start, end, one, other in zip(
        times[:-1], times[1:], states[:-1], states[1:], strict=True
    ):
        for body in (0, 1):
            if one[2 + body] * other[2 + body] < 0:

                def there(t, start=start, one=one):
                    return motion(system, one, start, t).state

                turn = brentq(
                    lambda t, body=body, there=there: there(t)[2 + body], start, end,
                    xtol=1e-14,
                )  # fmt: skip
                turns[body].append(there(turn)[body])
    return [(max(turn) - min(turn)) / 2 for turn in turns]
