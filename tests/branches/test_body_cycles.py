"""Checked against: stick-slip in closed form; scipy; the Hopf condition by hand."""

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq, minimize_scalar

import jaxvib as jv
from jaxvib.branches.equations.cycle_margins import margin_of
from tests.dynamics.test_friction import NUMBERS, on_a_belt, stick_slip

SPEED = "frictions.0.speed"
MASS, STIFFNESS, SLIDING, STATIC, _ = map(float, NUMBERS)
belt = on_a_belt(NUMBERS)


def branch_along_the_speed(system, bounds):
    cycle = jv.periodic_orbit(system, [0.06, -0.3], period=1.2)
    branch = jv.continue_orbit(system, cycle, SPEED, bounds, progress=False)
    assert (np.asarray(branch.cycles.result) == 0).all()
    return branch


@pytest.mark.slow
def test_stick_slip_has_the_periods_of_its_closed_form_over_the_speed():
    branch = branch_along_the_speed(belt, (0.05, 0.3))
    speeds = np.asarray(branch.parameter)
    np.testing.assert_array_equal(speeds[[0, -1]], [0.05, 0.3])
    periods = [float(stick_slip(NUMBERS.at[4].set(speed))[0]) for speed in speeds]
    np.testing.assert_allclose(branch.periods, periods, rtol=1e-12)
    assert (np.asarray(branch.stable) == 1).all()
    assert branch.bifurcations == ()


def fastest_beside(speed, damping):
    """Return the largest velocity after a release from a belt, less that of the belt."""
    decay = damping / (2 * MASS)
    turn = np.sqrt(STIFFNESS / MASS - decay**2)
    rises = (STATIC - SLIDING - damping * speed) / STIFFNESS

    def velocity(time):
        sine = decay * speed + STIFFNESS / MASS * rises
        swing = speed * np.cos(turn * time) - sine / turn * np.sin(turn * time)
        return np.exp(-decay * time) * swing

    found = minimize_scalar(
        lambda time: -velocity(time),
        bounds=(np.pi / turn, 2.1 * np.pi / turn),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -found.fun - speed


@pytest.mark.slow
def test_stick_slip_vanishes_at_the_speed_that_a_damped_body_does_not_reach_again():
    damping = 1.5
    damped = jv.replace(belt, {"linear.damping": [[damping]]})
    branch = branch_along_the_speed(damped, (0.05, 0.3))
    (grazing,) = branch.bifurcations
    assert (grazing.kind, grazing.of) == ("grazing", "cycle")
    speed = brentq(fastest_beside, 0.1, 0.3, args=(damping,), xtol=1e-14)
    np.testing.assert_allclose(grazing.parameter, speed, rtol=1e-9)
    assert branch.ends.tolist() == [jv.Reason.PARAMETER_BOUND, jv.Reason.GRAZING]


GAP, RESTITUTION = float(stick_slip(NUMBERS.at[4].set(0.2))[3]), 0.3
MIDDLE, RATE = SLIDING / STIFFNESS, np.sqrt(STIFFNESS / MASS)
stop = jv.Contact([1.0], GAP, jv.systems.RestitutionContact(RESTITUTION))
stopped = jv.ImpactSystem(belt.linear, (stop,), frictions=belt.frictions)


def squared_speed_after(speed):
    """Return the square of the largest speed after an impact on the stop."""
    before = speed**2 + ((STATIC - SLIDING) / STIFFNESS * RATE) ** 2
    place = ((GAP - MIDDLE) * RATE) ** 2
    return place + RESTITUTION**2 * (before - place)


def period_with_an_impact(speed):
    """Return the period of stick-slip in which the body is thrown back by the stop."""
    rises, place = (STATIC - SLIDING) / STIFFNESS, GAP - MIDDLE
    first, second = np.hypot(rises, speed / RATE), np.sqrt(squared_speed_after(speed))
    second = second / RATE  # the amplitudes before and behind the impact
    until = np.arccos(rises / first) - np.arccos(min(place / first, 1.0))
    sticks = np.sqrt(second**2 - (speed / RATE) ** 2)
    behind = 2 * np.pi - np.arccos(place / second) - np.arccos(-sticks / second)
    return (until + behind) / RATE + (rises + sticks) / speed


@pytest.mark.slow
def test_stick_slip_passes_the_grazing_of_a_stop_from_the_side_with_impacts():
    fast = jv.replace(stopped, {SPEED: 0.25})
    branch = branch_along_the_speed(fast, (0.05, 0.3))
    touches, slides = branch.bifurcations
    assert touches.kind == slides.kind == "grazing"
    np.testing.assert_allclose(touches.parameter, 0.2, rtol=1e-11)
    # After the impact the body just reaches the speed of the belt.
    last = brentq(lambda v: squared_speed_after(v) - v**2, 0.25, 0.3, xtol=1e-14)
    np.testing.assert_allclose(slides.parameter, last, rtol=1e-10)
    assert branch.ends.tolist() == [jv.Reason.PARAMETER_BOUND, jv.Reason.GRAZING]
    speeds, periods = np.asarray(branch.parameter), np.asarray(branch.periods)
    free = speeds < 0.1999
    expected = [float(stick_slip(NUMBERS.at[4].set(v))[0]) for v in speeds[free]]
    np.testing.assert_allclose(periods[free], expected, rtol=1e-11)
    hits = (speeds > 0.20001) & (speeds < 0.2897)
    expected = list(map(period_with_an_impact, speeds[hits]))
    np.testing.assert_allclose(periods[hits], expected, rtol=1e-9)
    assert free.sum() > 5
    assert hits.sum() > 5


def test_the_margin_of_a_stop_is_the_depth_that_is_reached_without_it():
    def margin(numbers, gap):
        system = jv.replace(stopped, {SPEED: numbers[4], "contacts.0.gap": gap})
        period, _, first, _ = stick_slip(numbers)
        start = jax.numpy.stack([first, numbers[4]])
        return margin_of(system, start, period, 1e-10)

    top = float(stick_slip(NUMBERS)[3])
    bottom = 2 * MIDDLE - top
    for gap in (top + 1e-3, top + 1e-6, top - 1e-6):
        found = jax.jit(margin)(NUMBERS, gap)
        # The friction, which sticks, turns the sign.
        expected = (top - gap) / (min(gap, top) - bottom)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-9)


