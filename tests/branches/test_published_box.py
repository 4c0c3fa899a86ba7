"""Checked against: events printed by PWSDDE-cont for its example; scipy's DOP853."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root

import jaxvib as jv

pytestmark = pytest.mark.slow  # compiles the branches of a system of its own, 4 s

FREQUENCY = "loads.drive.law.frequency"
MASS, TUNING, DAMPING, CUBIC, RESTITUTION = 0.05, 0.952, 0.127, 0.1, 0.9


def box(frequency):
    """Return a body with a damper of small mass that hits both walls of its box."""
    link = MASS * np.array([[1.0, -1.0], [-1.0, 1.0]])
    linear = jv.LinearSystem(
        np.diag([1.0, MASS]),
        np.diag([0.04, 0.0]) + 2 * DAMPING * link,
        np.diag([1.0, 0.0]) + TUNING**2 * link,
    )
    law, ahead = jv.RestitutionContact(RESTITUTION), np.array([-1.0, 1.0])
    walls = [jv.Contact(s * ahead, 1.0, law, n) for s, n in ((1, "front"), (-1, "rear"))]
    springs = [
        jv.NonlinearSpring([1.0, 0.0], jv.PolynomialLaw([0.0, 0.0, CUBIC]), name="body"),
        jv.NonlinearSpring(ahead, jv.PolynomialLaw([0.0, 0.0, CUBIC * MASS]), name="link"),
    ]
    drive = jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(1.0, frequency), name="drive")
    return jv.ImpactSystem(linear, walls, [drive], springs=springs)


def impacts(frequency, start):
    """Return the times of impact in a period, the approach of each, and the end."""

    def field(t, x):
        apart, rate = x[1] - x[0], x[3] - x[2]
        pull = TUNING**2 * apart + 2 * DAMPING * rate + CUBIC * apart**3
        push = np.cos(frequency * t) - x[0] - CUBIC * x[0] ** 3 - 0.04 * x[2]
        return [x[2], x[3], push + MASS * pull, -pull]

    def front(t, x):
        return 1.0 - (x[1] - x[0])

    def rear(t, x):
        return 1.0 + (x[1] - x[0])

    for wall in (front, rear):
        wall.terminal, wall.direction = True, -1
    time, period, state, found = 0.0, 2 * np.pi / frequency, np.asarray(start), []
    while time < period:
        path = solve_ivp(field, (time, period), state, "DOP853", events=(front, rear),
                         rtol=1e-12, atol=1e-13)  # fmt: skip
        time, state = path.t[-1], path.y[:, -1].copy()
        if path.status == 1:
            mean = (state[2] + MASS * state[3]) / (1 + MASS)
            found.append((time, abs(state[3] - state[2])))
            state[2:] = (1 + RESTITUTION) * mean - RESTITUTION * state[2:]
    return np.array(found), state


@pytest.mark.parametrize(
    ("start", "along", "pitchfork", "printed"),
    [
        (1.5, (1.42, 1.51), (1.355, 1.45), [2.100, 3.451, 4.620]),
        (0.7, (0.69, 1.1), (1.02, 1.06), [2.859, 4.617, 5.980]),
    ],
)
def test_asymmetric_motions_go_on_through_the_published_grazings(
    start, along, pitchfork, printed
):
    # From the orbit with two impacts through its pitchfork to the orbits without
    # symmetry, on through the grazing at which they gain a third impact.
    system = box(start)
    orbit = jv.periodic_orbit(system)
    assert (orbit.contacts, int(orbit.stable)) == (2, 1)
    branch = jv.continue_orbit(system, orbit, FREQUENCY, along)
    (point,) = [p for p in branch.bifurcations if p.kind == "branch_point"]
    broken = jv.switch_branch(system, point, pitchfork)
    (grazing,) = [p for p in broken.bifurcations if p.kind == "grazing"]
    assert set(np.asarray(broken.orbits.contacts).tolist()) == {2, 3}
    assert pitchfork[0] < grazing.parameter < pitchfork[1]
    period = 2 * np.pi / grazing.parameter
    found, end = impacts(grazing.parameter, grazing.state)
    np.testing.assert_allclose(end, grazing.state, atol=1e-6)
    times = [time for time, approach in found if approach > 1e-3]
    touch = _closest(grazing)
    events = np.sort(np.append(times, touch))
    rolled = [np.mod(np.roll(events, k) - np.roll(events, k)[0], period)[1:]
              for k in range(3)]  # fmt: skip
    nearest = min(rolled, key=lambda one: np.abs(one - printed[:2]).max())
    # Printed as guesses for the orbits beyond; that of 4.617 is the touch itself.
    off = np.abs(np.array([*nearest, period]) - printed)
    assert np.all(off < [0.006, 0.05, 0.006])


def grazing_of_both_walls(start):
    """Return the frequency at which a motion without impacts just touches both walls.

    Between them, half a period takes the state at the touch of one into its negative.
    """

    def field(t, x, frequency):
        apart, rate = x[1] - x[0], x[3] - x[2]
        pull = TUNING**2 * apart + 2 * DAMPING * rate + CUBIC * apart**3
        push = np.cos(frequency * t) - x[0] - CUBIC * x[0] ** 3 - 0.04 * x[2]
        return [x[2], x[3], push + MASS * pull, -pull]

    def left(unknowns):
        place, speed, time, frequency = unknowns
        state, half = np.array([place, place + 1.0, speed, speed]), np.pi / frequency
        tight = {"rtol": 1e-13, "atol": 1e-14, "args": (frequency,)}
        end = solve_ivp(field, (time, time + half), state, "DOP853", **tight)
        return end.y[:, -1] + state

    found = root(left, start, tol=1e-13)
    assert np.abs(left(found.x)).max() < 1e-11
    return found.x[-1]


def test_the_symmetric_motion_goes_on_where_it_touches_both_walls_at_once():
    system = box(2.5)
    orbit = jv.periodic_orbit(system)
    branch = jv.continue_orbit(system, orbit, FREQUENCY, (1.5, 2.5))
    assert set(np.asarray(branch.orbits.contacts).tolist()) == {0, 2}
    (grazing,) = [p for p in branch.bifurcations if p.kind == "grazing"]
    frequency, time = float(grazing.parameter), float(grazing.time)
    path = jv.simulate(box(frequency), grazing.state, [0.0, time], 1e-12)
    touch = np.asarray(path.states[-1])
    if touch[1] < touch[0]:  # at the rear wall
        touch, time = -touch, time + np.pi / frequency
    exact = grazing_of_both_walls([touch[0], touch[2], time, frequency])
    np.testing.assert_allclose(frequency, exact, rtol=1e-9)
    # Beyond it each wall is hit once a period, and the motion comes back.
    every = np.flatnonzero(np.asarray(branch.orbits.contacts) == 2)
    struck = every[len(every) // 2]
    start = branch.orbits.state[struck]
    found, end = impacts(float(branch.parameter[struck]), start)
    assert len(found) == 2
    np.testing.assert_allclose(end, start, rtol=0, atol=1e-9)


def _closest(grazing):
    """Return when the orbit at a grazing touches without an approach."""
    period = 2 * np.pi / grazing.parameter
    system = box(grazing.parameter)
    times = np.linspace(0.0, period, 2001)
    states = np.asarray(jv.simulate(system, grazing.state, times, 1e-10).states)
    apart, rate = np.abs(states[:, 1] - states[:, 0]), states[:, 3] - states[:, 2]
    slow = np.where(np.abs(rate) < 0.02, apart, 0.0)
    return times[slow.argmax()]
