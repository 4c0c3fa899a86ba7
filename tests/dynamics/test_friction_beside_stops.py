"""Checked against: closed forms by pieces, events by scipy, saltation, statics, energy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import jaxvib as jv
from jaxvib.dynamics.events import Request, integrate_events
from jaxvib.dynamics.flow import observe_with_monodromy
from jaxvib.kernels.calls.kernel import kernel
from tests.along import Along

ONE = jnp.ones(1)


def rubbing(numbers):
    """Return m x'' + c x' + k x = A cos(w t) - R on a belt, with a hard stop at x = d."""
    mass, damping, stiffness, amplitude, frequency, restitution, stop = numbers[:7]
    return jv.ImpactSystem(
        jv.LinearSystem(*(x * jnp.eye(1) for x in (mass, damping, stiffness))),
        (jv.Contact(ONE, stop, jv.RestitutionContact(restitution)),),
        (jv.AppliedLoad(ONE, jv.HarmonicLoad(amplitude, frequency)),),
        [jv.CoulombFriction(ONE, *numbers[7:])],
    )


class ByPieces:
    """Each flight a damped linear piece; `sign` of its sliding, 0 while it sticks."""

    def __init__(self, numbers):
        m, c, k, a, self.w, self.e, self.stop, self.f, self.limit, self.belt = numbers
        self.m, self.c, self.k, self.amplitude = m, c, k, a
        self.matrix = np.array([[0.0, 1.0], [-k / m, -c / m]])
        self.response = a / (k - m * self.w**2 + 1j * c * self.w)

    def particular(self, t, sign):
        wave = self.response * np.exp(1j * self.w * t)
        return np.array([wave.real - sign * self.f / self.k, (1j * self.w * wave).real])

    def after(self, state, t0, t, sign):
        """Return the state at a later time, and its derivative by the first."""
        if sign == 0:
            state = np.array([state[0] + self.belt * (t - t0), self.belt])
            return state, np.array([[1.0, 0.0], [0.0, 0.0]])
        free = scipy.linalg.expm(self.matrix * (t - t0))
        there = self.particular(t, sign) + free @ (state - self.particular(t0, sign))
        return there, free

    def many(self, state, t0, times, sign):
        if sign == 0:
            spans = times - t0
            return np.stack([state[0] + self.belt * spans, 0 * spans + self.belt])
        rates, shapes = np.linalg.eig(self.matrix)
        start = np.linalg.solve(shapes, (state - self.particular(t0, sign)).astype(complex))
        waves = shapes @ (start[:, None] * np.exp(np.outer(rates, times - t0)))
        return waves.real + np.stack([self.particular(t, sign) for t in times]).T

    def pull(self, state, t):
        """Return what friction has to hold, N."""
        push = self.amplitude * np.cos(self.w * t)
        return push - self.c * state[1] - self.k * state[0]

    def rate(self, state, t, sign):
        if sign == 0:
            return np.array([self.belt, 0.0])
        return np.array([state[1], (self.pull(state, t) - sign * self.f) / self.m])

    def signals(self, state, t, sign):
        """Return what is below 0 until an event, each with its slopes by state, time."""
        gap = state[0] - self.stop
        if sign:
            return [gap, -sign * (state[1] - self.belt)]
        pull = self.pull(state, t)
        return [gap, pull - self.limit, -pull - self.limit]

    def slopes(self, event, sign):
        if event == 0:
            return np.array([1.0, 0.0])
        if sign:
            return np.array([0.0, -sign])
        return np.array([-self.k, -self.c]) * (1.0 if event == 1 else -1.0)

    def next_event(self, state, t0, t1, sign):
        times = np.linspace(t0, t1, int(400 * (t1 - t0)) + 3)[1:]
        rows = np.array(
            [
                self.signals(s, t, sign)
                for s, t in zip(self.many(state, t0, times, sign).T, times, strict=True)
            ]
        )
        rising = (rows[1:] > 0) & (rows[:-1] <= 0)
        if not rising.any():
            return None
        first = int(np.argmax(rising.any(1)))
        found = []
        for event in np.flatnonzero(rising[first]):

            def height(t, event=event):
                return self.signals(self.after(state, t0, t, sign)[0], t, sign)[event]

            root = scipy.optimize.brentq(
                height, times[first], times[first + 1], xtol=1e-15, rtol=1e-15
            )
            found.append((root, int(event)))
        return min(found)

    def motion(self, state, t1, sign):
        """Return the state, its derivative by the first, and which events there were."""
        t0, columns, events = 0.0, np.eye(2), []
        state = np.asarray(state, float)
        while (event := self.next_event(state, t0, t1, sign)) is not None:
            t, kind = event
            state, free = self.after(state, t0, t, sign)
            before, old = self.rate(state, t, sign), sign
            reset, name = np.eye(2), "slips"
            if kind == 0:
                state = np.array([self.stop, -self.e * state[1]])
                sign, reset = np.sign(state[1] - self.belt), np.diag([1.0, -self.e])
                name = "strikes"
            elif sign == 0:
                sign = 1.0 if kind == 1 else -1.0
            else:
                held = self.pull(state, t)
                sign = 0.0 if abs(held) <= self.limit else np.sign(held)
                state = np.array([state[0], self.belt])
                name = "turns" if sign else "sticks"
                reset = np.eye(2) if sign else np.diag([1.0, 0.0])
            after, slopes = self.rate(state, t, sign), self.slopes(kind, old)
            passing = slopes @ before
            if old == 0 and kind:
                force = -self.amplitude * self.w * np.sin(self.w * t)
                passing = passing + force * (1.0 if kind == 1 else -1.0)
            salted = reset + np.outer(after - reset @ before, slopes) / passing
            columns, t0 = salted @ free @ columns, t
            events.append(name)
        state, free = self.after(state, t0, t1, sign)
        return state, free @ columns, events