@pytest.mark.slow
def test_with_falling_friction_stick_slip_turns_at_a_grazing_to_cycles_of_a_hopf_point():
    damping, slows = 0.5, 0.5
    pad = jv.CoulombFriction([1.0], SLIDING, STATIC, 0.9, stribeck=slows)
    linear = jv.LinearSystem([[MASS]], [[damping]], [[STIFFNESS]])
    falling = jv.ImpactSystem(linear, frictions=[pad])
    branch = branch_along_the_speed(falling, (0.8, 2.0))
    grazing, hopf = branch.bifurcations

    def sliding(t, y, speed):
        falls = SLIDING + (STATIC - SLIDING) / (1 + abs(y[1] - speed) / slows)
        return [y[1], (falls - damping * y[1] - STIFFNESS * y[0]) / MASS]

    def missed(speed):
        """Return what a body lacks of the speed at which it was about to stick."""

        def fastest(t, y, speed):
            return sliding(t, y, speed)[1] if t > 0.9 else 1.0

        fastest.terminal, fastest.direction = True, -1
        start, settings = [(STATIC - damping * speed) / STIFFNESS, speed], {
            "method": "DOP853", "rtol": 1e-12, "atol": 1e-14, "args": (speed,)
        }  # fmt: skip
        return (
            solve_ivp(sliding, (0, 5), start, events=fastest, **settings).y[1, -1] - speed
        )

    np.testing.assert_allclose(grazing.parameter, brentq(missed, 1.3, 1.4), rtol=1e-9)
    # The damping is the friction's slope, (static - sliding) / (slows (1 + v/slows)^2).
    speed = slows * (np.sqrt((STATIC - SLIDING) / (slows * damping)) - 1)
    np.testing.assert_allclose(hopf.parameter, speed, rtol=1e-12)
    np.testing.assert_allclose(hopf.frequency, np.sqrt(STIFFNESS / MASS), rtol=1e-12)

    def speed_of_hopf(damping):
        other = jv.replace(falling, {"linear.damping": [[damping]]})
        return jv.branches.bifurcation_point(other, hopf, "hopf", SPEED).parameter

    slope = -np.sqrt(slows * (STATIC - SLIDING) / damping) / (2 * damping)
    np.testing.assert_allclose(jax.jacfwd(speed_of_hopf)(damping), slope, rtol=1e-9)
    with pytest.raises(ValueError, match="equilibrium of an ImpactSystem; allow"):
        jv.branches.switch_branch(falling, hopf, (0.8, 2.0))
    assert branch.ends.tolist() == [jv.Reason.PARAMETER_BOUND, jv.Reason.EQUILIBRIUM]
    # Stick-slip attracts, and what only slides repels.
    turn = int(np.argmax(branch.parameter))
    multipliers = np.asarray(branch.cycles.largest_multiplier)
    np.testing.assert_allclose(multipliers[:turn], 0.0, atol=1e-9)
    assert (multipliers[turn + 2 : -3] > 1).all()
    middle = (turn + len(multipliers)) // 2
    speed, period = float(branch.parameter[middle]), float(branch.periods[middle])
    state = np.asarray(branch.states[middle])
    settings = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14, "args": (speed,)}
    end = solve_ivp(sliding, (0, period), state, **settings).y[:, -1]
    np.testing.assert_allclose(end, state, atol=1e-9)


