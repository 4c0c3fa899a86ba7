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
    """x'' + c x' + k x = A cos(w t), with a hard stop at x = d."""
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


@pytest.fixture(scope="module")
def found():
    return seen(VALUES, STATES, SPAN)


@pytest.mark.parametrize("lane", range(4))
def test_motions_columns_and_impulses_are_the_closed_forms(found, lane):
    restitution, stop, frequency = np.asarray(VALUES[lane])
    closed = ClosedForm(frequency)
    state, columns, speeds = closed.motion(
        np.asarray(STATES[lane]), 0.0, SPAN, restitution, stop
    )
    ours = jax.tree.map(lambda leaf: leaf[lane], found)
    assert int(ours.result) == 0
    np.testing.assert_allclose(ours.state, state, rtol=0, atol=1e-10)
    scale = np.abs(columns).max()
    np.testing.assert_allclose(ours.monodromy, columns, rtol=0, atol=1e-9 * scale)
    assert int(ours.watched.onsets[0]) == len(speeds)
    assert (len(speeds) > 2) == (stop < 1)
    hardest = (1 + restitution) * max(speeds, default=0.0)
    assert float(ours.watched.impulse[0]) == pytest.approx(hardest, rel=1e-9)
