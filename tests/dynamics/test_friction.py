"""Checked against: closed forms of stick-slip, blocks and Den Hartog's motion; scipy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.dynamics.flow import observe
from jaxvib.systems.base.event_form import product_term
from jaxvib.systems.frictions.sliding import SlidingLaw

MASS, STIFFNESS, SLIDING, STATIC, BELT = 2.0, 50.0, 3.0, 5.0, 0.1
NUMBERS = jnp.asarray([MASS, STIFFNESS, SLIDING, STATIC, BELT])


def on_a_belt(numbers):
    mass, stiffness, sliding, static, belt = numbers
    nothing = jnp.zeros((1, 1))
    linear = jv.LinearSystem(mass[None, None], nothing, stiffness[None, None])
    friction = jv.CoulombFriction(jnp.ones(1), sliding, static, belt)
    return jv.ImpactSystem(linear, frictions=[friction])


def stick_slip(numbers):
    """Return the period, the time of sticking, the first place of sticking, the top."""
    mass, stiffness, sliding, static, belt = numbers
    rate = jnp.sqrt(stiffness / mass)
    jump = (static - sliding) / stiffness
    slips = (2 * jnp.pi - 2 * jnp.arctan(jump * rate / belt)) / rate
    sticks = 2 * jump / belt
    middle = sliding / stiffness
    return slips + sticks, sticks, middle - jump, middle + jnp.hypot(jump, belt / rate)


def place_after(numbers, start, time):
    """Return where a body is on the belt that stuck at `start`, slid once and sticks."""
    period, sticks, first, _ = stick_slip(numbers)
    lets_go = numbers[3] / numbers[1]
    left = time - (lets_go - start) / numbers[4] - (period - sticks)
    return first + numbers[4] * left


def test_stick_slip_on_a_belt_has_its_period_its_amplitude_and_its_sticking_time():
    period, sticks, first, top = stick_slip(NUMBERS)
    system, start = on_a_belt(NUMBERS), [first, BELT]
    for turns, part in ((3, 0.5), (3, 0.999), (1, 0.0)):
        time = turns * period + part * sticks
        end = jv.flow(system, start, 0.0, time)
        np.testing.assert_allclose(end[0], first + BELT * part * sticks, atol=1e-12)
        assert part == 0.0 or float(end[1]) == BELT
    slipping = jv.flow(system, start, 0.0, period + 1.001 * sticks)
    assert float(slipping[1]) < BELT
    seen = observe(system, jnp.asarray(start), 0.0, 2 * period, rtol=1e-10, grazing=0.0)[1]
    np.testing.assert_allclose(seen.highest, [top], rtol=1e-9)


def test_its_derivatives_are_those_of_the_closed_form():
    period, sticks, first, _ = stick_slip(NUMBERS)
    start, time = first + 0.3 * BELT * sticks, float(period)

    def end(numbers, place):
        state = jnp.stack([place, numbers[4]])
        return jv.flow(on_a_belt(numbers), state, 0.0, time)

    by_numbers, by_place = jax.jit(jax.jacfwd(end, (0, 1)))(NUMBERS, start)
    expected = jax.jit(jax.jacfwd(place_after, (0, 1)))(NUMBERS, start, time)
    np.testing.assert_allclose(by_numbers[0], expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_place, [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(by_numbers[1], [0, 0, 0, 0, 1], atol=1e-12)


def test_its_multipliers_are_one_and_nought():
    # Autonomous: one is 1; whoever sticks has forgotten all but where it is: the other 0.
    period, sticks, first, _ = stick_slip(NUMBERS)
    start = jnp.stack([first + 0.3 * BELT * sticks, jnp.asarray(BELT)])
    matrix = jax.jit(
        jax.jacfwd(lambda s: jv.flow(on_a_belt(NUMBERS), s, 0.0, float(period)))
    )(start)
    multipliers = np.sort(np.abs(np.linalg.eigvals(matrix)))
    np.testing.assert_allclose(multipliers, [0.0, 1.0], atol=1e-9)


def test_a_body_breaks_away_where_its_load_reaches_the_limit():
    amplitude, frequency, limit = 5.0, 2.0, 3.0
    law = jv.HarmonicLoad(amplitude, frequency, -np.pi / 2)
    nothing = [[0.0]]
    system = jv.ImpactSystem(
        jv.LinearSystem([[MASS]], nothing, nothing),
        (),
        (jv.AppliedLoad([1.0], law),),
        [jv.CoulombFriction([1.0], limit)],
    )
    breaks = np.arcsin(limit / amplitude) / frequency
    before = jv.flow(system, [0.2, 0.0], 0.0, 0.99 * breaks)
    np.testing.assert_array_equal(before, [0.2, 0.0])
    time = 0.9
    gone = np.cos(frequency * breaks) - np.cos(frequency * time)
    speed = (amplitude / frequency * gone - limit * (time - breaks)) / MASS
    end = jv.flow(system, [0.2, 0.0], 0.0, time)
    np.testing.assert_allclose(end[1], speed, rtol=1e-10)


def stack(upper, lower):
    """Return a block of 1 kg on a plank of 3 kg on the ground."""
    nothing = jnp.zeros((2, 2))
    return jv.ImpactSystem(
        jv.LinearSystem(jnp.diag(jnp.asarray([1.0, 3.0])), nothing, nothing),
        frictions=[
            jv.CoulombFriction([1.0, -1.0], upper),
            jv.CoulombFriction([0.0, 1.0], lower),
        ],
    )


@pytest.mark.parametrize(("upper", "lower"), [(4.0, 1.0), (4.0, 6.0), (2.0, 1.999)])
def test_a_block_that_is_thrown_on_a_plank_goes_as_far_as_newton_says(upper, lower):
    speed = 2.0
    dragged = max(upper - lower, 0.0) / 3.0
    meet = speed / (upper + dragged)
    common = dragged * meet
    together = common / (lower / 4.0) if common > 0 else 0.0
    block = (speed + common) / 2 * meet + common / 2 * together
    plank = common / 2 * meet + common / 2 * together
    end = jv.flow(stack(upper, lower), [0.0, 0.0, speed, 0.0], 0.0, 1e4)
    np.testing.assert_allclose(end[:2], [block, plank], rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(end[2:], [0.0, 0.0])
    riding = jv.flow(
        stack(upper, lower), [0.0, 0.0, speed, 0.0], 0.0, meet + 0.5 * together
    )
    assert float(riding[2]) == float(riding[3])


def rubbing_body_with_a_stop():
    contact = jv.Contact([1.0], 0.02, jv.HertzContact(4e4))
    load = jv.AppliedLoad([1.0], jv.HarmonicLoad(8.0, 4.0))
    return jv.ImpactSystem(
        jv.LinearSystem([[MASS]], [[0.4]], [[STIFFNESS]]),
        (contact,),
        (load,),
        [jv.CoulombFriction([1.0], 2.0, 3.5)],
    )


def by_scipy(end):
    """Return the same motion by a solver whose events are the frictions'."""

    def push(t, x, v):
        depth = max(x - 0.02, 0.0)
        return 8.0 * np.cos(4.0 * t) - 0.4 * v - STIFFNESS * x - 4e4 * depth**1.5

    time, x, v, sign, work = 0.0, 0.0, 0.3, 1.0, 0.0
    while time < end:
        if sign:

            def rates(t, s, sign=sign):
                return [s[1], (push(t, *s[:2]) - 2.0 * sign) / MASS, 2.0 * abs(s[1])]

            def stops(t, s):
                return s[1]

            stops.terminal, stops.direction = True, -sign
            done = solve_ivp(
                rates, (time, end), [x, v, work], method="DOP853", rtol=1e-13, atol=1e-15,
                events=stops,
            )  # fmt: skip
            time, (x, v, work) = done.t[-1], done.y[:, -1]
            if done.status != 1:
                break
            v = 0.0
        times = np.linspace(time, end, 400001)
        needed = np.array([push(t, x, 0.0) for t in times[:1]])
        if abs(needed[0]) > 3.5:
            sign = np.sign(needed[0])
            continue
        over = np.abs(
            8.0 * np.cos(4.0 * times) - STIFFNESS * x - 4e4 * max(x - 0.02, 0) ** 1.5
        )
        first = np.argmax(over > 3.5)
        if not over[first] > 3.5:
            break
        low, high = times[first - 1], times[first]
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if abs(push(middle, x, 0.0)) > 3.5 else (middle, high)
        time, sign = high, np.sign(push(high, x, 0.0))
    return np.array([x, v]), work


