"""Checked against: the closed form of stick-slip on a belt; scipy, phase by phase."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import jaxvib as jv
from tests.dynamics.test_elements import PATCH
from tests.dynamics.test_friction import BELT, NUMBERS, on_a_belt, stick_slip

PERIOD, STICKS, FIRST, TOP = (float(number) for number in stick_slip(NUMBERS))
LETS_GO = FIRST + BELT * STICKS
belt = on_a_belt(NUMBERS)


@pytest.mark.parametrize(
    ("start", "guess"),
    [
        ([FIRST + 0.3 * BELT * STICKS, BELT], PERIOD),
        ([TOP - 1e-3, 0.0], 0.85 * PERIOD),
        ([LETS_GO, BELT], PERIOD),
        ([FIRST, BELT], 1.2 * PERIOD),
        ([0.3, 1.0], PERIOD),
    ],
    ids=["sticking", "sliding", "where it lets go", "where it is caught", "far outside"],
)
def test_a_body_on_a_belt_has_the_period_and_the_multipliers_of_its_closed_form(
    start, guess
):
    cycle = jv.periodic_orbit(belt, start, period=guess)
    assert abs(cycle.period - PERIOD) < cycle.period_error < 1e-11
    np.testing.assert_allclose(cycle.highest, [TOP], rtol=1e-12)
    # A body that has stuck has forgotten all but its phase.
    np.testing.assert_allclose(cycle.floquet_multipliers, [1.0, 0.0], atol=1e-12)
    assert cycle.multiplier_error < 1e-8
    assert int(cycle.stable) == 1


@pytest.mark.parametrize("guess", [0.95, 1.1])
def test_a_body_that_slides_without_damping_has_one_of_a_family_of_cycles(guess):
    # a harmonic motion about the place of the friction's force, slower than the belt
    mass, stiffness, sliding, _, _ = map(float, NUMBERS)
    period = 2 * np.pi * np.sqrt(mass / stiffness)
    start = [sliding / stiffness, 0.4 * BELT]
    found = jv.periodic_orbit(belt, start, period=guess * period, throw=False)
    # Newton's method may end on one by chance
    assert int(found.result) == jv.Reason.SINGULAR or guess > 1
    assert int(found.stable) == -1
    assert float(found.period) == pytest.approx(period, rel=1e-9)
    np.testing.assert_allclose(found.floquet_multipliers, 1.0, atol=1e-9)
    assert found.residual < 1e-10


def test_a_body_that_stays_stuck_has_no_cycle():
    on_the_ground = on_a_belt(NUMBERS.at[4].set(0.0))
    found = jv.periodic_orbit(on_the_ground, [0.2, 0.1], period=1.0, throw=False)
    assert int(found.result) == jv.Reason.EQUILIBRIUM


def test_a_guess_or_a_parameter_that_is_not_finite_is_the_reason():
    found = jv.periodic_orbit(belt, [np.nan, 0.1], period=PERIOD, throw=False)
    assert int(found.result) == jv.Reason.BAD_PARAMETER
    with pytest.raises(RuntimeError, match="not finite"):
        jv.periodic_orbit(belt, [np.nan, 0.1], period=PERIOD)


@pytest.mark.slow
def test_samples_without_a_cycle_do_not_change_their_neighbours():
    speeds = jnp.array([0.1, 0.05, 0.0, np.nan, -0.1])  # SIMD maxima of 5 leave out NaN
    cycle = jax.vmap(
        lambda speed: jv.periodic_orbit(
            on_a_belt(NUMBERS.at[4].set(speed)), [0.06, -0.3], period=1.2
        )
    )(speeds)
    rests, bad = jv.Reason.EQUILIBRIUM, jv.Reason.BAD_PARAMETER
    assert cycle.result.tolist() == [0, 0, rests, bad, 0]
    periods = [stick_slip(NUMBERS.at[4].set(abs(speed)))[0] for speed in speeds]
    periods = np.where(cycle.result == 0, periods, np.nan)
    np.testing.assert_allclose(cycle.period, periods, rtol=1e-11)


def test_a_period_or_samples_that_are_missing_are_named():
    with pytest.raises(ValueError, match="find limit cycles by their `period`"):
        jv.periodic_orbit(belt, [0.1, 0.0])
    speeds = {"frictions.0.speed": [0.1]}
    with pytest.raises(ValueError, match="find limit cycles by their `period`"):
        jv.orbits.regimes(belt, speeds)
    with pytest.raises(ValueError, match=r"frictions.0.speed = \[\]; allowed: one"):
        jv.orbits.regimes(belt, {"frictions.0.speed": []}, period=1.3)


def test_a_period_of_bodies_with_elements_is_refused():
    element = jv.StateElement([1.0], PATCH, "element")
    system = jv.ImpactSystem(belt.linear, elements=(element,))
    loss = {"elements.element.law.coupling": [0.05]}
    for call in (
        lambda: jv.periodic_orbit(system, [0.1, 0.0, 0.0], period=1.0),
        lambda: jv.orbits.regimes(system, loss, period=1.0),
        lambda: jv.basins(system, np.zeros((1, 3)), period=1.0),
    ):
        with pytest.raises(ValueError, match=r"period = 1\.0 of bodies with elements"):
            call()


def test_regimes_name_settings_that_do_not_fit():
    speeds, settings = {"frictions.0.speed": [0.1]}, jv.orbits.SettlingSettings(64, 2)
    with pytest.raises(ValueError, match="max_periods = 2; regimes of an autonomous"):
        jv.orbits.regimes(belt, speeds, settings=settings, period=1.3)
    with pytest.raises(ValueError, match=r"period = 0 s"):
        jv.orbits.regimes(belt, speeds, period=0.0)
    with pytest.raises(ValueError, match=r"period = 1\.3 of a non-autonomous system"):
        jv.orbits.regimes(jv.two_body_impact(), {"load.frequency": [5.0]}, period=1.3)


@pytest.mark.slow
def test_slopes_of_period_and_amplitude_are_those_of_the_closed_form():
    def by_shooting(numbers):
        cycle = jv.periodic_orbit(on_a_belt(numbers), [0.06, -0.3], period=1.2)
        return jnp.stack([cycle.period, cycle.amplitude[0]])

    def by_hand(numbers):
        period, _, _, top = stick_slip(numbers)
        middle = numbers[2] / numbers[1]
        return jnp.stack([period, top - middle])

    expected = jax.jacfwd(by_hand)(NUMBERS)
    np.testing.assert_allclose(jax.jacfwd(by_shooting)(NUMBERS), expected, atol=1e-12)
    by_period = jax.grad(lambda numbers: by_shooting(numbers)[0])(NUMBERS)
    np.testing.assert_allclose(by_period, expected[0], atol=1e-12)
    speeds = jnp.asarray([0.05, 0.1, 0.2])
    batch = jax.vmap(lambda speed: by_shooting(NUMBERS.at[4].set(speed)))(speeds)
    each = [by_hand(NUMBERS.at[4].set(speed)) for speed in speeds]
    np.testing.assert_allclose(batch, each, rtol=1e-11)


def until(rates, start, event):
    """Return the time and the state at an event, by scipy."""
    event.terminal = True
    settings = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    found = solve_ivp(rates, (0.0, 9.0), start, events=event, **settings)
    return found.t[-1], found.y[:, -1]


class TwoBodies:
    """A body on a belt, coupled to a second one by a spring and a damper, in scipy."""

    speed = BELT
    sliding, static, mass, spring, coupling, damper = 3.0, 5.0, 2.0, 50.0, 20.0, 0.4

    def system(self, speed=BELT):
        coupled = np.array([[1.0, -1.0], [-1.0, 1.0]])
        linear = jv.LinearSystem(
            np.diag([self.mass, 1.0]),
            self.damper * coupled,
            self.coupling * coupled + np.diag([self.spring, 0.0]),
        )
        friction = jv.CoulombFriction([1.0, 0.0], self.sliding, self.static, speed)
        return jv.ImpactSystem(linear, frictions=[friction])

    def pull(self, s):
        """Return the force on the body on the belt without friction, N."""
        joined = self.coupling * (s[1] - s[0]) + self.damper * (s[3] - s[2])
        return joined - self.spring * s[0], -joined

    def sticking(self, t, s):
        return [self.speed, s[3], 0.0, self.pull(s)[1]]

    def slipping(self, t, s):
        mine, other = self.pull(s)
        return [s[2], s[3], (mine + self.sliding) / self.mass, other]

    def released(self, rest):
        """Return the state where the belt lets go, given the second body's motion."""
        place, velocity = rest
        pulled = self.static + self.coupling * place + self.damper * (velocity - self.speed)
        return [pulled / (self.spring + self.coupling), place, self.speed, velocity]

    def returned(self, rest):
        """Return the second body's motion at the next release, and the time between."""
        slips, caught = until(
            self.slipping,
            self.released(rest),
            lambda t, s: s[2] - self.speed if t > 1e-3 else -1.0,
        )
        caught[2] = self.speed
        sticks, end = until(
            self.sticking, caught, lambda t, s: self.pull(s)[0] + self.static
        )
        return end[[1, 3]], slips + sticks