def test_bad_input_is_named():
    cycle = jv.periodic_orbit(belt, [0.06, -0.3], period=1.2)
    segments = jv.branches.ContinuationSettings(segments=12)
    with pytest.raises(ValueError, match="segments = 12; continue_orbit of a limit cycle"):
        jv.continue_orbit(belt, cycle, SPEED, (0.05, 0.3), settings=segments)
    with pytest.raises(ValueError, match="do not enclose"):
        jv.continue_orbit(belt, cycle, SPEED, (0.2, 0.3))
    with pytest.raises(ValueError, match="guess = LimitCycle; allowed: a periodic orbit"):
        jv.branches.bifurcation_point(belt, cycle, "fold", SPEED)
    rests = jv.replace(belt, {SPEED: 0.0})
    nothing = jv.periodic_orbit(rests, [0.2, 0.1], period=1.0, throw=False)
    with pytest.raises(ValueError, match="orbit was not found: converged to an equilib"):
        jv.continue_orbit(rests, nothing, SPEED, (0.0, 0.3))


def after_an_impact(gap, velocity):
    """Return where and when a body below the belt's speed reaches it, or is fastest.

    Also its velocity there. It starts from a stop, by scipy.
    """
    mass, damping, stiffness, sliding, speed = 2.0, 1.0, 5e3, 30.0, 0.2

    def rates(t, s):
        return [s[1], (sliding - damping * s[1] - stiffness * s[0]) / mass]

    def fastest(t, s):
        return rates(t, s)[1]

    def caught(t, s):
        return s[1] - speed

    fastest.direction = -1
    for event in (caught, fastest):
        event.terminal = True
    seen = solve_ivp(
        rates, (0, 1), [gap, velocity], "DOP853", events=(caught, fastest),
        rtol=1e-12, atol=1e-14,
    )  # fmt: skip
    return *seen.y[:, -1], float(seen.t[-1])


