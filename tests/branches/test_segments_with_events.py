"""Checked against: Den Hartog's closed form; the orbits of single shooting."""

import numpy as np
import pytest

import jaxvib as jv

STIFFNESS, AMPLITUDE, FRICTION = 100.0, 10.0, 3.0
RUBS = jv.CoulombFriction([1.0], FRICTION)
STOP = jv.Contact([1.0], 0.12, jv.RestitutionContact(0.6))


def driven(**parts):
    linear = jv.LinearSystem([[1.0]], [[0.0]], [[STIFFNESS]])
    load = jv.AppliedLoad([1.0], jv.HarmonicLoad(AMPLITUDE, 8.0), name="push")
    return jv.ImpactSystem(linear, loads=[load], **parts)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [{"contacts": [STOP], "frictions": [RUBS]}, {"frictions": [RUBS]}],
    ids=["stop", "no stop"],
)
def test_segments_are_continued_through_friction_and_stops(parts):
    system, path = driven(**parts), "loads.push.law.frequency"
    settings = jv.branches.ContinuationSettings(segments=3, most_points=6)
    branch = jv.continue_orbit(
        system, jv.periodic_orbit(system), path, (7.5, 8.5), settings=settings
    )
    assert len(branch.parameter) == 6
    for place in (0, -1):
        there = jv.replace(system, {path: branch.parameter[place]})
        alone = jv.periodic_orbit(there, branch.states[place])
        np.testing.assert_allclose(branch.states[place], alone.state, atol=1e-9)
        np.testing.assert_allclose(
            branch.floquet_multipliers[place], alone.floquet_multipliers, atol=1e-7
        )
    if "contacts" in parts:
        assert (np.asarray(branch.orbits.contacts) > 0).all()
        return
    # J. P. Den Hartog, Trans. ASME 53 (1931) 107, without a phase of sticking.
    ratio = np.asarray(branch.parameter) / np.sqrt(STIFFNESS)
    angle = np.pi / ratio
    damping = np.sin(angle) / (ratio * (1 + np.cos(angle)))
    part = np.sqrt((1 - ratio**2) ** -2 - (FRICTION / AMPLITUDE * damping) ** 2)
    top = AMPLITUDE / STIFFNESS * part
    np.testing.assert_allclose(branch.orbits.amplitude[:, 0], top, rtol=1e-8)
