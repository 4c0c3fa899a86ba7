"""Checked against: closed forms, roots by scipy, impacts one after another, statics."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import jaxvib as jv
from jaxvib.dynamics.engines import EventEngine, engine_for
from jaxvib.dynamics.flow import observe, observe_with_monodromy, solve_system
from jaxvib.dynamics.motion import Want
from jaxvib.ensemble import Reason

DAMPING, STIFFNESS, AMPLITUDE, FREQUENCY, STOP = 0.1, 1.0, 1.0, 2.8, 0.2
ONE = jnp.array([1.0])
PATHS = ("contacts.0.law.restitution", "contacts.0.gap", "loads.0.law.frequency")


def oscillator(restitution=0.8, stop=STOP, frequency=FREQUENCY, amplitude=AMPLITUDE):
    """Return x'' + c x' + k x = A cos(w t), with a hard stop at x = d."""
    return jv.ImpactSystem(
        jv.LinearSystem(jnp.eye(1), DAMPING * jnp.eye(1), STIFFNESS * jnp.eye(1)),
        (jv.Contact(ONE, stop, jv.RestitutionContact(restitution)),),
        (jv.AppliedLoad(ONE, jv.HarmonicLoad(amplitude, frequency)),),
    )


class ClosedForm:
    """Flights of the oscillator by exponentials and the particular solution."""

    def __init__(self, frequency=FREQUENCY, amplitude=AMPLITUDE):
        self.w = frequency
        self.matrix = np.array([[0.0, 1.0], [-STIFFNESS, -DAMPING]])
        self.response = amplitude / (STIFFNESS - frequency**2 + 1j * DAMPING * frequency)
        self.amplitude = amplitude

    def particular(self, t):
        wave = self.response * np.exp(1j * self.w * t)
        return np.array([wave.real, (1j * self.w * wave).real])

    def propagator(self, t):
        return scipy.linalg.expm(self.matrix * t)

    def flight(self, state, t0, t1):
        return self.particular(t1) + self.propagator(t1 - t0) @ (
            state - self.particular(t0)
        )

    def displacement(self, state, t0, times):
        x, v = state - self.particular(t0)
        decay, turn = DAMPING / 2, np.sqrt(STIFFNESS - DAMPING**2 / 4)
        span = times - t0
        waves = x * np.cos(turn * span) + (v + decay * x) / turn * np.sin(turn * span)
        forced = (self.response * np.exp(1j * self.w * times)).real
        return forced + np.exp(-decay * span) * waves

    def acceleration(self, state, t):
        return self.matrix[1] @ state + self.amplitude * np.cos(self.w * t)

    def next_impact(self, state, t0, t1, stop):
        """Return the first time at which x comes up through d, or None."""
        times = np.linspace(t0, t1, 4000)[1:]
        above = self.displacement(state, t0, times) > stop
        if not any(above):
            return None
        first = int(np.argmax(above))
        left = times[first - 1] if first else t0 + 1e-9
        return scipy.optimize.brentq(
            lambda t: self.displacement(state, t0, t) - stop, left, times[first], xtol=1e-15
        )

    def motion(self, state, t0, t1, restitution, stop):
        """Return the state at t1, its monodromy by saltation matrices, and the speeds."""
        columns, speeds = np.eye(2), []
        while (t := self.next_impact(state, t0, t1, stop)) is not None:
            state, columns = self.flight(state, t0, t), self.propagator(t - t0) @ columns
            before, speed = self.acceleration(state, t), state[1]
            state = np.array([stop, -restitution * speed])
            after = self.acceleration(state, t)
            saltation = np.array(
                [
                    [-restitution, 0.0],
                    [(after + restitution * before) / speed, -restitution],
                ]
            )
            columns = saltation @ columns
            speeds.append(speed)
            t0 = t
        return self.flight(state, t0, t1), self.propagator(t1 - t0) @ columns, speeds


@functools.partial(jax.jit, static_argnames="engine")
def seen(values, states, span, engine="event"):
    def one(values, state):
        return observe_with_monodromy(
            jv.replace(oscillator(), dict(zip(PATHS, values, strict=True))),
            state, 0.0, span, rtol=1e-11, grazing=1e-9, engine=engine,
        )  # fmt: skip

    return jax.vmap(one)(values, states)


