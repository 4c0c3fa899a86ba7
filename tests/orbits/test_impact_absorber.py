"""Checked against: the published slow motion of a vibro-impact absorber, as eps falls."""

import numpy as np
import pytest

import jaxvib as jv

DAMPING, RESTITUTION = 1e-3, 0.8
RHO = (2 / np.pi) * (1 - RESTITUTION) / (1 + RESTITUTION)


def resonance(reach, pace, eps):
    """Return the load of the 1:1 motion of a reach, in clearances, and the ball's motion.

    The force on the body as a complex amplitude, the peak of the ball's triangular wave,
    and the phase by which it is ahead of the body. The body, of mass 1 - eps, is on a
    spring and a damper, the ball, of mass eps, flies between its two walls.
    """
    peak = (1 + np.sqrt((1 + RHO**2) * reach**2 - RHO**2)) / (1 + RHO**2)
    turn = ((peak - 1) - 1j * RHO * peak) / reach
    inertia = 8 * eps * peak * turn * pace**2 / np.pi**2
    body = 1 - (1 - eps) * pace**2 + 2j * DAMPING * pace
    return body * reach - inertia, peak, np.angle(turn)


def off_published(reach, pace, eps):
    """Return by which part the load of the motion found differs from the published one."""
    force, peak, ahead = resonance(reach, pace, eps)
    halves = ahead % (2 * np.pi) / np.pi  # of the period since the ball's peak
    ball = peak * (1 - 2 * halves) if halves < 1 else peak * (2 * halves - 3)
    speed = (-1 if halves < 1 else 1) * 2 * peak * pace / np.pi
    linear = jv.LinearSystem(
        np.diag([1 - eps, eps]), np.diag([2 * DAMPING, 0.0]), np.diag([1.0, 0.0])
    )
    law = jv.RestitutionContact(RESTITUTION)
    walls = [jv.Contact(way, 1.0, law) for way in ([-1.0, 1.0], [1.0, -1.0])]
    push = jv.HarmonicLoad(abs(force), pace, np.angle(force))
    system = jv.ImpactSystem(linear, walls, [jv.AppliedLoad([1.0, 0.0], push)])
    orbit = jv.periodic_orbit(system, [reach, ball, 0.0, speed])
    assert int(orbit.contacts) == 2
    times = np.arange(512) * float(orbit.period) / 512
    body = np.asarray(jv.simulate(system, orbit.state, times).states)[:, 0]
    found = 2 * abs(np.mean(body * np.exp(-1j * pace * times)))
    return abs(force) / abs(resonance(found, pace, eps)[0]) - 1


@pytest.mark.parametrize(
    ("reach", "pace", "clearance"),
    [(1.0, 0.98, 0.069362), (1.0, 1.0, 0.146902), (1.0, 1.02, 0.037556),
     (2.0, 1.0, 0.163225)],
)  # fmt: skip
def test_the_published_clearances_are_those_of_the_formula(reach, pace, clearance):
    found = 2 * DAMPING / abs(resonance(reach, pace, 0.02)[0])
    np.testing.assert_allclose(found, clearance, atol=5.1e-7)
    least = RHO / np.sqrt(1 + RHO**2)
    np.testing.assert_allclose(least, 0.0705592, atol=5.1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("pace", [0.98, 1.02])
def test_the_motion_with_two_impacts_nears_the_published_one_as_eps_squared(pace):
    off = np.abs([off_published(1.0, pace, eps) for eps in (0.02, 0.01, 0.005, 0.0025)])
    assert off[0] < 0.01
    assert (off[:-1] > 3.4 * off[1:]).all()
    assert 3.7 < off[-2] / off[-1] < 4.3


@pytest.mark.slow
def test_at_resonance_it_nears_the_published_motion_too():
    off = np.abs([off_published(1.0, 1.0, eps) for eps in (0.02, 0.01, 0.005, 0.0025)])
    assert off[0] < 0.01
    assert (off[:-1] > 2 * off[1:]).all()