# mass, damping, stiffness, amplitude, frequency, restitution, stop, sliding, static, belt
NUMBERS = np.array(
    [
        [2.0, 0.4, 50.0, 8.0, 4.0, 0.7, 0.05, 1.5, 2.0, 0.0],
        [2.0, 0.4, 50.0, 8.0, 3.1, 0.8, 0.10, 2.0, 3.5, 0.0],
        [2.0, 0.1, 50.0, 0.3, 2.0, 0.5, 0.07, 3.0, 5.0, 0.1],
        [1.0, 0.2, 40.0, 9.0, 5.0, 0.9, 0.00, 1.0, 1.0, 0.0],
    ]
)
STATES = np.array([[0.0, 0.3], [0.0, 0.2], [0.0, 0.4], [-0.1, 0.5]])
SPAN = 7.3


@functools.partial(jax.jit, static_argnames="rtol")
def seen(numbers, states, rtol=1e-12):
    def one(numbers, state):
        return observe_with_monodromy(
            rubbing(numbers), state, 0.0, SPAN, rtol=rtol, grazing=1e-9
        )

    return jax.vmap(one)(numbers, states)


@pytest.mark.slow
def test_motions_and_columns_are_the_closed_forms_by_pieces():
    found = seen(jnp.asarray(NUMBERS), jnp.asarray(STATES))
    happened = set()
    for lane, numbers in enumerate(NUMBERS):
        closed = ByPieces(numbers)
        sign = np.sign(STATES[lane][1] - closed.belt)
        state, columns, events = closed.motion(STATES[lane], SPAN, sign)
        happened |= set(events)
        np.testing.assert_allclose(found.state[lane], state, rtol=0, atol=1e-9)
        scale = max(np.abs(columns).max(), 1.0)
        ours = found.monodromy[lane]
        np.testing.assert_allclose(ours, columns, rtol=0, atol=1e-8 * scale)
        assert int(found.observables.onsets[lane, 0]) == events.count("strikes")
    assert happened == {"strikes", "sticks", "slips", "turns"}


PRESSED, SHAKEN, SLIDING, STATIC, THROWN = 6.0, 10.0, 2.0, 3.0, 0.5