@pytest.mark.slow
def test_a_body_is_carried_into_a_stop_until_it_is_caught_no_more():
    gap, speed, restitution = "contacts.stop.gap", 0.2, 0.8
    system = jv.ImpactSystem(
        jv.LinearSystem([[2.0]], [[1.0]], [[5e3]]),
        (jv.Contact([1.0], 0.0105, jv.RestitutionContact(restitution), "stop"),),
        frictions=(jv.CoulombFriction([1.0], 30.0, 45.0, speed),),
    )
    cycle = jv.periodic_orbit(system, [0.006, 0.2], period=0.15)
    branch = jv.continue_orbit(system, cycle, gap, (0.003, 0.0108), progress=False)

    # Nearer than where it would slip, the body meets the stop at the belt's speed.
    gaps, slips = np.asarray(branch.parameter), (45.0 - speed) / 5e3
    carried = gaps < slips
    assert carried.sum() > 10
    periods = []
    for place in gaps[carried][2:]:
        back, _, time = after_an_impact(place, -restitution * speed)
        periods.append(time + (place - back) / speed)
    np.testing.assert_allclose(branch.periods[carried][2:], periods, rtol=1e-9)

    # It ends where the rebound is just too slow to be caught by the belt.
    def short(place):
        return after_an_impact(place, -restitution * speed)[1] - speed + 1e-9

    last = brentq(short, 0.0080, 0.0089)
    assert gaps[0] == pytest.approx(last, rel=1e-6)
    assert int(branch.ends[0]) == jv.Reason.GRAZING
    assert [point.kind for point in branch.bifurcations] == ["grazing"]


@pytest.mark.slow  # compiles a branch of two bodies on belts, 15 s
def test_a_branch_ends_where_a_belt_just_catches_a_body():
    linear = jv.assemble(
        [
            jv.TranslationTranslation("ground", "a", mass=1.0, stiffness=1.0),
            jv.TranslationTranslation("a", "b", mass=1.0, stiffness=1.2),
        ]
    )
    belts = [
        jv.CoulombFriction(linear.direction(body), force=f, static=s, speed=0.2, name=body)
        for body, f, s in (("a", 0.6, 1.0), ("b", 0.78, 1.3))
    ]
    system = jv.ImpactSystem(linear, frictions=belts)
    guess = [0.69718175, 1.19501753, 0.11003798, -0.27154721]
    cycle = jv.periodic_orbit(system, guess, period=5.0)
    path = "frictions.a.speed"
    branch = jv.continue_orbit(system, cycle, path, (0.15, 0.6), progress=False)
    ends = [jv.Reason(code) for code in branch.ends]
    assert ends == [jv.Reason.TOO_FEW_SEGMENTS, jv.Reason.GRAZING]
    # The force between bodies that stick changes by the difference of the speeds, 0.2 - v:
    # where b slips, neighbours are apart by its inverse.
    last = branch.cycles.floquet_multipliers[:3, 1].real
    near = 0.2 - branch.parameter[:3]
    assert 0 < near[0] < 1e-6
    np.testing.assert_allclose(last * near, last[0] * near[0], rtol=1e-5)
    fold, grazing = branch.bifurcations
    assert (fold.kind, grazing.kind) == ("fold", "grazing")
    # The shooting is singular at the fold; there the cycle closes, with a multiplier 1.
    assert float(fold.residual) < 1e-12
    assert float(fold.test) < 1e-6
    # Where the body is nearly caught both slide, with constant forces: the velocity of a,
    # by an exponential of the matrix, has its top at that of its belt.
    speed = float(grazing.parameter)
    there = jv.replace(system, {path: speed})
    times = np.linspace(0.0, float(grazing.period), 4001)
    states = np.asarray(jv.simulate(there, grazing.state, times).states)
    gap = speed - states[:, 2]
    tops = (gap[1:-1] < gap[:-2]) & (gap[1:-1] < gap[2:])
    first = min(np.flatnonzero(tops) + 1, key=lambda at: gap[at])
    start = states[first - 40]
    matrix = np.zeros((5, 5))
    matrix[:2, 2:4] = np.eye(2)
    matrix[2:4, :2] = [[-2.2, 1.2], [1.2, -1.2]]
    matrix[2:4, 4] = 0.6, 0.78 * np.sign(0.2 - start[3])

    def gap_at(time):
        return speed - (expm(matrix * time) @ np.append(start, 1.0))[2]

    top = minimize_scalar(
        gap_at, bounds=(0.0, 80 * times[1]), method="bounded", options={"xatol": 1e-9}
    )
    assert abs(top.fun) < 1e-7
