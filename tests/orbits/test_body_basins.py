"""Checked against: scipy, phase by phase; the cycle that repels; closed forms."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.orbits import basins, robustness, smallest_shock, state_grid
from tests.dynamics.test_friction import NUMBERS

SPEED = "frictions.0.speed"
MASS, STIFFNESS, SLIDING, STATIC, _ = map(float, NUMBERS)
DAMPING, SLOWS = 0.5, 0.5


def until_it_rests(start, sliding, static):
    """Return where x'' = x - x^3 - 0.1 x' - friction comes to rest from a state."""
    state = np.asarray(start, float)

    def pull(x):
        return x - x**3

    while True:
        side = np.sign(state[1]) if state[1] else np.sign(pull(state[0]))
        if not state[1] and abs(pull(state[0])) <= static:
            return state[0]

        def rates(t, s, side=side):
            return [s[1], pull(s[0]) - 0.1 * s[1] - side * sliding]

        def stops(t, s, side=side):
            return s[1] if t > 1e-9 else side

        stops.terminal, stops.direction = True, -side
        settings = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12, "events": stops}
        state = solve_ivp(rates, (0, 100), state, **settings).y[:, -1]
        state[1] = 0.0


def test_a_body_between_two_wells_rests_in_one_of_three_intervals_as_scipy_says():
    sliding, static = 0.05, 0.08
    spring = jv.NonlinearSpring([1.0], jv.PolynomialLaw([-2.0, 0.0, 1.0]))
    body = jv.LinearSystem([[1.0]], [[0.1]], [[1.0]])
    pad = jv.CoulombFriction([1.0], sliding, static)
    system = jv.ImpactSystem(body, springs=[spring], frictions=[pad])
    axis = np.linspace(-2.0, 2.0, 15)
    starts = state_grid(system, {0: axis, 1: axis})
    found = basins(system, starts, period=4.0, progress=False)
    assert not (found.label < 0).any()
    assert (found.attractors.orbits.result == jv.Reason.EQUILIBRIUM).all()
    # It rests where |x - x^3| < static, between the roots.
    each = [np.roots([-1.0, 0.0, 1.0, side * static]).real for side in (1, -1)]
    ends = np.sort(each, axis=None)
    rests = np.searchsorted(ends, found.attractors.state[:, 0])
    assert sorted(rests.tolist()) == [1, 3, 5]
    for start, label in zip(starts[::4], found.label[::4], strict=True):
        place = until_it_rests(start, sliding, static)
        assert np.searchsorted(ends, place) == rests[label]
    # Wherever the motions came to rest, distances are those of the intervals.
    intervals = np.reshape(ends, (3, 2))
    points = found.attractors.points[:, :, 0]
    np.testing.assert_allclose(points[:, [1, -1]], intervals, atol=1e-7)
    np.testing.assert_allclose(points[:, 0], intervals.mean(axis=1), atol=1e-7)
    measured = robustness(found, units={0: 1.0, 1: 1.0})
    for i, (low, high) in enumerate(intervals):
        x, speed = starts[found.label != i].T
        nearest = np.hypot(x - np.clip(x, low, high), speed).min()
        assert measured.local_integrity[i] == pytest.approx(nearest, rel=1e-3)


def on_a_belt(speed):
    """Return a body whose friction falls, so that sliding and stick-slip both attract."""
    pad = jv.CoulombFriction([1.0], SLIDING, STATIC, speed, stribeck=SLOWS)
    linear = jv.LinearSystem([[MASS]], [[DAMPING]], [[STIFFNESS]])
    return jv.ImpactSystem(linear, frictions=[pad])


def sticks(start, speed):
    """Return whether a body on the belt ever sticks, by scipy."""
    state, time = np.asarray(start, float), 0.0
    while time < 300.0:
        side = np.sign(state[1] - speed)

        def rates(t, s, side=side):
            falls = SLIDING + (STATIC - SLIDING) / (1 + abs(s[1] - speed) / SLOWS)
            return [s[1], (-side * falls - DAMPING * s[1] - STIFFNESS * s[0]) / MASS]

        def caught(t, s, side=side):
            return s[1] - speed if t > 1e-9 else side

        caught.terminal = True
        settings = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-11, "events": caught}
        seen = solve_ivp(rates, (0, 300.0 - time), state, **settings)
        state, time = seen.y[:, -1], time + seen.t[-1]
        if seen.status == 1:
            if abs(STIFFNESS * state[0] + DAMPING * speed) <= STATIC:
                return True
            state[1] = speed - 1e-12 * np.sign(state[0])
    return False


