"""Checked against: closed forms of the impact oscillator, roots by scipy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import jaxvib as jv
from jaxvib.dynamics.flow import engine_for, observe, solve_system, watch
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
        return observe(
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
        assert int(ours.watched.onsets[0]) == len(speeds)
        assert (len(speeds) > 2) == (stop < 1)
        hardest = (1 + restitution) * max(speeds, default=0.0)
        assert float(ours.watched.impulse[0]) == pytest.approx(hardest, rel=1e-9)


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


@pytest.mark.parametrize("call", ["flow", "simulate", "watch"])
def test_steps_are_refused(call):
    calls = {
        "flow": lambda: jv.flow(oscillator(), jnp.zeros(2), 0.0, 1.0, engine="diffrax"),
        "simulate": lambda: jv.simulate(
            oscillator(), jnp.zeros(2), [0.0, 1.0], engine="diffrax"
        ),
        "watch": lambda: watch(
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
