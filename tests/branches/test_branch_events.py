"""Checked against: orbits found by Newton's method alone at the place of each event."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.ensemble import Reason
from tests import zoo

DUFFING = zoo.duffing()
BOUNDS = (0.95, 1.1)
EVENTS = {"largest_multiplier": 0.9, "wide": lambda orbit: orbit.amplitude[0] - 0.3}


@pytest.fixture(scope="module")
def orbit():
    return jv.periodic_orbit(DUFFING, np.zeros(2))


@pytest.fixture(scope="module")
def whole(orbit):
    settings = jv.branches.ContinuationSettings(events=EVENTS)
    return jv.continue_orbit(DUFFING, orbit, "w", BOUNDS, settings=settings)


@pytest.mark.slow
def test_events_are_where_the_orbit_has_their_value(whole):
    names = [event.name for event in whole.events]
    assert names.count("wide") == 2
    assert names.count("largest_multiplier") >= 2
    for event in whole.events:
        there = jv.replace(DUFFING, {"w": event.parameter})
        orbit = jv.periodic_orbit(there, event.orbit.state, periods=1, rtol=1e-10)
        if event.name == "wide":
            assert float(orbit.amplitude[0]) == pytest.approx(0.3, rel=1e-8)
        else:
            assert float(orbit.largest_multiplier) == pytest.approx(0.9, rel=1e-8)
    assert "wide at w = 1.0" in repr(whole)


@pytest.mark.slow
def test_a_branch_stops_at_an_event_and_goes_on_from_it(orbit, whole):
    settings = jv.branches.ContinuationSettings(events=EVENTS, stop_at=["wide"])
    short = jv.continue_orbit(DUFFING, orbit, "w", BOUNDS, settings=settings)
    assert list(np.asarray(short.ends)) == [Reason.PARAMETER_BOUND, Reason.EVENT]
    wide = next(event for event in whole.events if event.name == "wide")
    assert float(short.parameter[-1]) == pytest.approx(float(wide.parameter), rel=1e-9)
    assert float(short.orbits.amplitude[-1, 0]) == pytest.approx(0.3, rel=1e-8)
    assert not short.bifurcations
    longer = jv.branches.extend_branch(DUFFING, short, BOUNDS)
    folds = [float(point.parameter) for point in whole.bifurcations]
    assert [float(p.parameter) for p in longer.bifurcations] == pytest.approx(folds, 1e-10)
    assert list(np.asarray(longer.ends)) == [Reason.PARAMETER_BOUND] * 2
    assert float(longer.parameter[0]) == BOUNDS[0]
    assert float(longer.parameter[-1]) == BOUNDS[1]


@pytest.mark.slow
def test_of_two_stops_on_one_step_the_nearer_ends_the_branch(orbit, whole):
    amplitude = np.asarray(whole.orbits.amplitude[:, 0])
    low, high = amplitude[(k := int(np.argmax(amplitude > 0.3))) - 1], amplitude[k]
    near, far = low + 0.3 * (high - low), low + 0.7 * (high - low)
    settings = jv.branches.ContinuationSettings(
        events={
            "nearer": lambda orbit: float(orbit.amplitude[0]) - near,
            # Large values elsewhere do not hide an event.
            "a farther": lambda orbit: (
                (float(orbit.amplitude[0]) - far)
                * (1e15 if orbit.amplitude[0] < low else 1)
            ),
        },
        stop_at=["nearer", "a farther"],
    )
    short = jv.continue_orbit(DUFFING, orbit, "w", BOUNDS, settings=settings)
    assert int(short.ends[1]) == Reason.EVENT
    assert float(short.orbits.amplitude[-1, 0]) == pytest.approx(near, rel=1e-8)
    names = [event.name for event in short.events]
    assert names.index("nearer") < names.index("a farther")


@pytest.mark.slow
def test_a_branch_goes_on_beyond_its_old_bounds(whole):
    wider = jv.branches.extend_branch(DUFFING, whole, (0.9, 1.2))
    assert float(wider.parameter[0]) == 0.9
    assert float(wider.parameter[-1]) == 1.2
    assert len(wider.bifurcations) == len(whole.bifurcations) == 2
    assert len(wider.parameter) > len(whole.parameter)
    with pytest.raises(ValueError, match="no end that can be extended"):
        jv.branches.extend_branch(DUFFING, whole, BOUNDS)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"events": {"fold": 1.0}}, "event 'fold'"),
        ({"events": {"max_contact_forse": 1.0}}, "did you mean 'max_contact_force'"),
        ({"stop_at": ["wide"]}, "unknown event to stop at 'wide'"),
    ],
)
def test_invalid_events_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        jv.branches.ContinuationSettings(**given)


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        (jv.branches.switch_branch, {"segments": 2}),
        (jv.branches.continue_bifurcation, {"rtol": 1e-6}),
        (jv.branches.continue_bifurcation, {"events": {"max_contact_force": 1.0}}),
    ],
)
def test_settings_that_a_verb_has_no_use_for_are_refused(verb, given):
    name = next(iter(given))
    with pytest.raises(ValueError, match=f"{name} = .*; {verb.__name__} does not use"):
        jv.branches.ContinuationSettings(**given).refuse(verb.__name__, name)