def test_friction_beside_a_stop_is_the_motion_that_scipy_finds():
    expected, _ = by_scipy(6.0)
    end = jv.flow(rubbing_body_with_a_stop(), [0.0, 0.3], 0.0, 6.0, rtol=1e-12)
    np.testing.assert_allclose(end, expected, atol=1e-9)


@pytest.mark.slow
def test_an_orbit_with_friction_is_den_hartogs():
    # J. P. Den Hartog, Trans. ASME 53 (1931) 107: without stops, static = sliding
    stiffness, mass, amplitude, friction = 100.0, 1.0, 10.0, 3.0
    ratio = 0.8
    frequency = ratio * np.sqrt(stiffness / mass)
    system = jv.ImpactSystem(
        jv.LinearSystem([[mass]], [[0.0]], [[stiffness]]),
        (),
        (jv.AppliedLoad([1.0], jv.HarmonicLoad(amplitude, frequency)),),
        [jv.CoulombFriction([1.0], friction)],
    )
    response = 1 / (1 - ratio**2)
    damping = np.sin(np.pi / ratio) / (ratio * (1 + np.cos(np.pi / ratio)))
    part = np.sqrt(response**2 - (friction / amplitude * damping) ** 2)
    orbit = jv.periodic_orbit(system)
    top = amplitude / stiffness * part
    np.testing.assert_allclose(orbit.amplitude, [top], rtol=1e-8)
    assert int(orbit.stable) == 1


