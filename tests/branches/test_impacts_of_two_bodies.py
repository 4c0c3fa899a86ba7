"""Checked against: single orbits, the count of their impacts, and independent flights."""

import numpy as np
import pytest

import jaxvib as jv
from experiments.bifurcations import random_impacts
from experiments.bifurcations.hertz_flights import flights_of
from experiments.bifurcations.judged import depths
from jaxvib.ensemble import Reason

FREQUENCY = "loads.p.law.frequency"


def bodies(seed):
    """Return two random bodies with a stop each, driven by a load."""
    rng = np.random.default_rng(seed)
    masses = np.diag(rng.uniform(0.5, 2, 2))
    a, b, c = rng.uniform(0.5, 3, 3)
    stiffness = np.array([[a + b, -b], [-b, b + 0.3 * c]])
    a, b, c = rng.uniform(0.01, 0.15, 3)
    damping = np.array([[a + b, -b], [-b, b + c]])
    ratios = 0.3 + 0.6 * rng.uniform(5, 200, 2) / 300
    gaps = rng.uniform(0.05, 0.8, 2)
    directions = [1.0, 0.0], [-1.0, 1.0]
    stops = [
        jv.Contact(direction, gap, jv.RestitutionContact(ratio), name)
        for direction, gap, ratio, name in zip(directions, gaps, ratios, "ab", strict=True)
    ]
    load = jv.HarmonicLoad(rng.uniform(0.5, 2), rng.uniform(0.5, 2.5))
    return jv.ImpactSystem(
        jv.LinearSystem(masses, damping, stiffness),
        contacts=stops,
        loads=(jv.AppliedLoad([1.0, 0.5], load, "p"),),
    )


def orbit_at(system, frequency, guess):
    """Return the orbit at a frequency."""
    return jv.periodic_orbit(jv.replace(system, {FREQUENCY: frequency}), guess)


@pytest.mark.slow  # two systems of a new kind are compiled: 12 s
def test_an_instability_before_a_grazing_is_listed_between_its_ends():
    system = jv.replace(bodies(8), {FREQUENCY: 1.2})
    branch = jv.continue_orbit(system, jv.periodic_orbit(system), FREQUENCY, (1.15, 1.22))
    assert [Reason(code) for code in branch.ends] == [Reason.PARAMETER_BOUND] * 2
    points = {
        point.kind: point for point in branch.bifurcations if 1.18 < point.parameter < 1.19
    }
    assert set(points) == {"period_doubling", "grazing"}
    doubling, grazing = (float(points[kind].parameter) for kind in sorted(points)[::-1])
    assert grazing == pytest.approx(1.1850, abs=1e-4)
    # On both sides of each, single orbits: unstable between them, an impact more below.
    contacts = np.asarray(branch.contacts)
    last = np.flatnonzero(contacts == 8)[-1]
    assert float(branch.parameter[last]) > doubling
    seen = [
        orbit_at(system, frequency, guess)
        for frequency, guess in (
            (doubling - 1e-5, points["period_doubling"].state),
            (doubling + 1e-5, points["period_doubling"].state),
            (branch.parameter[last], branch.states[last]),
            (grazing + 1e-6, points["grazing"].state),
        )
    ]
    assert [int(orbit.stable) for orbit in seen] == [1, 0, 0, 1]
    assert [int(orbit.contacts) for orbit in seen] == [8, 8, 8, 7]
    # From above the depth grows in proportion to the distance.
    heights = [
        float(orbit_at(system, grazing + off, seen[3].state).grazing_margin)
        for off in (1e-6, 3e-6)
    ]
    assert heights[1] / heights[0] == pytest.approx(3.0, rel=1e-2)


@pytest.mark.slow  # branches with many grazings: 5 s
def test_impacts_begin_and_end_only_at_grazings_and_points_are_orbits():
    system = jv.replace(bodies(8), {FREQUENCY: 1.2})
    branch = jv.continue_orbit(system, jv.periodic_orbit(system), FREQUENCY, (1.15, 1.35))
    ends = [Reason(code) for code in branch.ends]
    assert ends == [Reason.PARAMETER_BOUND, Reason.IMPACTS_MEET]
    contacts, values = np.asarray(branch.contacts), np.asarray(branch.parameter)
    grazings = np.array([p.parameter for p in branch.bifurcations if p.kind == "grazing"])
    changes = np.flatnonzero(np.diff(contacts))
    assert len(changes) == len(grazings) == 2
    for chord in changes:
        ends = values[chord : chord + 2]
        assert abs(np.diff(contacts[chord : chord + 2])[0]) == 1
        between = (grazings >= ends.min() - 1e-6) & (grazings <= ends.max() + 1e-6)
        assert between.any()
    for value, state, count in zip(
        values[::7], branch.states[::7], contacts[::7], strict=True
    ):
        there = jv.replace(system, {FREQUENCY: value})
        image = jv.flow(there, state, 0.0, 2 * np.pi / value, rtol=1e-12)
        np.testing.assert_allclose(image, state, atol=1e-6)
        assert int(orbit_at(system, value, state).contacts) == count
    # At the upper end the bodies hit both stops at once, within rounding of the steps.
    there = jv.replace(system, {FREQUENCY: values[-1]})
    times = np.linspace(0.0, 2 * np.pi / values[-1], 20001)
    motion = np.asarray(jv.simulate(there, branch.states[-1], times).states)
    speeds = np.column_stack([motion[:, 2], motion[:, 3] - motion[:, 2]])
    hits = [np.flatnonzero(np.diff(speed) < -0.05) for speed in speeds.T]
    assert np.abs(hits[0][:, None] - hits[1][None]).min() <= 1


@pytest.mark.slow  # three bodies, 20 s
def test_a_branch_passes_the_grazing_of_a_stiff_spring_in_a_wide_range():
    given, path, bounds = random_impacts.drawn(17, elastic=True)
    start = 1.24388
    system = random_impacts.system_of(given.with_value(path, start))
    guess = [-1.1262688, -0.8148116, -2.8563655, -1.7467397, 2.1287999, -0.2336836]
    orbit = jv.periodic_orbit(system, guess)
    settings = jv.branches.ContinuationSettings(most_points=40, first_step=1e-5)
    branch = jv.continue_orbit(
        system, orbit, path, bounds, settings=settings, progress=False
    )
    kinds = {one.kind: one for one in branch.bifurcations}
    grazing = kinds["grazing"]
    there = flights_of(given.with_value(path, float(grazing.parameter)))
    motion = there.motion(np.asarray(grazing.state))
    assert min(depths(motion)) < 1e-9
    np.testing.assert_allclose(motion.state, grazing.state, atol=1e-6)
    assert {4, 5} <= set(np.asarray(branch.contacts))
    assert list(np.asarray(branch.ends)) == [Reason.POINT_LIMIT] * 2