def pressed(restitution):
    """Return a body of 1 kg that a load presses on a stop, and takes off it again."""
    load = jv.FourierLoad(1.0, jnp.array([SHAKEN]), jnp.array([0.0]), PRESSED - SHAKEN)
    return jv.ImpactSystem(
        jv.LinearSystem(jnp.eye(1), jnp.zeros((1, 1)), jnp.zeros((1, 1))),
        (jv.Contact(ONE, 0.0, jv.RestitutionContact(restitution)),),
        (jv.AppliedLoad(ONE, load),),
        [jv.CoulombFriction(ONE, SLIDING, STATIC)],
    )


@pytest.mark.parametrize(
    "restitution",
    [pytest.param(0.0, marks=pytest.mark.slow), 0.4],  # 3 s to compile
)
def test_a_stop_lets_go_before_the_friction_beside_it_does(restitution):
    def pull(t):
        return SHAKEN * np.cos(t) + PRESSED - SHAKEN

    system, start = pressed(restitution), jnp.array([0.0, 0.0])
    leaves = np.arccos((SHAKEN - PRESSED) / SHAKEN)
    slips = np.arccos((SHAKEN - PRESSED - STATIC) / SHAKEN)
    times = np.array([0.3, 0.99 * leaves, (leaves + slips) / 2, 0.999 * slips])
    seen = jv.simulate(system, start, times)
    np.testing.assert_array_equal(seen.states, 0.0)
    held = np.where(times < leaves, pull(times), 0.0)
    np.testing.assert_allclose(seen.contact_force[:, 0], held, atol=1e-12)
    end, span = 2.5, 2.5 - slips
    speed = SHAKEN * (np.sin(end) - np.sin(slips)) + (PRESSED - SHAKEN + SLIDING) * span
    found = jv.flow(system, start, 0.0, end)
    np.testing.assert_allclose(found[1], speed, rtol=1e-10)


def test_rebounds_that_friction_slows_down_end_on_the_stop():
    # Up with P + f, down with P - f: each comes back at e sqrt((P - f) / (P + f)) of it.
    restitution, pull = 0.7, 5.0
    linear = jv.LinearSystem(jnp.eye(1), jnp.zeros((1, 1)), jnp.zeros((1, 1)))
    system = jv.ImpactSystem(
        linear,
        (jv.Contact(ONE, 0.0, jv.RestitutionContact(restitution)),),
        (jv.AppliedLoad(ONE, jv.ConstantLoad(pull)),),
        [jv.CoulombFriction(ONE, SLIDING)],
    )
    back = np.sqrt((pull - SLIDING) / (pull + SLIDING))
    speeds = THROWN * restitution * (restitution * back) ** np.arange(60)
    lengths = speeds / (pull + SLIDING) + speeds * back / (pull - SLIDING)
    start = jnp.array([0.0, THROWN])
    for count in (0, 2, 5):
        top = lengths[:count].sum() + speeds[count] / (pull + SLIDING)
        height = speeds[count] ** 2 / 2 / (pull + SLIDING)
        found = jv.flow(system, start, 0.0, top)
        np.testing.assert_allclose(found, [-height, 0.0], atol=1e-9)
    end = jv.flow(system, start, 0.0, 1.01 * lengths.sum())
    np.testing.assert_allclose(end, 0.0, atol=1e-15)


def two_bodies(numbers):
    """Return two bodies with stops hard and soft, two frictions and a cubic spring."""
    (k, link), (c, drag) = numbers["stiffness"], numbers["damping"]
    linear = jv.LinearSystem(
        jnp.diag(numbers["mass"]),
        jnp.array([[c + drag, -drag], [-drag, drag]]),
        jnp.array([[k + link, -link], [-link, link]]),
    )
    between, wall, ground = jnp.array([[1.0, -1.0], [0.0, 1.0], [-1.0, 0.0]])
    hard = [jv.RestitutionContact(e) for e in numbers["restitution"]]
    laws = [*hard, jv.LinearContact(numbers["stop"])]
    directions = between, wall, ground
    load = jv.HarmonicLoad(*numbers["load"])
    limits = numbers["sliding"] + numbers["excess"]
    return jv.ImpactSystem(
        linear,
        [jv.Contact(*one) for one in zip(directions, numbers["gap"], laws, strict=True)],
        [jv.AppliedLoad(-ground, load)],
        [
            jv.CoulombFriction(*one)
            for one in zip((-ground, -between), numbers["sliding"], limits, strict=True)
        ],
        [
            jv.NonlinearSpring(
                wall, jv.PolynomialLaw(jnp.array([0.0, 0.0, 1.0]) * numbers["cubic"]), "s"
            )
        ],
    )