def test_unsupported_uses_of_friction_are_refused_with_a_reason():
    system = on_a_belt(NUMBERS)
    with pytest.raises(ValueError, match="CoulombFriction sticks and slips at events"):
        jv.flow(system, [0.0, 0.0], 0.0, 1.0, engine="diffrax")
    with pytest.raises(ValueError, match="exact motion requires a linear system"):
        jv.propagate(system, [0.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="static = 1 N is not in"):
        jv.CoulombFriction([1.0], 2.0, 1.0)
    with pytest.raises(ValueError, match="direction of a friction = 0"):
        jv.CoulombFriction([0.0], 2.0)
    with pytest.raises(ValueError, match=r"friction 0: direction has shape \(2,\)"):
        jv.ImpactSystem(system.linear, frictions=[jv.CoulombFriction([1.0, 0.0], 1.0)])


def test_a_body_that_stribeck_slows_down_has_its_closed_form():
    sliding, static, pace, start, reached = 3.0, 5.0, 0.2, 1.7, 0.4

    def passed(w):
        """Return the integral of (1 + w/v) / (F (1 + w/v) + E)."""
        u, excess = 1 + w / pace, static - sliding
        return pace * (u / sliding - excess / sliding**2 * np.log(sliding * u + excess))

    friction = jv.CoulombFriction([1.0], sliding, static, 0.0, None, pace)
    system = jv.ImpactSystem(
        jv.LinearSystem([[MASS]], [[0.0]], [[0.0]]), frictions=[friction]
    )
    time = MASS * (passed(start) - passed(reached))
    end = jv.flow(system, [0.0, start], 0.0, time, rtol=1e-11)
    np.testing.assert_allclose(end[1], reached, rtol=1e-10)
    stops = MASS * (passed(start) - passed(0.0))
    assert float(jv.flow(system, [0.0, start], 0.0, 1.001 * stops)[1]) == 0.0
    assert float(jv.flow(system, [0.0, start], 0.0, 0.999 * stops)[1]) > 0.0
    rate = system.equation().vector_field(0.0, jnp.asarray([0.0, start]))[1]
    force = sliding + (static - sliding) / (1 + start / pace)
    np.testing.assert_allclose(rate, -force / MASS, rtol=1e-14)


def on_a_belt_with_stribeck(pace=0.3):
    friction = jv.CoulombFriction([1.0], SLIDING, STATIC, BELT, "belt", pace)
    linear = jv.LinearSystem([[MASS]], [[0.2]], [[STIFFNESS]])
    return jv.ImpactSystem(linear, frictions=[friction])


def test_stick_slip_down_stribecks_curve_is_the_motion_that_scipy_finds():
    # From where the belt lets go: slips until it has the belt's speed again, sticks.
    lets_go = (STATIC - 0.2 * BELT) / STIFFNESS

    def rates(t, s):
        force = SLIDING + (STATIC - SLIDING) / (1 + abs(s[1] - BELT) / 0.3)
        return [s[1], (force - 0.2 * s[1] - STIFFNESS * s[0]) / MASS]

    def same(t, s):
        return s[1] - BELT if t > 1e-2 else -1.0

    same.terminal = True
    slips = solve_ivp(
        rates,
        (0, 9),
        [lets_go, BELT - 1e-11],
        "DOP853",
        rtol=1e-12,
        atol=1e-13,
        events=same,
    )
    catches, place = slips.t[-1], slips.y[0, -1]
    system, start = on_a_belt_with_stribeck(), [lets_go - 0.5 * BELT, BELT]
    middle = jv.flow(system, start, 0.0, 0.5 + 0.4 * catches, rtol=1e-10)
    there = solve_ivp(
        rates, (0, 0.4 * catches), [lets_go, BELT - 1e-11], "DOP853", rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(middle, there.y[:, -1], atol=2e-7)
    sticks = jv.flow(system, start, 0.0, 0.5 + catches + 0.1, rtol=1e-10)
    assert float(sticks[1]) == BELT
    np.testing.assert_allclose(sticks[0], place + 0.1 * BELT, atol=1e-6)


def test_its_speed_is_a_parameter_with_a_slope():
    def end(pace):
        return jv.flow(on_a_belt_with_stribeck(pace), [0.0, 0.9], 0.0, 0.4, rtol=1e-12)

    slope = jax.jit(jax.jacfwd(end))(0.3)
    np.testing.assert_allclose(slope, (end(0.301) - end(0.299)) / 0.002, rtol=1e-4)
    with pytest.raises(ValueError, match="stribeck is given without static"):
        jv.CoulombFriction([1.0], 1.0, stribeck=0.1)


class ExponentialCurve(SlidingLaw):
    """The part exp(-|w|/v) of the excess."""

    speed: jax.Array

    def left(self, excess, speed):
        return excess * jnp.exp(-jnp.abs(speed) / self.speed)

    def steepest(self, excess):
        return excess / self.speed

    def series(self):
        speeds, parts = [], []  # s' = -s |w|' / v

        def term(speed):
            speeds.append(speed / self.speed)
            if (k := len(parts)) == 0:
                parts.append(jnp.exp(-speeds[0]))
            else:
                rates = [(j + 1) * speeds[j + 1] for j in range(k)]
                parts.append(-product_term(rates, parts, k - 1) / k)
            return parts[-1]

        return term


def test_an_own_sliding_law_slows_a_body_down_as_its_closed_form_says():
    sliding, static, pace, start, reached = 3.0, 5.0, 0.2, 1.7, 0.1

    def passed(w):
        """Return the integral of 1 / (F + E exp(-w/v))."""
        return pace / sliding * np.log(sliding * np.exp(w / pace) + static - sliding)

    curve = ExponentialCurve(jnp.asarray(pace))
    friction = jv.CoulombFriction([1.0], sliding, static, curve=curve)
    linear = jv.LinearSystem([[MASS]], [[0.0]], [[0.0]])
    system = jv.ImpactSystem(linear, frictions=[friction])
    time = MASS * (passed(start) - passed(reached))
    end = jv.flow(system, [0.0, start], 0.0, time, rtol=1e-11)
    np.testing.assert_allclose(end[1], reached, rtol=1e-10)
    rate = system.equation().vector_field(0.0, jnp.asarray([0.0, start]))[1]
    force = sliding + (static - sliding) * np.exp(-start / pace)
    np.testing.assert_allclose(rate, -force / MASS, rtol=1e-14)
    with pytest.raises(ValueError, match="curve is given without static"):
        jv.CoulombFriction([1.0], 1.0, curve=curve)
    with pytest.raises(ValueError, match="stribeck and curve are given"):
        jv.CoulombFriction([1.0], 1.0, 2.0, stribeck=0.1, curve=curve)
