"""Checked against: constant friction, closed forms, scipy, energy, VPCS SDND100."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.dynamics.events import Request, integrate_events
from jaxvib.kernels.calls.kernel import kernel
from tests.along import Along

MASS, PULLED, ALONG, DOWN = 2.0, 50.0, [1.0, 0.0], [0.0, 1.0]
# What a block on a floor is told beside the floor's law, unless a test says otherwise.
USUAL = {
    "coefficient": 0.3, "static": 0.5, "belt": 0.0, "stribeck": None, "weight": 10.0,
    "lift": 20.0, "push": 8.0,
}  # fmt: skip
SHAKES, PUSHES, DRAG, AIR = 7.0, 4.0, 0.3, 0.5  # rad/s, rad/s, N s/m, N s/m


def block(law, **given):
    """Return a block on a floor: pulled along by a spring and a load, shaken on it."""
    known = USUAL | given
    sole = jv.ContactFriction(
        ALONG, "floor", known["coefficient"], known["static"], known["belt"],
        stribeck=known["stribeck"],
    )  # fmt: skip
    laws = (
        (DOWN, jv.ConstantLoad(known["weight"])),
        (DOWN, jv.HarmonicLoad(known["lift"], SHAKES)),
        (ALONG, jv.HarmonicLoad(known["push"], PUSHES)),
    )
    return jv.ImpactSystem(
        jv.LinearSystem(MASS * np.eye(2), np.diag([DRAG, AIR]), np.diag([PULLED, 0.0])),
        (jv.Contact(DOWN, 0.0, law, "floor"),),
        tuple(jv.AppliedLoad(*load) for load in laws),
        (sole,),
    )


def rests_on(law, depth, push=8.0):
    """Return the block where its weight holds it still on the floor, and a start there."""
    still = block(law, lift=0.0, push=push)
    return still, jnp.asarray([0.0, depth, 0.3, 0.0])


@pytest.mark.parametrize(
    ("law", "depth"),
    [
        (jv.LinearContact(1e3), 0.01),
        pytest.param(jv.HertzContact(4e4), (10.0 / 4e4) ** (2 / 3), marks=pytest.mark.slow),
    ],
)
def test_under_a_constant_normal_force_it_is_the_constant_friction(law, depth):
    still, start = rests_on(law, depth)
    constant = dataclasses.replace(
        still, frictions=(jv.CoulombFriction(ALONG, 3.0, static=5.0),)
    )
    for time in (1.0, 6.0):
        ends = [jv.flow(each, start, 0.0, time, rtol=1e-11) for each in (still, constant)]
        np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-12)


def test_statics_say_where_a_block_rests_that_friction_then_holds():
    still, _ = rests_on(jv.LinearContact(1e3), 0.01, push=4.9)
    rest = jv.static_equilibrium(still)
    np.testing.assert_allclose(rest.contact_force, [10.0], rtol=1e-12)
    np.testing.assert_allclose(jv.flow(still, rest.state, 0.0, 9.0), rest.state, atol=1e-15)
    torn = block(jv.LinearContact(1e3), lift=0.0, push=5.1)
    assert float(jv.flow(torn, rest.state, 0.0, 0.1)[2]) > 0.0


@pytest.mark.slow  # compiles a motion and a flow of its own, 2 s
def test_a_pad_that_is_let_go_is_the_published_one():
    # VPCS SDND100 as code_aster poses and prints it (V5.01.100, test sdnd100a): 1 kg, 1e4
    # N/m, mu = 0.1, a plane of 20 N/m that is pressed in by 0.5 m; let go 0.85 mm away.
    stiffness, depth = 20.0, 0.5
    pad = jv.ImpactSystem(
        jv.LinearSystem(np.eye(2), np.zeros((2, 2)), np.diag([1e4, 0.0])),
        (jv.Contact(DOWN, 0.0, jv.LinearContact(stiffness), "plane"),),
        (jv.AppliedLoad(DOWN, jv.ConstantLoad(10.0)),),
        (jv.ContactFriction(ALONG, "plane", 0.1),),
    )
    start = jnp.asarray([0.85e-3, depth, 0.0, 0.0])
    times = np.pi / 100 * np.arange(5)
    path = jv.simulate(pad, start, jnp.asarray(times), rtol=1e-11)
    printed = [-4.596e-4, 3.182e-4, -1.768e-4, 3.536e-5]  # along an axis at 45 degrees
    np.testing.assert_allclose(
        path.states[1:, 0] * np.cos(np.pi / 4), printed, rtol=0, atol=5e-8
    )
    exact = 1e-3 * np.array([-0.65, 0.45, -0.25, 0.05])
    np.testing.assert_allclose(path.states[1:, 0], exact, rtol=1e-9)
    np.testing.assert_array_equal(path.states[4, 2], 0.0)
    rest = jv.flow(pad, start, 0.0, 0.3)
    np.testing.assert_allclose(rest, [0.05e-3, depth, 0.0, 0.0], rtol=1e-9, atol=0.0)


# A block that hops on its floor without ever leaving it: N = W + k a cos(W t).
STIFF, SWING, WEIGHT, PULL = 800.0, 5e-3, 10.0, 4.0
HOPS = np.sqrt(STIFF / MASS)


def hopping(numbers):
    coefficient, static, pull = numbers
    sole = jv.ContactFriction(ALONG, 0, coefficient, static)
    loads = (DOWN, jv.ConstantLoad(WEIGHT)), (ALONG, jv.ConstantLoad(pull))
    return jv.ImpactSystem(
        jv.LinearSystem(MASS * np.eye(2), np.zeros((2, 2)), np.zeros((2, 2))),
        (jv.Contact(DOWN, 0.0, jv.LinearContact(STIFF)),),
        tuple(jv.AppliedLoad(*load) for load in loads),
        (sole,),
    )


def lets_go(numbers):
    """Return when the limit falls to the pull, s."""
    return jnp.arccos((numbers[2] / numbers[1] - WEIGHT) / (STIFF * SWING)) / HOPS


def slid_away(numbers, time):
    """Return place and speed of the block after it has slid, which has not ended."""
    coefficient, _, pull = numbers
    begin = lets_go(numbers)
    passed, swing = time - begin, coefficient * STIFF * SWING / MASS
    steady = (pull - coefficient * WEIGHT) / MASS
    sines = jnp.sin(HOPS * time) - jnp.sin(HOPS * begin)
    turns = jnp.cos(HOPS * time) - jnp.cos(HOPS * begin)
    speed = steady * passed - swing / HOPS * sines
    early = passed * jnp.sin(HOPS * begin)
    return steady * passed**2 / 2 + swing / HOPS * (turns / HOPS + early), speed


@pytest.mark.slow  # compiles derivatives of its own, 3 s
def test_a_block_on_a_floor_that_shakes_slips_where_its_limit_falls_to_the_pull():
    numbers, time = jnp.asarray([0.3, 0.5, PULL]), 0.16
    start = jnp.asarray([0.0, WEIGHT / STIFF + SWING, 0.0, 0.0])
    begin = float(lets_go(numbers))
    assert 0.05 < begin < time

    def end(numbers, time):
        state = jv.flow(hopping(numbers), start, 0.0, time, rtol=1e-11)
        return jnp.stack([state[0], state[2]])

    np.testing.assert_array_equal(end(numbers, begin * (1 - 1e-9)), [0.0, 0.0])
    assert float(end(numbers, begin * (1 + 1e-4))[1]) > 0.0
    there = jnp.stack(slid_away(numbers, time))
    np.testing.assert_allclose(end(numbers, time), there, rtol=1e-9)
    slopes = jax.jacfwd(lambda n: jnp.stack(slid_away(n, time)))(numbers)
    np.testing.assert_allclose(jax.jacfwd(end)(numbers, time), slopes, rtol=1e-8)


class BySolver:
    """The block by scipy, from event to event: what slides, sticks, or is in the air."""

    def __init__(self, normal, **given):
        """Take a law as a function of z and its rate, and what `block` takes."""
        self.law, self.known = normal, USUAL | given

    def normal(self, s):
        return max(self.law(s[1], s[3]), 0.0) if self.closed else 0.0

    def pull(self, t, s):
        return self.known["push"] * np.cos(PUSHES * t) - PULLED * s[0] - DRAG * s[2]

    def share(self, w):
        kinetic, static, slow = (
            self.known[name] for name in ("coefficient", "static", "stribeck")
        )
        return (
            kinetic if slow is None else kinetic + (static - kinetic) / (1 + abs(w) / slow)
        )

    def rates(self, t, s):
        load = self.known["weight"] + self.known["lift"] * np.cos(SHAKES * t)
        falls = (load - AIR * s[3] - self.normal(s)) / MASS
        if self.sign == 0:
            return [s[2], s[3], 0.0, falls]
        rubs = self.sign * self.share(s[2] - self.known["belt"]) * self.normal(s)
        return [s[2], s[3], (self.pull(t, s) - rubs) / MASS, falls]

    def beyond(self, t, s):
        return abs(self.pull(t, s)) - self.known["static"] * self.normal(s)

    def turned(self, t, s):
        """Return the sign of sliding from now on, 0 of what sticks."""
        w = s[2] - self.known["belt"]
        if w == 0 and self.beyond(t, s) > 0:
            return np.sign(self.pull(t, s))
        return np.sign(w)

    def end(self, state, end):
        """Return the end of a motion, and what happened on its way."""
        t, s, story = 0.0, np.array(state, float), ""
        self.closed = s[1] > 0
        self.sign = self.turned(t, s)
        while t < end:
            story += "0+-"[int(self.sign)] if self.closed else "o"
            if self.closed and self.sign == 0:
                events = [lambda t, s: s[1], self.beyond]
                ways = [-1, 1]
            else:
                events = [lambda t, s: s[1], lambda t, s: s[2] - self.known["belt"]]
                ways = [-1 if self.closed else 1, -self.sign]
            events = [lambda t, s, f=f: f(t, s) for f in events]
            for event, way in zip(events, ways, strict=True):
                event.terminal, event.direction = True, way
            done = solve_ivp(
                self.rates, (t, end), s, method="DOP853", rtol=1e-13, atol=1e-15,
                events=events, max_step=0.05,
            )  # fmt: skip
            t, s = done.t[-1], done.y[:, -1].copy()
            if done.status != 1:
                break
            if done.t_events[0].size:
                s[1], self.closed = 0.0, not self.closed
                self.sign = self.turned(t, s)
            elif self.closed and self.sign == 0:
                self.sign = np.sign(self.pull(t, s))
            else:
                s[2] = self.known["belt"]
                self.sign = self.turned(t, s) or 0.0
        return s, story


ELASTIC = {
    "linear": (jv.LinearContact(1e3), lambda z, w: 1e3 * z),
    "hertz": (jv.HertzContact(4e4), lambda z, w: 4e4 * max(z, 0.0) ** 1.5),
    "hunt-crossley": (
        jv.HuntCrossleyContact(4e4, 0.4),
        lambda z, w: 4e4 * max(z, 0.0) ** 1.5 * (1 + 0.4 * w),
    ),
    "bump stop": (
        jv.PiecewiseLinearContact([5e2, 3e3], [0.01]),
        lambda z, w: 5e2 * z + 2.5e3 * max(z - 0.01, 0.0),
    ),
}
MILD = {"lift": 8.0, "belt": 0.1}
FALLING = {"stribeck": 0.2, "belt": -0.1}
START = [0.0, 0.01, 0.3, 0.0]


@pytest.mark.parametrize(
    ("kind", "given", "until"),
    [
        ("linear", MILD, 5.0),
        pytest.param("hertz", FALLING, 3.0, marks=pytest.mark.slow),
        *(
            pytest.param(kind, given, 3.0, marks=pytest.mark.slow)
            for kind in ("linear", "hunt-crossley", "bump stop")
            for given in ({}, FALLING)
        ),
    ],
)
def test_a_block_that_leaves_its_floor_is_the_motion_that_scipy_finds(kind, given, until):
    law, normal = ELASTIC[kind]
    expected, story = BySolver(normal, **given).end(START, until)
    assert {"o", "+", "-"} <= set(story)
    assert "0" in story
    end = jv.flow(block(law, **given), START, 0.0, until, rtol=1e-12)
    np.testing.assert_allclose(end, expected, atol=1e-8)


def test_a_body_that_sticks_on_a_belt_has_its_speed_to_the_last_digit():
    start = jnp.asarray([0.0, 0.01, 0.1, 0.0])
    riding = block(jv.LinearContact(1e3), lift=4.0, push=0.0, belt=0.1, weight=20.0)
    end = jv.flow(riding, start, 0.0, 0.5)
    assert float(end[2]) == 0.1
    np.testing.assert_allclose(end[0], 0.05, rtol=1e-14)


def test_a_block_that_falls_straight_down_begins_to_stick_where_it_can():
    falls = jnp.asarray([0.0, -0.1, 0.0, 0.0])
    straight = block(jv.HertzContact(4e4), push=0.0)
    end = jv.flow(straight, falls, 0.0, 2.0)
    np.testing.assert_array_equal(end[jnp.array([0, 2])], 0.0)


@pytest.mark.parametrize("grows", [10.0, 60.0])
def test_a_pull_that_begins_as_it_lands_tears_it_off_if_it_outruns_the_limit(grows):
    # N = k w t and the pull g t at first: 0.5 k w = 50 N/s
    stiffness, speed, time = 1e3, 0.1, 0.03
    pull = jv.AppliedLoad(ALONG, jv.RampLoad(grows, 0.0, 1.0))
    lands = jv.ImpactSystem(
        jv.LinearSystem(MASS * np.eye(2), np.zeros((2, 2)), np.zeros((2, 2))),
        (jv.Contact(DOWN, 0.0, jv.LinearContact(stiffness)),),
        (pull,),
        (jv.ContactFriction(ALONG, 0, 0.3, static=0.5),),
    )
    start = jnp.asarray([0.0, 0.0, 0.0, speed])
    end = jv.flow(lands, start, 0.0, time, rtol=1e-11)
    rate = np.sqrt(stiffness / MASS)
    turned = stiffness * speed / rate**2 * (1 - np.cos(rate * time))
    slid = (grows * time**2 / 2 - 0.3 * turned) / MASS
    assert float(end[2]) == pytest.approx(slid if grows > 50 else 0.0, rel=1e-9, abs=0.0)


def test_a_jump_of_another_contacts_force_ends_sticking():
    # A damped stop hits a block that 5 N hold with 20 N, which fall at once.
    struck = jv.ImpactSystem(
        jv.LinearSystem(np.eye(2), np.zeros((2, 2)), np.zeros((2, 2))),
        (jv.Contact([-1.0, 1.0], 0.05, jv.KelvinVoigtContact(1.0, 20.0)),),
        frictions=(jv.CoulombFriction(ALONG, 5.0),),
    )

    def rates(t, s):
        push = s[1] - s[0] - 0.05 + 20.0 * (s[3] - s[2])
        return [s[2], s[3], push - 5.0, -push]

    settings = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14}
    slides = solve_ivp(rates, (0.0, 0.15), [0.0, 0.05, 0.0, 1.0], **settings).y
    assert slides[2, 1:].min() > 0
    end = jv.flow(struck, jnp.asarray([0.0, 0.0, 0.0, 1.0]), 0.0, 0.2, rtol=1e-11)
    np.testing.assert_allclose(end, slides[:, -1], rtol=1e-9)


@pytest.mark.slow  # compiles three systems, 9 s
def test_frictions_side_by_side_hold_and_slide_as_their_sum():
    # 0.5 of 10 N and 2 N hold, 0.3 of 10 N and 1 N slide; one is told the other way round.
    still, start = rests_on(jv.LinearContact(1e3), 0.01, push=5.0)
    belt = 0.1
    pair = (
        jv.ContactFriction([-1.0, 0.0], "floor", 0.3, static=0.5, speed=-belt),
        jv.CoulombFriction(ALONG, 1.0, static=2.0, speed=belt),
    )
    one = (jv.CoulombFriction(ALONG, 4.0, static=7.0, speed=belt),)
    times = jnp.linspace(0.0, 5.0, 51)
    ways = [
        jv.simulate(dataclasses.replace(still, frictions=each), start, times, rtol=1e-11)
        for each in (one, pair, pair[::-1])
    ]
    expected, *found = [np.asarray(way.states) for way in ways]
    for states in found:
        np.testing.assert_allclose(states, expected, rtol=1e-9, atol=1e-12)
    assert 0.05 < np.mean(expected[:, 2] == belt) < 0.95


def held_by_flanks(numbers):
    """Return a body in a play of gears that rubs on both flanks, and on its table."""
    coefficient, play, force = numbers
    linear = jv.LinearSystem(
        MASS * jnp.eye(2), 0.2 * jnp.eye(2), jnp.diag(jnp.asarray([PULLED, 3.0]))
    )
    flanks = jv.backlash(jnp.asarray(DOWN), play, jv.HertzContact(3e4), "play")
    rubs = [
        jv.ContactFriction(ALONG, name, coefficient, 1.4 * coefficient)
        for name in ("play-ahead", "play-behind")
    ]
    table = jv.CoulombFriction(ALONG, force, static=1.3 * force)
    loads = (DOWN, jv.HarmonicLoad(15.0, 6.0)), (ALONG, jv.HarmonicLoad(4.0, 4.0))
    return jv.ImpactSystem(
        linear, flanks, [jv.AppliedLoad(*load) for load in loads], [*rubs, table]
    )


def work(numbers, state, time):
    """Return the change of energy less all work, J, and the result of the motion."""
    system = held_by_flanks(numbers)
    equation = system.equation()

    def powers(t, state):
        """Return those of loads, dampers and frictions, W."""
        speeds = state[2:]
        loads = sum(load.direction @ speeds * load.law.force(t) for load in system.loads)
        depths = equation.penetrations(state)
        normal = equation.contact_forces(depths, equation.closing_rates(state)).sum()
        rubbed = (numbers[0] * normal + numbers[2]) * jnp.abs(speeds[0])
        return jnp.stack([loads, -0.2 * speeds @ speeds, -rubbed])

    def energy(state):
        springs = jnp.asarray([PULLED, 3.0]) @ state[:2] ** 2 + MASS * state[2:] @ state[2:]
        depths = equation.penetrations(state)
        laws = [contact.law for contact in system.contacts]
        return springs / 2 + sum(law.energy(z) for law, z in zip(laws, depths, strict=True))

    end = integrate_events(
        equation, state, 0.0, time, 1e-12, Request(measure=Along(powers))
    )
    return energy(end.state) - energy(state) - end.integral.sum(), end.result, end.state


@pytest.mark.slow
def test_random_bodies_in_a_play_keep_their_balance_of_energy():
    count, draw = 3000, np.random.default_rng(2)
    numbers = draw.uniform([0.05, 0.0, 0.0], [0.8, 0.02, 2.0], (count, 3))
    starts = draw.uniform([-0.1, 0, -0.5, -0.3], [0.1, 0, 0.5, 0.3], (count, 4))
    go = jax.jit(jax.vmap(kernel(work), (0, 0, None)))
    left, result, ends = go(jnp.asarray(numbers), jnp.asarray(starts), 4.0)
    np.testing.assert_array_equal(result, 0)
    np.testing.assert_allclose(left, 0.0, atol=1e-9)
    assert 0.02 < np.mean(np.asarray(ends[:, 2]) == 0) < 0.98


@pytest.mark.slow
def test_derivatives_through_sticking_sliding_and_parting_are_those_of_differences():
    law, given = jv.HertzContact(4e4), jnp.asarray([0.3, 0.5, 0.1, 20.0])

    def end(numbers):
        coefficient, static, belt, lift = numbers
        known = {"coefficient": coefficient, "static": static, "belt": belt, "lift": lift}
        return jv.flow(block(law, **known), jnp.asarray(START), 0.0, 2.5, rtol=1e-12)

    step = 1e-6
    around = step * jnp.concatenate([jnp.eye(4), -jnp.eye(4)])
    ends = jax.jit(jax.vmap(end))(given[None] + around)
    differences = (ends[:4] - ends[4:]).T / (2 * step)
    columns = jax.jit(jax.jacfwd(end))(given)
    size = np.abs(differences).max(axis=1, keepdims=True)
    np.testing.assert_allclose(columns / size, differences / size, atol=1e-6)
    by_mu = jax.jit(jax.grad(lambda mu: end(given.at[0].set(mu))[0]))(given[0])
    np.testing.assert_allclose(by_mu, columns[0, 0], rtol=1e-9)


def test_its_force_is_mu_times_the_contacts():
    equation = block(jv.HuntCrossleyContact(4e4, 0.4), stribeck=0.2).equation()
    state = jnp.asarray([0.02, 0.01, 0.3, 0.2])
    normal = 4e4 * 0.01**1.5 * (1 + 0.4 * 0.2)
    share = 0.3 + 0.2 / (1 + 0.3 / 0.2)
    pull = 8.0 - PULLED * 0.02 - DRAG * 0.3
    rate = equation.vector_field(0.0, state)[2]
    np.testing.assert_allclose(rate, (pull - share * normal) / MASS, rtol=1e-13)
    apart = equation.vector_field(0.0, state.at[1].set(-0.01))[2]
    np.testing.assert_allclose(apart, pull / MASS, rtol=1e-13)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"coefficient": -0.1}, "coefficient = -0.1 is not in"),
        ({"static": 0.1}, r"static = 0.1 is not in \[0.3, inf\)"),
        ({"contact": "flor"}, "sole.contact: unknown contact 'flor'; did you mean 'floor'"),
        ({"contact": 2}, "sole.contact = 2; allowed: the name or the position of one of 2"),
        ({"contact": "wall"}, "sole.contact = 'wall' is a hard stop.*is an impulse"),
        ({"direction": [0.0, 0.0]}, "direction of a friction = 0"),
        ({"static": None, "stribeck": 0.1}, "stribeck is given without static"),
    ],
)
def test_bad_numbers_and_contacts_are_named(given, message):
    usual = {"direction": ALONG, "contact": "floor", "coefficient": 0.3, "static": 0.4}
    floor = jv.Contact(DOWN, 0.0, jv.LinearContact(1e3), "floor")
    wall = jv.Contact(DOWN, 0.1, jv.RestitutionContact(0.5), "wall")
    linear = jv.LinearSystem(np.eye(2), np.zeros((2, 2)), np.eye(2))

    def built():
        sole = jv.ContactFriction(**usual | given, name="sole")
        return jv.ImpactSystem(linear, (floor, wall), frictions=(sole,))

    with pytest.raises(ValueError, match=message):
        built()


def test_systems_without_an_engine_are_refused_with_a_reason():
    still, start = rests_on(jv.LinearContact(1e3), 0.01)
    with pytest.raises(ValueError, match="ContactFriction sticks and slips at events"):
        jv.flow(still, start, 0.0, 1.0, engine="diffrax")
    soft = block(jv.PowerContact(1e3, 1.2))
    with pytest.raises(ValueError, match="PowerContact has no event-driven form"):
        jv.flow(soft, start, 0.0, 1.0)