def work(numbers, state, time):
    """Return the change of energy less all work, J, the result, and whether it sticks."""

    def powers(t, state):
        """Return those of the load, of the dampers and of the frictions, W."""
        amplitude, frequency = numbers["load"]
        speeds = jnp.array([state[2], state[3] - state[2]])
        load = amplitude * jnp.cos(frequency * t) * state[2]
        rubbed = numbers["sliding"] @ jnp.abs(speeds)
        return jnp.stack([load, -numbers["damping"] @ speeds**2, -rubbed])

    def energy(state):
        stretched = jnp.array([state[0], state[1] - state[0]])
        depth = jnp.maximum(-state[0] - numbers["gap"][2], 0.0)
        stored = numbers["stiffness"] @ stretched**2 + numbers["stop"] * depth**2
        moving = numbers["mass"] @ state[2:] ** 2
        return (stored + moving + numbers["cubic"] * state[1] ** 4 / 2) / 2

    asked = Request(1e-9, measure=Along(powers))
    end = integrate_events(two_bodies(numbers).equation(), state, 0.0, time, 1e-12, asked)
    change = energy(end.state) - energy(state)
    lost = end.observables.lost.sum()
    return change - end.integral.sum() + lost, end.result, end.state[2], lost


@pytest.mark.slow
def test_ten_thousand_random_systems_keep_their_balance_of_energy():
    count, draw = 10_000, np.random.default_rng(0)
    numbers = {
        "mass": draw.uniform(0.5, 2, (count, 2)),
        "stiffness": draw.uniform(10, 60, (count, 2)),
        "damping": draw.uniform(0, 0.6, (count, 2)),
        "gap": draw.uniform(0, 0.1, (count, 3)),
        "restitution": draw.uniform(0, 0.9, (count, 2)),
        "stop": draw.uniform(1e2, 1e4, count),
        "load": draw.uniform([0, 1], [12, 8], (count, 2)),
        "sliding": draw.uniform(0, 2, (count, 2)),
        "excess": draw.uniform(0, 1, (count, 2)),
        "cubic": draw.uniform(0, 500, count),
    }
    starts = draw.uniform([-0.02, -0.02, -1, -1], [0, 0, 1, 1], (count, 4))
    starts[:, 1] = np.maximum(starts[:, 1], starts[:, 0])  # not inside the other body
    go = jax.jit(jax.vmap(kernel(work), (0, 0, None)))
    left, result, speed, lost = go(jax.tree.map(jnp.asarray, numbers), starts, 5.0)
    np.testing.assert_array_equal(result, 0)
    np.testing.assert_allclose(left, 0.0, atol=1e-9)
    assert np.median(lost) > 0.1  # impacts take their part, 1 J in the middle
    assert np.mean(np.asarray(speed) == 0) > 0.02


@pytest.mark.slow  # compiles a flow and its columns, 3 s
def test_multipliers_are_those_of_differences():
    numbers = jnp.asarray(NUMBERS[0])

    @jax.jit
    @jax.vmap
    def end(state):
        return jv.flow(rubbing(numbers), state, 0.0, 1.5, rtol=1e-12)

    step = 1e-6
    steps = step * np.concatenate([np.eye(2), -np.eye(2)])
    around = end(jnp.asarray(STATES[0] + steps))
    differences = (around[:2] - around[2:]).T / (2 * step)
    columns = jax.jacfwd(lambda s: jv.flow(rubbing(numbers), s, 0.0, 1.5, rtol=1e-12))
    found = jax.jit(columns)(jnp.asarray(STATES[0]))
    np.testing.assert_allclose(found, differences, atol=1e-7)
