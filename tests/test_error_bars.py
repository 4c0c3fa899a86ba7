"""Checked against: tests.extended, in 18 digits; the campaign's short form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from experiments.error_bars import NAMES, of_structure, summary


@pytest.mark.slow  # solves 24 random orbits, 5 s
@pytest.mark.parametrize(
    ("engine", "law"),
    [
        ("diffrax", "linear"),
        ("diffrax", "hertz"),
        ("event", "hertz"),
        ("event", "stop"),
    ],
)
def test_a_dozen_random_orbits_are_within_their_error_bars(engine, law):
    rng = np.random.default_rng((1, 1, 7))
    lines = of_structure(rng, 1, law, 24, engines=[engine])
    found = summary(lines)[engine]
    assert found["orbits"] >= 12
    for name in NAMES:
        assert found[name]["inside"] == found["orbits"]
        assert found[name]["median bar / error"] < 1e4
    assert found["wrong verdicts"] == found["undecided"] == 0
    assert found["other contacts"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["diffrax", "event"])
def test_an_undamped_motion_without_contact_is_undecided(engine):
    # Its multipliers lie on the unit circle; the event engine said "unstable, error 0".
    system = jv.two_body_impact(main_damping_ratio=0, attached_damping_ratio=0, gap=50.0)

    @jax.jit
    def find(frequency):
        there = jv.replace(system, {"load.frequency": frequency})
        return jv.periodic_orbit(there, jnp.array([0.0, 50.0, 0.0, 0.0]), engine=engine)

    for frequency in (2.9, 5.8, 9.3):
        orbit = find(frequency)
        assert int(orbit.result) == 0
        assert int(orbit.stable) == -1
        off = np.abs(np.abs(np.asarray(orbit.floquet_multipliers)) - 1).max()
        assert off < float(orbit.multiplier_error) < 1e-5