VALUES = jnp.array([[0.8, 0.2, 2.8], [0.5, -0.3, 2.1], [1.0, 0.0, 3.5], [0.9, 9.0, 2.8]])
STATES = jnp.array([[0.0, 0.0], [-0.5, 0.4], [-0.1, 1.0], [0.0, 0.0]])
SPAN = 11.0


def test_motions_columns_and_impulses_are_the_closed_forms():
    found = seen(VALUES, STATES, SPAN)
    for lane in range(4):
        restitution, stop, frequency = np.asarray(VALUES[lane])
        closed = ClosedForm(frequency)
        state, columns, speeds = closed.motion(
            np.asarray(STATES[lane]), 0.0, SPAN, restitution, stop
        )
        ours = jax.tree.map(lambda leaf, lane=lane: leaf[lane], found)
        assert int(ours.result) == 0
        np.testing.assert_allclose(ours.state, state, rtol=0, atol=1e-10)
        scale = np.abs(columns).max()
        np.testing.assert_allclose(ours.monodromy, columns, rtol=0, atol=1e-9 * scale)
        assert int(ours.observables.onsets[0]) == len(speeds)
        assert (len(speeds) > 2) == (stop < 1)
        hardest = (1 + restitution) * max(speeds, default=0.0)
        assert float(ours.observables.impulse[0]) == pytest.approx(hardest, rel=1e-9)


def travelled(system, state, span, rtol=1e-10):
    run = jax.jit(lambda s, x, t: solve_system(s, x, 0.0, t, rtol=rtol))
    return run(system, jnp.asarray(state, float), jnp.asarray(span))


@pytest.mark.slow
def test_a_contact_holds_until_its_force_would_pull():
    # The spring presses the body on its stop, until the load takes it off.
    stop, restitution = -0.3, 0.6
    system, closed = oscillator(restitution, stop), ClosedForm()
    begin = jnp.array([stop, 0.0])
    lets_go = np.arccos(stop) / FREQUENCY
    expected, _, _ = closed.motion(np.array([stop, 0.0]), lets_go, 1.6, restitution, stop)
    columns = jax.jit(jax.jacfwd(lambda x: jv.flow(system, x, 0.0, 1.6, rtol=1e-11)))
    np.testing.assert_allclose(
        jv.flow(system, begin, 0.0, 1.6, rtol=1e-11), expected, atol=1e-11
    )
    np.testing.assert_array_equal(columns(begin), 0.0)  # it has forgotten its start
    times = np.array([0.0, 0.2, 0.5 * lets_go, 1.6])
    force = jv.simulate(system, begin, times).contact_force[:, 0]
    held = np.cos(FREQUENCY * times) - stop
    np.testing.assert_allclose(force, np.where(times < lets_go, held, 0), atol=1e-12)