@pytest.mark.slow
def test_two_bodies_have_the_period_and_the_multipliers_of_scipys_return_map():
    bodies = TwoBodies()
    cycle = jv.periodic_orbit(bodies.system(), [0.1] * 4, period=1.3)
    rest = fsolve(lambda rest: bodies.returned(rest)[0] - rest, [0.05, 0.1], xtol=1e-13)
    again, period = bodies.returned(rest)
    np.testing.assert_allclose(again, rest, atol=1e-11)
    np.testing.assert_allclose(cycle.period, period, rtol=1e-9)
    step = 1e-5
    columns = [
        (bodies.returned(rest + d)[0] - bodies.returned(rest - d)[0]) / (2 * step)
        for d in step * np.eye(2)
    ]
    pair = np.linalg.eigvals(np.stack(columns, axis=1))
    expected = [1.0, *pair[np.argsort(-pair.imag)], 0.0]
    found = np.asarray(cycle.floquet_multipliers)
    np.testing.assert_allclose(found[[0, *(1 + np.argsort(-found[1:3].imag)), 3]], expected,
                               atol=1e-7)  # fmt: skip

    def numbers(speed):
        cycle = jv.periodic_orbit(bodies.system(speed), [0.1] * 4, period=1.3)
        return jnp.stack([cycle.period, cycle.largest_multiplier])

    step = 1e-4
    differences = (numbers(BELT + step) - numbers(BELT - step)) / (2 * step)
    np.testing.assert_allclose(jax.jacfwd(numbers)(BELT), differences, rtol=1e-5)


