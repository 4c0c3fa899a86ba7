"""Checked against: Masing's hysteresis in closed form; differences of scipy's motions.

A body on a spring, and on a friction behind another spring (Jenkins' element). Here the
slider between spring and friction has a small mass, and a damper for its own ringing: the
element without both is the limit, which the closed form describes.
"""

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root

import jaxvib as jv

pytestmark = pytest.mark.slow  # compiles a system of its own, 8 s

SPRING, BEHIND, LIMIT, LOAD, FREQUENCY = 1.0, 1.5, 0.4, 1.0, 1.3
RINGING = 0.1  # damping ratio of the slider
PERIOD = 2 * np.pi / FREQUENCY


def jenkins(mass, phase):
    """Return the body and its slider, whose load is at a phase at t = 0."""
    link = np.array([[1.0, -1.0], [-1.0, 1.0]])
    damping = 2 * RINGING * np.sqrt(BEHIND * mass)
    linear = jv.LinearSystem(
        np.diag([1.0, mass]), damping * link, np.diag([SPRING, 0.0]) + BEHIND * link
    )
    load = jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(LOAD, FREQUENCY, phase))
    return jv.ImpactSystem(
        linear, loads=[load], frictions=[jv.CoulombFriction([0.0, 1.0], LIMIT)]
    )


def moved(stiffness, force, phase, start, time):
    """Return position and speed of a body on a spring under the load and a force."""
    pace, part = np.sqrt(stiffness), LOAD / (stiffness - FREQUENCY**2)
    angles = phase + FREQUENCY * np.array([0.0, time])
    still = part * np.cos(angles) + force / stiffness
    rate = -FREQUENCY * part * np.sin(angles)
    x, v = start[0] - still[0], start[1] - rate[0]
    cosine, sine = np.cos(pace * time), np.sin(pace * time)
    return np.array([x * cosine + v / pace * sine + still[1],
                     v * cosine - pace * x * sine + rate[1]])  # fmt: skip


@functools.cache
def masing():
    """Return reach, phase of the load at the top, and time of sticking from there.

    Below its top the body has the slider at rest until both springs' forces have changed
    by twice the limit, and takes it along until it is as far below.
    """

    def half(unknowns):
        reach, phase, stuck = unknowns
        held = BEHIND * reach - LIMIT
        slips = moved(SPRING + BEHIND, held, phase, (reach, 0.0), stuck)
        then = phase + FREQUENCY * stuck
        end = moved(SPRING, LIMIT, then, slips, PERIOD / 2 - stuck)
        return [slips[0] - reach + 2 * LIMIT / BEHIND, end[0] + reach, end[1]]

    found = root(half, [1.2, 2.5, 0.8], tol=1e-13)
    assert np.abs(half(found.x)).max() < 1e-12
    reach, phase, stuck = found.x
    assert 0 < stuck < PERIOD / 2
    assert reach > LIMIT / BEHIND
    return reach, phase, stuck


def after_a_period(state, time):
    """Return body and slider a period after a state, while the slider sticks, by scipy."""
    end, way = time + PERIOD, 0
    _, phase, _ = masing()

    def field(t, s):
        x, v, slider = s
        pull = way * LIMIT if way else BEHIND * (x - slider)
        load = LOAD * np.cos(FREQUENCY * t + phase)
        return [v, load - SPRING * x - pull, v if way else 0.0]

    def slips(t, s):
        return abs(BEHIND * (s[0] - s[2])) - LIMIT if not way else -1.0

    def sticks(t, s):
        return way * s[1] if way else 1.0

    slips.terminal = sticks.terminal = True
    slips.direction, sticks.direction = 1, -1
    while time < end:
        path = solve_ivp(field, (time, end), state, "DOP853", events=(slips, sticks),
                         rtol=1e-12, atol=1e-14)  # fmt: skip
        time, state = path.t[-1], path.y[:, -1]
        if path.status == 1:
            way = 0 if way else int(np.sign(state[0] - state[2]))
    return state


@functools.cache
def found(mass):
    """Return the orbit that begins while the slider sticks, and the limit's state."""
    reach, phase, stuck = masing()
    held = reach - LIMIT / BEHIND
    x, v = moved(SPRING + BEHIND, BEHIND * held, phase, (reach, 0.0), stuck / 2)
    system = jenkins(mass, phase + FREQUENCY * stuck / 2)
    return jv.periodic_orbit(system, [x, held, v, 0.0], periods=1), (x, v, held)


def test_a_friction_behind_a_spring_moves_as_masing_says():
    off = []
    for mass in (1e-6, 1e-8):
        orbit, (x, v, held) = found(mass)
        assert int(orbit.stable) == 1
        wrong = np.asarray(orbit.state) - [x, held, v, 0.0]
        off.append(np.append(wrong, orbit.amplitude[0] - masing()[0]))
    # The slider's damper acts while it sticks, as the root of its mass.
    coarse, fine = (np.abs(each).max() for each in off)
    assert fine < 2e-4
    assert 5 < coarse / fine < 20
    assert np.abs(10 * off[1] - off[0]).max() / 9 < 1e-5


def test_its_multipliers_are_those_of_differences():
    orbit, start = found(1e-8)
    time = masing()[2] / 2
    columns = [
        (after_a_period(start + way, time) - after_a_period(start - way, time)) / 2e-6
        for way in 1e-6 * np.eye(3)
    ]
    expected = sorted(np.abs(np.linalg.eigvals(np.transpose(columns))))[::-1]
    np.testing.assert_allclose(np.abs(orbit.floquet_multipliers)[:3], expected, atol=1e-4)