@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.9])
def test_impacts_that_accumulate_end_in_a_contact_that_holds(restitution):
    # Undamped, each rebound of speed v lasts 2 arctan(v/|d|) and comes back as fast.
    stop, speed = -0.5, 0.4
    system = jv.ImpactSystem(
        jv.LinearSystem(jnp.eye(1), 0 * jnp.eye(1), jnp.eye(1)),
        (jv.Contact(ONE, stop, jv.RestitutionContact(restitution)),),
    )
    rebounds = speed * restitution ** np.arange(1, 400)
    lengths = 2 * np.arctan(rebounds / -stop)
    begin = jnp.array([stop, speed])
    flow = jax.jit(lambda t: jv.flow(system, begin, 0.0, t, rtol=1e-10))
    for count in (0, 1, 3) if restitution else ():
        span, speed = 0.3 * lengths[count], rebounds[count]
        time = lengths[:count].sum() + span
        cosine, sine = np.cos(span), np.sin(span)
        expected = stop * cosine - speed * sine, -stop * sine - speed * cosine
        np.testing.assert_allclose(flow(time), expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(flow(lengths.sum() + 0.1), [stop, 0.0], rtol=0, atol=1e-15)


@pytest.fixture(scope="module")
def row():
    """Three equal free bodies in a row, the last one before a wall."""

    def system(restitution, gaps):
        one = np.eye(3)
        directions = one[0] - one[1], one[1] - one[2], one[2]
        return jv.ImpactSystem(
            jv.LinearSystem(jnp.eye(3), 0 * jnp.eye(3), 0 * jnp.eye(3)),
            tuple(
                jv.Contact(d, gap, jv.RestitutionContact(restitution))
                for d, gap in zip(directions, gaps, strict=True)
            ),
        )

    start = jnp.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    return jax.jit(
        jax.vmap(lambda e, gaps, t: solve_system(system(e, gaps), start, 0.0, t, rtol=1e-9))
    )


@pytest.mark.slow
def test_bodies_in_a_row_pass_on_their_momentum(row):
    # Equal bodies swap velocities where e = 1, and share them by (1 -+ e) / 2 else.
    restitution = jnp.array([1.0, 1.0, 0.5, 0.0])
    gaps = jnp.array([[0.1, 0.2, 9.0], [0.0, 0.0, 0.5], [0.1, 9.0, 9.0], [0.1, 0.2, 9.0]])
    found = row(restitution, gaps, jnp.array([1.0, 1.25, 1.0, 1.0]))
    np.testing.assert_array_equal(found.result, 0)
    expected = [
        (0.1, 0.2, 0.7, 0.0, 0.0, 1.0),
        # The wall sends it all the way back.
        (-0.25, 0.0, 0.0, -1.0, 0.0, 0.0),
        (0.1 + 0.25 * 0.9, 0.75 * 0.9, 0.0, 0.25, 0.75, 0.0),
        # Both together at 1/2, then all three at 1/3.
        (0.1 + 0.2 + 0.5 / 3, 0.2 + 0.5 / 3, 0.5 / 3, 1 / 3, 1 / 3, 1 / 3),
    ]
    np.testing.assert_allclose(found.state, expected, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_several_contacts_hold_at_once_with_the_forces_of_statics():
    # Springs press a stack of three on a wall: each stop bears all above it.
    stiffness = np.diag([3.0, 2.0, 5.0])
    one = np.eye(3)
    stops = tuple(
        jv.Contact(d, 0.0, jv.RestitutionContact(0.5))
        for d in (one[0] - one[1], one[1] - one[2], one[2])
    )
    push = jv.AppliedLoad(jnp.asarray(one[0]), jv.HarmonicLoad(2.0, 0.1))
    system = jv.ImpactSystem(
        jv.LinearSystem(np.diag([1.0, 2.0, 3.0]), 0 * one, stiffness), stops, (push,)
    )
    times = np.array([0.0, 1.0, 5.0])
    run = jv.simulate(system, jnp.zeros(6), times)
    np.testing.assert_allclose(run.states, 0.0, atol=1e-12)
    force = 2.0 * np.cos(0.1 * times)
    np.testing.assert_allclose(run.contact_force, np.tile(force, (3, 1)).T, atol=1e-11)


@pytest.mark.parametrize("call", ["flow", "simulate", "observe"])
def test_steps_are_refused(call):
    calls = {
        "flow": lambda: jv.flow(oscillator(), jnp.zeros(2), 0.0, 1.0, engine="diffrax"),
        "simulate": lambda: jv.simulate(
            oscillator(), jnp.zeros(2), [0.0, 1.0], engine="diffrax"
        ),
        "observe": lambda: observe(
            oscillator(), jnp.zeros(2), 0.0, 1.0, rtol=1e-8, grazing=0.0, engine="diffrax"
        ),
    }
    with pytest.raises(ValueError, match="'diffrax': contact law RestitutionContact acts"):
        calls[call]()
    assert engine_for(oscillator(), "auto", 1)[0] == "event"


def test_a_start_inside_a_stop_has_its_reason():
    found = travelled(oscillator(), [STOP + 0.1, 0.0], 1.0)
    assert int(found.result) == Reason.BAD_PARAMETER
    assert np.all(np.isnan(found.state))


@pytest.mark.parametrize("restitution", [-0.1, 1.1, np.nan])
def test_a_restitution_out_of_its_range_is_named(restitution):
    with pytest.raises(ValueError, match=r"restitution = .* is not in \[0, 1\]"):
        jv.RestitutionContact(restitution)


@pytest.mark.slow
def test_second_derivatives_are_differences_of_columns():
    system, start, path = oscillator(stop=0.05), jnp.array([0.0, 0.3]), PATHS[2]
    period = float(system.period())

    def end(state, value):
        there = jv.replace(system, {path: value})
        return jv.flow(there, state, 0.0, period, rtol=1e-11)

    step = 1e-6
    columns = jax.jit(jax.jacfwd(end))
    second = jax.jit(jax.jacfwd(jax.jacfwd(end), 1))(start, FREQUENCY)
    difference = columns(start, FREQUENCY + step) - columns(start, FREQUENCY - step)
    np.testing.assert_allclose(
        second, difference / (2 * step), atol=1e-6 * float(jnp.abs(second).max())
    )


class OneByOne:
    """Linear bodies with hard stops: flights by exponentials, impacts one after another.

    Roots are looked for at points that crowd towards an event and found by brentq; of
    contacts at rest those hold that the first consistent choice of all says.
    """

    slow = 1e-8  # m/s: slower impacts are none

    def __init__(self, system):
        self.known = {}
        mass, damping, stiffness = (np.asarray(m) for m in system.matrices())
        size = self.size = len(mass)
        self.inverse = np.linalg.inv(mass)
        self.normals = np.array([c.direction for c in system.contacts])
        self.stops = np.array([c.gap for c in system.contacts])
        self.restitution = np.array([c.law.restitution for c in system.contacts])
        (load,) = system.loads
        wave, pushed = load.law, self.inverse @ np.asarray(load.direction)
        self.phase = float(wave.phase)
        flow = self.flow = np.zeros((2 * size + 2,) * 2)  # of q, v, cosine and sine
        flow[:size, size:-2] = np.eye(size)
        flow[size:-2, :size], flow[size:-2, size:-2] = (
            -self.inverse @ stiffness,
            -self.inverse @ damping,
        )
        flow[size:-2, -2] = pushed * float(wave.amplitude)
        flow[-2, -1], flow[-1, -2] = -float(wave.frequency), float(wave.frequency)

    def gaps(self, z):
        return self.normals @ z[: self.size] - self.stops

    def speeds(self, z):
        return self.normals @ z[self.size : -2]

    def held(self, holding):
        """Return the rows that give the forces of contacts that hold, and the flow."""
        rates = slice(self.size, -2)
        normals = self.normals[list(holding)]
        masses = normals @ self.inverse @ normals.T
        forces = np.linalg.solve(masses, normals @ self.flow[rates])
        flow = self.flow.copy()
        flow[rates] -= self.inverse @ normals.T @ forces
        return forces, flow

    def choice(self, z, among):
        for count in range(len(among), -1, -1):
            for some in itertools.combinations(among, count):
                forces, flow = self.held(some)
                rates = self.normals @ (flow @ z)[self.size : -2]
                if np.all(forces @ z >= 0) and all(
                    rates[k] <= 1e-9 for k in among if k not in some
                ):
                    return some
        raise AssertionError(z)

    def struck(self, z, closed, first=None, leaves=None):
        """Return the state after the impacts of an instant and which contacts hold."""
        z, rates = z.copy(), slice(self.size, -2)
        closed = [
            k for k in range(len(self.stops)) if k in closed or self.gaps(z)[k] > -1e-13
        ]
        while first is not None and self.speeds(z)[first] > self.slow:
            normal, push = self.normals[first], self.inverse @ self.normals[first]
            z[rates] -= push * (
                (1 + self.restitution[first]) * self.speeds(z)[first] / (normal @ push)
            )
            speeds = self.speeds(z)
            first = max(closed, key=lambda k: speeds[k])
        speeds = self.speeds(z)
        resting = [k for k in closed if abs(speeds[k]) <= 20 * self.slow and k != leaves]
        holding = self.choice(z, resting)
        normals = self.normals[list(holding)]
        masses = normals @ self.inverse @ normals.T
        for part, values in (
            (rates, self.speeds(z)),
            (slice(self.size), self.gaps(z)),
        ):
            z[part] -= (
                self.inverse @ normals.T @ np.linalg.solve(masses, values[list(holding)])
            )
        return z, holding

    def moved(self, z, flow, step):
        return scipy.linalg.expm(flow * step) @ z

    def next_event(self, z, holding, longest):
        """Return how far it is to the next event, at most `longest`, and whose it is."""
        forces, flow = self.held(holding)
        if (holding, longest) not in self.known:
            # Points that crowd towards the last event, of which the next may be next to.
            points = longest * 0.5 ** np.arange(36.0)[::-1]
            self.known[holding, longest] = (
                points,
                scipy.linalg.expm(flow * points[:, None, None]),
            )
        before, found = 0.0, []
        for point, step in zip(*self.known[holding, longest], strict=True):
            signals = {
                k: lambda y, k=k: self.gaps(y)[k] - 1e-16
                for k in range(len(self.stops))
                if k not in holding
            }
            for i, k in enumerate(holding):
                signals[k] = lambda y, i=i: -(forces @ y)[i] - 1e-13
            for k, signal in signals.items():
                if signal(step @ z) <= 0:
                    continue
                root = before
                if signal(self.moved(z, flow, before)) < 0:
                    root = scipy.optimize.brentq(
                        lambda x, signal=signal: signal(self.moved(z, flow, x)),
                        before, point, xtol=1e-16,
                    )  # fmt: skip
                found.append((root, k))
            if found:
                step, k = min(found)
                return self.moved(z, flow, step), step, k
            before = point
        return step @ z, longest, None

    def motion(self, state, span, parts=300):
        z = np.concatenate([state, [np.cos(self.phase), np.sin(self.phase)]])
        z, holding = self.struck(z, ())
        t = 0.0
        while t < span:
            z, step, k = self.next_event(z, holding, min(span / parts, span - t))
            t += step
            if k in holding:
                z, holding = self.struck(z, [j for j in holding if j != k], leaves=k)
            elif k is not None:
                push = self.inverse @ self.normals[k]
                z[: self.size] -= push * self.gaps(z)[k] / (self.normals[k] @ push)
                z, holding = self.struck(z, holding, k)
        return z[: 2 * self.size]


def between_stops(numbers):
    """Return two bodies in a row before a wall, with a hard stop for each."""
    masses, springs, damping, gaps, restitution, load = jnp.split(numbers, 6)
    one = jnp.eye(2)
    return jv.ImpactSystem(
        jv.LinearSystem(jnp.diag(masses), jnp.diag(damping), jnp.diag(springs)),
        tuple(
            jv.Contact(d, gap, jv.RestitutionContact(e))
            for d, gap, e in zip((one[0] - one[1], one[1]), gaps, restitution, strict=True)
        ),
        (jv.AppliedLoad(one[0], jv.HarmonicLoad(load[0], load[1])),),
    )


@jax.jit
def between_stops_seen(numbers, states, span):
    def one(numbers, state):
        return observe(
            between_stops(numbers), state, 0.0, span, rtol=1e-10, grazing=0.0,
            engine="event",
        )  # fmt: skip

    return jax.vmap(one)(numbers, states)


# A light body between a heavy one and a wall, pressed and not, with hard and soft blows.
NUMBERS = jnp.array(
    [
        # masses, springs, damping, gaps, restitution, load
        (5.0, 0.1, 60.0, 0.2, 0.5, 0.01, 0.1, 0.0, 0.3, 0.2, 20.0, 2.5),
        (8.0, 0.2, 40.0, 2.0, 3.0, 1.70, 0.0, 0.0, 0.6, 0.97, 4.0, 3.5),
        (1.6, 9.0, 15.0, 300.0, 1.2, 100.0, -0.02, -0.05, 0.4, 0.45, 1.2, 3.7),
        (3.0, 0.1, 30.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 3.0),
        (0.3, 0.4, 0.6, 6.4, 0.1, 0.4, -0.05, -0.04, 0.3, 0.15, 0.3, 3.0),
        (4.0, 0.1, 20.0, 0.5, 0.1, 0.0, 0.05, 0.02, 0.9, 0.9, 9.0, 2.0),
    ]
)
STARTS = jnp.array(
    [
        (0.05, -0.02, 0.8, 0.5),
        (0.0, 0.0, 0.0, 0.0),
        (-0.09, -0.06, 0.12, 0.37),
        (-0.2, -0.1, 0.3, 0.1),
        (-0.24, -0.19, 0.94, -0.34),
        (-0.1, -0.1, 1.0, 0.0),
    ]
)


def straight(masses, restitution, state, span):
    """Return where two free bodies before a wall at 0 come to, blow by blow."""
    (heavy, light), (e, f) = masses, restitution
    x, y, u, v = state
    for _ in range(10_000):
        until_hit = (y - x) / (u - v) if u > v else np.inf
        until_wall = -y / v if v > 0 else np.inf
        step = min(until_hit, until_wall, span)
        x, y, span = x + step * u, y + step * v, span - step
        if span <= 0 or not np.isfinite(min(until_hit, until_wall)):
            break
        if until_hit < until_wall:
            y, push = x, (1 + e) * (u - v) / (1 / heavy + 1 / light)
            u, v = u - push / heavy, v + push / light
        else:
            y, v = 0.0, -f * v
    return x, y, u, v


@pytest.mark.slow  # compiles two stops, 2 s
def test_a_light_body_between_two_stops_is_struck_for_ever_or_let_go():
    # It takes all speed where (1 + e)(1 + f) c^2 > (sqrt e + sqrt f)^2 (McNamara, Young),
    # c^2 = M / (M + m), and e, f those of the blows of the bodies and of the wall.
    masses = [(9.0, 0.1), (9.0, 0.1), (9.0, 0.1), (9.0, 0.1), (1.0, 1.0), (1.0, 1.0)]
    restitution = [(0.5, 0.6), (0.0, 0.0), (0.9, 0.2), (1.0, 1.0), (0.3, 0.3), (0.1, 0.0)]
    start = np.array([-0.3, -0.1, 0.5, 0.1])
    blank = np.zeros(2)
    numbers = [
        (*mass, *blank, *blank, *blank, *ratio, 0.0, 1.0)
        for mass, ratio in zip(masses, restitution, strict=True)
    ]
    states = np.tile(start, (len(masses), 1))
    ends, seen, result = between_stops_seen(jnp.array(numbers), jnp.array(states), 6.0)
    np.testing.assert_array_equal(result, 0)
    for lane, (mass, ratio) in enumerate(zip(masses, restitution, strict=True)):
        share = mass[0] / sum(mass)
        reach = (1 + ratio[0]) * (1 + ratio[1]) * share
        endless = reach > np.sum(np.sqrt(ratio)) ** 2
        expected = np.zeros(4) if endless else straight(mass, ratio, start, 6.0)
        np.testing.assert_allclose(ends[lane], expected, rtol=0, atol=1e-9)
        assert endless == (lane in (0, 1, 2, 5))
    # All that they had is lost, and no more.
    energy = [(m * start[2] ** 2 + n * start[3] ** 2) / 2 for m, n in masses[:3]]
    np.testing.assert_allclose(seen.lost[:3].sum(1), energy, rtol=1e-9)


@pytest.mark.slow
def test_two_stops_that_alternate_rest_and_press_are_the_plain_integration():
    ends, seen, result = between_stops_seen(NUMBERS, STARTS, 6.0)
    np.testing.assert_array_equal(result, 0)
    assert float(seen.deepest.max()) < 1e-15
    for lane in range(len(NUMBERS)):
        plain = OneByOne(between_stops(NUMBERS[lane]))
        expected = plain.motion(np.asarray(STARTS[lane]), 6.0)
        np.testing.assert_allclose(ends[lane], expected, rtol=0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("lane", [0, 5])
def test_columns_through_two_stops_are_differences_of_the_plain_integration(lane):
    system, start, span, step = between_stops(NUMBERS[lane]), STARTS[lane], 1.0, 1e-6
    plain = OneByOne(system)
    columns = jax.jit(jax.jacfwd(lambda x: jv.flow(system, x, 0.0, span, rtol=1e-10)))
    expected = [
        (
            plain.motion(np.asarray(start + step * change), span)
            - plain.motion(np.asarray(start - step * change), span)
        )
        / (2 * step)
        for change in np.eye(4)
    ]
    scale = np.abs(expected).max()
    np.testing.assert_allclose(
        columns(start), np.transpose(expected), rtol=0, atol=1e-6 * scale + 1e-9
    )


@pytest.mark.slow
def test_bodies_that_rest_in_a_row_hold_where_statics_says():
    # Random pushes on three bodies before a wall, jammed by a second one or not: of all
    # choices of contacts that hold, one in which none pulls and no other closes.
    rng = np.random.default_rng(3)
    number, one = 40, np.eye(3)
    directions = np.array([-one[0], one[0] - one[1], one[1] - one[2], one[2]])
    masses, pushes = rng.uniform(0.1, 5.0, (2, number, 3))
    pushes -= 2.5
    gaps = np.where(np.arange(number) < number // 4, 0.0, 1.0)

    def held(mass, push, gap):
        system = jv.ImpactSystem(
            jv.LinearSystem(jnp.diag(mass), jnp.zeros((3, 3)), jnp.zeros((3, 3))),
            tuple(
                jv.Contact(d, gap if k == 0 else 0.0, jv.RestitutionContact(0.5))
                for k, d in enumerate(directions)
            ),
            tuple(
                jv.AppliedLoad(d, jv.HarmonicLoad(amplitude, 1.0))
                for d, amplitude in zip(one, push, strict=True)
            ),
        )
        want = Want(1e-9, forces=True)
        return EventEngine().integrate(system, jnp.zeros(6), 0.0, 0.0, want).forces

    forces = np.asarray(jax.jit(jax.vmap(held))(masses, pushes, gaps))
    for mass, push, gap, force in zip(masses, pushes, gaps, forces, strict=True):
        rates = directions @ ((push - directions.T @ force) / mass)
        assert np.all(force >= 0)
        assert np.all(rates[1 if gap else 0 :] < 1e-9)
        np.testing.assert_allclose(force * rates, 0.0, atol=1e-9)
    assert len({tuple(force > 0) for force in forces}) > 5


def scaled(scale, bodies, engine="event"):
    """Return bodies on their own, w^2 = 4 s, the first before a stop, 1 m from rest."""
    eye = jnp.eye(bodies)
    linear = jv.LinearSystem(scale * eye, 0.0 * scale * eye, 4.0 * scale**2 * eye)
    stop = jv.Contact(eye[0], 0.0, jv.RestitutionContact(0.5))
    system = jv.ImpactSystem(linear, [stop], [])
    state = jnp.concatenate([-jnp.ones(bodies), jnp.zeros(bodies)])
    return state, lambda state: jv.flow(system, state, 0.0, 1.3, rtol=1e-12, engine=engine)


def free(scale):
    """Return the matrix that takes a state of one of them over 1.3 s, without a stop."""
    w = 2 * jnp.sqrt(scale)
    cosine, sine = jnp.cos(1.3 * w), jnp.sin(1.3 * w)
    return jnp.array([[cosine, sine / w], [-w * sine, cosine]])


@pytest.mark.slow
def test_derivatives_of_monodromies_by_many_numbers_are_the_closed_form():
    # 48 numbers of matrices move, and states: more than are carried beside one motion.
    def monodromy(scale):
        state, end = scaled(scale, 4)
        return jax.jacfwd(end)(state)

    exact = jax.jit(jax.jacfwd(free))(1.1)
    found = jax.jit(jax.jacfwd(monodromy))(1.1)
    np.testing.assert_allclose(found[2::4, 2::4], exact, atol=1e-12)
    np.testing.assert_allclose(found[::4, ::4], -0.5 * exact, atol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.jacrev(monodromy))(1.1), found, atol=1e-12)


@pytest.mark.slow
def test_third_derivatives_are_the_closed_form():
    def end(scale):
        state, go = scaled(scale, 1, EventEngine(order=6))
        return go(state)

    third, exact = end, lambda scale: 0.5 * free(scale)[:, 0]
    for _ in range(3):
        third, exact = jax.jacfwd(third), jax.jacfwd(exact)
    np.testing.assert_allclose(third(1.1), exact(1.1), atol=1e-10)
