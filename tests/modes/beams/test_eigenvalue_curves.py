"""Checked against: two values whose meeting is known in closed form."""

import numpy as np
import pytest

from jaxvib.modes.beams.eigenvalue_curves import eigenvalue_curves, meetings, order_of

PLACES = np.linspace(0.0, 2.1, 16)  # they meet, or come nearest, at 1
MIDWAY = np.linspace(0.0, 2.0, 16)


def pair(gap, places=PLACES):
    """Eigenvalues of [[10 + p, gap], [gap, 12 - p]], on the imaginary axis, by modulus."""
    root = np.sqrt((places - 1) ** 2 + gap**2)
    slope = (places - 1) / root if gap else np.sign(places - 1)
    values = 1j * np.stack([11 - root, 11 + root], axis=1)
    return values, 1j * np.stack([-slope, slope], axis=1)[None]


def joined(gap, places=PLACES):
    values, slopes = pair(gap, places)
    return eigenvalue_curves(np.diff(places)[None], values, slopes)


def test_curves_that_cross_keep_their_motion():
    curves = joined(0.0)
    (met,) = meetings(curves)
    assert met.kind == "crossing"
    assert np.interp(met.place, np.arange(16), PLACES) == pytest.approx(1.0, abs=0.15)
    first = curves.values[order_of(curves)[0]]
    np.testing.assert_allclose(first, 1j * (10 + PLACES), atol=1e-12)


def test_a_crossing_midway_between_two_points_is_one():
    (met,) = meetings(joined(0.0, MIDWAY))
    assert met.kind == "crossing"
    assert met.place == pytest.approx(7.5)
    assert met.modulus == pytest.approx(11.0)


@pytest.mark.parametrize("gap", [0.001, 0.003])
def test_a_veering_within_a_step_is_not_taken_for_a_crossing(gap):
    # a step is 0.13; midway, only a kink that narrow tells it from a crossing
    (met,) = meetings(joined(gap, MIDWAY))
    assert met.kind in ("undecided", "veering")


def test_curves_that_veer_turn_away_at_their_narrowest():
    curves = joined(0.3)
    (met,) = meetings(curves)
    assert met.kind == "veering"
    assert met.apart == pytest.approx(0.6, rel=0.1)
    assert met.modulus == pytest.approx(11.0, rel=0.05)
    np.testing.assert_allclose(curves.values, pair(0.3)[0].T, atol=1e-12)


def test_curves_far_apart_do_not_meet():
    values, slopes = pair(0.0)
    values = values + np.array([0.0, 8j])
    assert meetings(eigenvalue_curves(np.diff(PLACES)[None], values, slopes)) == []