@pytest.mark.slow
def test_a_body_that_a_belt_carries_to_a_stop_has_the_period_of_its_closed_form():
    gap, back = 0.085, 0.5  # m; the coefficient of restitution
    stop = jv.Contact([1.0], gap, jv.RestitutionContact(back))
    stopped = jv.ImpactSystem(belt.linear, (stop,), (), belt.frictions)
    cycle = jv.periodic_orbit(stopped, [0.06, -0.3], period=1.2)
    # It strikes while it sticks, and slides back about the centre of sliding.
    mass, stiffness, sliding, _, _ = np.asarray(NUMBERS)
    rate, depth = np.sqrt(stiffness / mass), gap - sliding / stiffness
    size = np.hypot(depth, back * BELT / rate)
    begins = np.arctan2(back * BELT / rate, depth)  # x = centre + size cos(angle)
    caught = np.pi + np.arcsin(BELT / (size * rate))
    slips = (caught - begins) / rate
    sticks = (gap - sliding / stiffness - size * np.cos(caught)) / BELT
    np.testing.assert_allclose(cycle.period, slips + sticks, rtol=1e-11)
    np.testing.assert_allclose(cycle.floquet_multipliers, [1.0, 0.0], atol=1e-11)


@pytest.mark.slow
def test_a_sledge_that_is_pulled_slips_and_sticks_and_moves_on_as_scipy_says():
    damper, pull, sliding, static, stiffness = 30.0, 6.0, 3.0, 5.0, 20.0
    system = jv.ImpactSystem(
        jv.LinearSystem(
            np.diag([1.0, 2.0]),
            np.diag([damper, 0.0]),
            stiffness * np.array([[1.0, -1.0], [-1.0, 1.0]]),
        ),
        loads=[jv.AppliedLoad([1.0, 0.0], jv.ConstantLoad(pull))],
        frictions=[jv.CoulombFriction([0.0, 1.0], sliding, static)],
    )
    system = jv.drifting(system, {"0": 1.0, "1": 1.0})
    cycle = jv.periodic_orbit(system, [0.0, -0.2, 0.1, 0.0], period=2.0)

    def towed(s):
        return pull - damper * s[2] - stiffness * (s[0] - s[1])

    def sticking(t, s):
        return [s[2], 0.0, towed(s), 0.0]

    def slipping(t, s):
        return [s[2], s[3], towed(s), (stiffness * (s[0] - s[1]) - sliding) / 2.0]

    state, times, places = np.array([0.25, 0.0, 0.1, 0.0]), [], []
    for _ in range(4):
        slips, state = until(slipping, state, lambda t, s: s[3] if t > 1e-3 else 1.0)
        state[3] = 0.0
        sticks, state = until(
            sticking, state, lambda t, s: stiffness * (s[0] - s[1]) - static
        )
        times.append(slips + sticks)
        places.append(state[1])
    np.testing.assert_allclose(cycle.period, times[-1], rtol=1e-9)
    np.testing.assert_allclose(cycle.progress, places[-1] - places[-2], rtol=1e-9)
    np.testing.assert_allclose(
        cycle.floquet_multipliers[jnp.array([0, 3])], [1.0, 0.0], atol=1e-9
    )