@pytest.mark.slow
def test_sliding_and_stick_slip_part_at_the_cycle_that_repels():
    first = on_a_belt(0.9)
    cycle = jv.periodic_orbit(first, [0.06, -0.3], period=1.2)
    branch = jv.continue_orbit(first, cycle, SPEED, (0.8, 2.0), progress=False)
    speeds = np.asarray(branch.parameter)
    turn = int(np.argmax(speeds))  # the cycles before it stick, those behind repel
    place = turn + int(np.argmin(np.abs(speeds[turn:] - 1.2)))
    speed, period = float(speeds[place]), float(branch.periods[place])
    system = on_a_belt(speed)
    state, times = np.asarray(branch.states[place]), np.linspace(0.0, period, 4001)
    ring = np.asarray(jv.simulate(system, state, times).states)
    pulled = SLIDING + (STATIC - SLIDING) / (1 + speed / SLOWS)
    rest = np.array([pulled / STIFFNESS, 0.0])

    # A part in a thousand inside or outside of it decides.
    some = ring[:-1:250] - rest
    starts = rest + np.concatenate([0.999 * some, 1.001 * some])
    found = basins(system, starts, period=1.25, progress=False)
    assert found.label.tolist() == [0] * len(some) + [1] * len(some)
    codes = found.attractors.orbits.result.tolist()
    assert codes == [jv.Reason.EQUILIBRIUM, jv.Reason.SUCCESS]
    np.testing.assert_allclose(found.attractors.state[0], rest, atol=1e-12)

    grid = state_grid(system, {0: np.linspace(-0.3, 0.5, 5), 1: np.linspace(-1, 1.4, 5)})
    seen = basins(system, grid, period=1.25, progress=False)
    assert seen.label.tolist() == [int(sticks(each, speed)) for each in grid]

    # Of shocks that change the place alone the smallest ends on the ring at rest.
    shock = smallest_shock(system, rest, {0: 0.1}, 5.0, period=1.25)
    crossed = np.flatnonzero(ring[1:, 1] * ring[:-1, 1] < 0)
    (x, v), (y, w) = ring[crossed].T, ring[crossed + 1].T
    places = (x * w - y * v) / (w - v)
    nearest = np.min(np.abs(places - rest[0])) / 0.1
    np.testing.assert_allclose(shock.size, nearest, rtol=1e-5)


@pytest.mark.slow
def test_bodies_rest_on_a_stop_and_sledges_move_on_evenly():
    draw = np.random.default_rng(2)
    stop = jv.Contact([1.0], 0.1, jv.RestitutionContact(0.6))
    load = jv.AppliedLoad([1.0], jv.ConstantLoad(1.0))
    body = jv.LinearSystem([[1.0]], [[0.1]], [[1.0]])
    pressed = jv.ImpactSystem(body, contacts=[stop], loads=[load])
    starts = draw.uniform([-2, -2], [0.1, 2], (40, 2))
    found = basins(pressed, starts, period=6.0, progress=False)
    assert found.share.tolist() == [1.0]
    np.testing.assert_allclose(found.attractors.state, [[0.1, 0.0]], atol=1e-12)

    free = jv.LinearSystem([[1.0]], [[0.2]], [[0.0]])
    for push, belt, speed in ((0.2, 0.0, 0.0), (0.6, 0.0, 1.5), (0.0, 0.5, 0.5)):
        pad = jv.CoulombFriction([1.0], 0.3, 0.4, belt)
        load = jv.AppliedLoad([1.0], jv.ConstantLoad(push))
        sledge = jv.drifting(jv.ImpactSystem(free, loads=[load], frictions=[pad]), "0")
        starts = draw.uniform(-2, 2, (40, 2))
        found = basins(sledge, starts, period=2.0, progress=False)
        assert found.share.tolist() == [1.0]
        # It holds, or slides at (push - friction) / damping, or is carried.
        progress = found.attractors.orbits.progress
        np.testing.assert_allclose(progress, [2.0 * speed], rtol=1e-12)


@pytest.mark.slow
def test_a_cycle_with_impacts_takes_all_starts_that_slide_far_enough():
    pad = jv.CoulombFriction([1.0], SLIDING, STATIC, 0.1)
    stop = jv.Contact([1.0], 0.085, jv.RestitutionContact(0.5))
    linear = jv.LinearSystem([[MASS]], [[0.0]], [[STIFFNESS]])
    system = jv.ImpactSystem(linear, contacts=[stop], frictions=[pad])
    starts = np.random.default_rng(1).uniform([-0.2, -1], [0.08, 1], (60, 2))
    found = basins(system, starts, period=1.2, progress=False)
    rate, middle = np.sqrt(STIFFNESS / MASS), SLIDING / STIFFNESS
    # Without damping a body that slides about the middle, slower than the belt and short
    # of the stop, goes on for ever.
    size = np.hypot(starts[:, 0] - middle, starts[:, 1] / rate)
    slides = (size < 0.1 / rate) & (size < 0.085 - middle)
    np.testing.assert_array_equal(found.label, np.where(slides, -1, 0))
    cycle = jv.periodic_orbit(system, [0.06, -0.3], period=1.2)
    np.testing.assert_allclose(found.attractors.orbits.period, [cycle.period], rtol=1e-9)
