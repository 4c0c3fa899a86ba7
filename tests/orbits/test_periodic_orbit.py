"""Checked against: the linear response in closed form, and runs of one sample alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import jaxvib as jv
from jaxvib.ensemble import Reason
from tests.places import check_same
from tests.systems_table import SOFT

soft = jv.two_body_impact(contact=jv.HertzContact(SOFT))
published = np.array([0.0800211577, 0.2072153515, 0.7223403033, 0.3775679893])
apart = jv.two_body_impact(gap=50.0)
# A contact's top lies between two steps: closer ones, so that their rounding is not seen.
CLOSE = 1e-9


def linear_response(system):
    """Return state at t = 0, amplitudes and multipliers of a system that never touches."""
    mass, damping, stiffness = (np.asarray(m) for m in system.matrices())
    frequency, force = float(system.load.frequency), float(system.load.amplitude)
    dynamic = stiffness - frequency**2 * mass + 1j * frequency * damping
    response = np.linalg.solve(dynamic, [force, 0.0])
    offset = [0.0, float(system.gap), 0.0, 0.0]
    state = np.concatenate([response, 1j * frequency * response]).real + np.array(offset)
    inverse = np.linalg.inv(mass)
    matrix = np.block(
        [[np.zeros((2, 2)), np.eye(2)], [-inverse @ stiffness, -inverse @ damping]]
    )
    period = 2 * np.pi / frequency
    multipliers = np.linalg.eigvals(scipy.linalg.expm(matrix * period))
    return state, np.abs(response), multipliers


def test_apart_the_orbit_is_the_linear_response():
    orbit = jv.periodic_orbit(apart)
    state, amplitude, multipliers = linear_response(apart)
    np.testing.assert_allclose(orbit.state, state, rtol=0, atol=1e-9)
    np.testing.assert_allclose(orbit.amplitude, amplitude, rtol=1e-8)
    distance = np.abs(np.asarray(orbit.floquet_multipliers)[:, None] - multipliers)
    assert distance.min(axis=0).max() < 1e-9
    assert int(orbit.contacts) == 0
    assert float(orbit.max_contact_force) == 0.0
    assert float(orbit.contact_duration) == 0.0
    assert int(orbit.stable) == 1


@pytest.mark.parametrize("far", [1e2, 1e4, 1e6, 1e8])
def test_a_guess_far_away_leads_to_an_orbit_or_to_a_reason(far):
    # Newton's method judged itself in the guess's size: 14 of these 16 were no orbits.
    @jax.jit
    def find(guess):
        orbit = jv.periodic_orbit(soft, guess)
        return orbit, jv.flow(soft, orbit.state, 0.0, soft.period())

    for seed in range(4):
        orbit, end = find(far * np.random.default_rng(seed).normal(size=4))
        if int(orbit.result) == Reason.SUCCESS:
            size = np.abs(orbit.state).max()
            assert np.abs(end - orbit.state).max() < 1e-7 * size
            assert float(orbit.state_error) < 1e-6 * size


@pytest.mark.slow  # compiles the search for a period, 5 s
def test_the_transient_leads_to_the_published_orbit():
    orbit = jv.periodic_orbit(soft, periods=None)
    assert int(orbit.periods) == 1
    np.testing.assert_allclose(orbit.state, published, rtol=0, atol=1e-9)
    text = repr(orbit)
    assert "stable" in text
    assert "error" in text
    assert len(text.splitlines()) <= 8
    assert all(word in orbit._repr_html_() for word in text.split())


@pytest.mark.slow  # compiles two orbits and a motion, 6 s
def test_unknown_fields_of_an_orbit_are_not_printed():
    def rates(t, x, p):
        stop = 400 * jnp.maximum(x[0] - 0.5, 0.0)
        return [x[1], jnp.cos(t) - x[0] - 0.3 * x[1] - stop]

    field = jv.forced_system(rates, parameters={}, period=2 * np.pi, dimension=2)
    orbit = jv.periodic_orbit(field)
    motion = jv.simulate(field, orbit.state, np.linspace(0.0, 2 * np.pi, 100))
    assert motion.states[:, 0].max() > 0.55  # the stop is touched
    for word in ("contacts", "force", "nan"):
        assert word not in repr(orbit)
    rubbing = jv.ImpactSystem(
        jv.LinearSystem([[2.0]], [[1.5]], [[50.0]]),
        loads=[jv.AppliedLoad([1.0], jv.HarmonicLoad(9.0, 4.0))],
        frictions=[jv.CoulombFriction([1.0], 0.1, 0.2)],
    )
    text = repr(jv.periodic_orbit(rubbing))
    assert "contacts      0 per period" in text
    assert "nan" not in text


def test_an_orbit_asked_for_with_twice_its_period_says_so():
    orbit = jv.periodic_orbit(soft, published, 2)
    assert jv.reason(orbit.result) == jv.reason(Reason.SHORTER_PERIOD)
    np.testing.assert_allclose(orbit.state, published, rtol=0, atol=1e-8)


@pytest.mark.parametrize("evidence", ["quick", "strict"])
def test_every_level_of_evidence_finds_the_same_orbit(evidence):
    orbit = jv.periodic_orbit(soft, published, evidence=evidence)
    np.testing.assert_allclose(orbit.state, published, rtol=0, atol=1e-8)
    assert np.isnan(orbit.state_error) == (evidence == "quick")


@jax.jit
def batch(amplitudes, guesses):
    def one(amplitude, guess):
        system = jv.replace(soft, {"load.amplitude": amplitude})
        return jv.periodic_orbit(system, guess, rtol=CLOSE)

    return jax.vmap(one)(amplitudes, guesses)


def test_an_ensemble_equals_a_loop_and_keeps_bad_lanes_apart():
    amplitudes = jnp.array([450.0, jnp.nan, 500.0, 600.0])
    guesses = jnp.stack([jnp.asarray(published)] * 4)
    orbits = batch(amplitudes, guesses)
    assert orbits.result.tolist() == [0, Reason.BAD_PARAMETER, 0, 0]
    assert np.all(np.isnan(orbits.floquet_multipliers[1]))
    assert int(orbits.stable[1]) == -1
    for lane in (0, 2, 3):
        system = jv.replace(soft, {"load.amplitude": amplitudes[lane]})
        alone = jv.periodic_orbit(system, published, rtol=CLOSE)
        np.testing.assert_allclose(orbits.state[lane], alone.state, atol=1e-10)
        np.testing.assert_allclose(
            orbits.max_contact_force[lane], alone.max_contact_force, rtol=1e-8
        )
    check_same(batch(amplitudes[::-1], guesses).state[::-1], orbits.state)


@jax.jit
def slopes(values):
    def amplitude(values):
        orbit = jv.periodic_orbit(jv.replace(apart, values), state_apart)
        return orbit.amplitude[0]

    return jax.grad(amplitude)(values)


state_apart = jnp.asarray(linear_response(apart)[0])


@pytest.mark.slow
def test_a_gradient_is_that_of_the_linear_response():
    values = {"attached.frequency": 5.646, "main.mass": 1000.0, "load.frequency": 5.8}
    found = slopes(values)
    for path, value in values.items():
        small = 1e-5 * value
        ahead, behind = (
            linear_response(jv.replace(apart, {path: value + h}))[1][0]
            for h in (small, -small)
        )
        assert float(found[path]) == pytest.approx((ahead - behind) / (2 * small), rel=1e-6)


@pytest.mark.slow
def test_a_derivative_that_is_not_computed_is_nan_and_not_0():
    def duration(gap):
        return jv.periodic_orbit(jv.replace(soft, {"gap": gap}), published).contact_duration

    assert np.isnan(jax.jit(jax.grad(duration))(0.05))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"periods": 0}, r"periods = 0 is not in \[1, 10000\]"),
        ({"periods": 10**6}, r"periods = 1e\+06 is not in \[1, 10000\]"),
        ({"guess": np.zeros(3)}, r"state has shape \(3,\)"),
        ({"engine": "event_driven"}, "engine = 'event_driven'; allowed: auto, diffrax"),
        ({"evidence": "none"}, "evidence = 'none'; allowed: quick, checked, strict"),
        ({"rtol": -1e-8}, "rtol = -1e-08 is not in"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        jv.periodic_orbit(soft, **arguments)
