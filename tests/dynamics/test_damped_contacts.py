"""Checked against: exact restitutions in closed form, scipy's integrals, other engines."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jaxvib as jv
from jaxvib.dynamics.engines import engine_for
from jaxvib.dynamics.flow import observe

MASS, GAP, SPEED = 2.0, 0.1, 0.7
hunt = jv.HuntCrossleyContact(3e7, 0.4)
STOP, DRAG = 3e4, 120.0


def free_body(contact):
    """Return a free body that flies at a stop."""
    nothing = [[0.0]]
    return jv.ImpactSystem(
        jv.LinearSystem([[MASS]], nothing, nothing), (jv.Contact([1.0], GAP, contact),)
    )


def test_events_give_the_exact_restitution_and_its_slope():
    def back(speed):
        start = jnp.stack([jnp.zeros_like(speed), speed])
        return jv.flow(free_body(hunt), start, 0.0, 0.3, rtol=1e-11, engine="event")[1]

    speed = jnp.asarray(SPEED)
    found, slope = jax.jvp(back, (speed,), (jnp.ones(()),))
    expected, its = jax.jvp(lambda v: -v * hunt.restitution(v), (speed,), (jnp.ones(()),))
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    np.testing.assert_allclose(slope, its, rtol=1e-9)


def test_a_damped_stop_lets_go_where_it_would_pull():
    rate, decay = np.sqrt(STOP / MASS), DRAG / (2 * MASS)
    turns = np.sqrt(rate**2 - decay**2)

    def motion(t):
        fade, wave = np.exp(-decay * t), np.sin(turns * t)
        place = SPEED / turns * fade * wave
        return place, SPEED * fade * (np.cos(turns * t) - decay / turns * wave)

    def force(t):
        place, speed = motion(t)
        return STOP * place + DRAG * speed

    ends = brentq(force, 0.5 * np.pi / turns, np.pi / turns, xtol=1e-15)
    place, back = motion(ends)
    began, end = GAP / SPEED, 0.3
    system = free_body(jv.KelvinVoigtContact(STOP, DRAG))
    start = jnp.asarray([0.0, SPEED])
    state, seen, _ = observe(
        system, start, 0.0, end, rtol=1e-11, grazing=1e-9, engine="event"
    )
    left = end - began - ends
    np.testing.assert_allclose(state, [GAP + place + back * left, back], rtol=1e-11)
    lost = MASS * (SPEED**2 - back**2) / 2
    np.testing.assert_allclose(seen.lost, [lost], rtol=1e-10)
    np.testing.assert_allclose(seen.duration, [ends - place / back], rtol=1e-10)
    times = np.linspace(0, ends, 200001)
    np.testing.assert_allclose(seen.strongest, [force(times).max()], rtol=1e-9)
    assert engine_for(system, "auto", 1)[0] == "event"


def pulled_row(first, second):
    """Return two bodies, one hard pressed and torn off a stop that the other hits too."""
    linear = jv.LinearSystem(np.eye(2), 0.2 * np.eye(2), 40.0 * np.eye(2))
    apart = jnp.asarray([1.0, -1.0])
    return jv.ImpactSystem(
        linear,
        (
            jv.Contact(jnp.asarray([1.0, 0.0]), 0.01, first),
            jv.Contact(apart, 0.02, second),
        ),
        (jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(300.0, 30.0)),),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "close"),
    [
        (jv.HuntCrossleyContact(2e5, 2.0), jv.HuntCrossleyContact(1e5, 0.3), 1e-7),
        (jv.KelvinVoigtContact(2e3, 60.0), jv.HuntCrossleyContact(1e5, 0.3), 2e-5),
    ],
)
def test_contacts_that_are_torn_open_and_close_again_agree_with_steps(first, second, close):
    system, start = pulled_row(first, second), [0.0, 0.0, 0.3, -0.2]
    expected = jv.flow(system, start, 0.0, 1.0, rtol=1e-12, engine="diffrax")
    found = jv.flow(system, start, 0.0, 1.0, rtol=1e-11, engine="event")
    np.testing.assert_allclose(found, expected, atol=close)


def test_an_exponent_that_is_given_has_no_event_driven_form():
    with pytest.raises(ValueError, match="with these fields has no event-driven form"):
        jv.flow(
            free_body(jv.HuntCrossleyContact(1e5, 0.3, 1.7)), [0.0, 1.0], 0.0, 1.0,
            engine="event",
        )  # fmt: skip


# Drawn back faster than 1/c it has no force. It has one again before it is out, or leaves.
@pytest.mark.parametrize(
    ("load", "comes_out"), [(20.0, False), (84.0, True), (116.0, True)]
)
def test_a_contact_parts_while_another_is_closed(load, comes_out):
    # The other body lies on its contact all the time, and is joined to nothing.
    stiffness, damping, depth = 300.0, 10.0, 0.1
    system = jv.ImpactSystem(
        jv.LinearSystem(np.eye(2), 0.3 * np.eye(2), 400.0 * np.eye(2)),
        (
            jv.Contact([1.0, 0.0], -depth, jv.HuntCrossleyContact(stiffness, damping)),
            jv.Contact([0.0, 1.0], -depth, jv.HertzContact(stiffness)),
        ),
        (jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(load, 9.0)),),
    )

    def rate(t, y):
        pressed = stiffness * max(y[0] + depth, 0.0) ** 1.5
        force = pressed * max(1 + damping * y[1], 0.0)
        return y[1], load * np.cos(9.0 * t) - 400.0 * y[0] - 0.3 * y[1] - force

    start = np.array([0.0, 0.0, -0.5, 0.0])
    expected = solve_ivp(rate, (0.0, 1.0), start[::2], "DOP853", rtol=1e-12, atol=1e-13)
    assert (expected.y[0].min() < -depth) == comes_out
    assert np.sum(np.diff(1 + damping * expected.y[1] > 0)) >= 3  # it parts, and closes
    found = jv.flow(system, start, 0.0, 1.0, engine="event")
    np.testing.assert_allclose(found[::2], expected.y[:, -1], rtol=0, atol=1e-9)


# A flank stops pushing 2 ms before it opens, a hundredth of the body's period.
@pytest.mark.parametrize(
    ("engine", "play", "close"),
    [("diffrax", 0.0, 2e-8), ("diffrax", 1e-9, 2e-8), ("event", 0.0, 1e-11)],
)
def test_no_step_passes_the_time_between_two_damped_flanks(engine, play, close):
    stiffness, damping, own, load, frequency, end = 28.0, 0.07, 4.0, 0.7, 0.9, 8.0
    system = jv.ImpactSystem(
        jv.LinearSystem([[1.0]], [[0.1]], [[own]]),
        jv.backlash([1.0], play, jv.KelvinVoigtContact(stiffness, damping)),
        (jv.AppliedLoad([1.0], jv.HarmonicLoad(load, frequency)),),
    )

    def rate(time, state, side):
        x, v = state
        push = stiffness * (x - side * play / 2) + damping * v if side else 0.0
        return v, load * np.cos(frequency * time) - own * x - 0.1 * v - push

    def pulls(side):
        def event(time, state, _):
            force = stiffness * (side * state[0] - play / 2) + side * damping * state[1]
            return -force

        return event

    def meets_the_other(side):
        return lambda time, state, _: -side * state[0] - play / 2

    # By turns with the force of a flank, up to where it would pull, and without one.
    time, state, side, crossings = 0.0, np.array([0.01, 1.0]), 1, 0
    while time < end:
        for pushed, event in ((side, pulls(side)), (0, meets_the_other(side))):
            event.terminal, event.direction = True, 1
            found = solve_ivp(rate, (time, end), state, "DOP853", args=(pushed,),
                              events=event, rtol=1e-13, atol=1e-14)  # fmt: skip
            time, state = found.t[-1], found.y[:, -1]
            if time >= end:
                break
        side, crossings = -side, crossings + 1
    assert crossings > 10
    found = jv.flow(system, [0.01, 1.0], 0.0, end, engine=engine)
    np.testing.assert_allclose(found, state, rtol=0, atol=close)


@pytest.mark.parametrize("start", [(-0.05, -0.05), (-0.19, 0.25)])
def test_a_stop_without_a_gap_opens_once(start):
    # Rounding left it indented where it opens: a million times, without end.
    def end(place):
        """Return the end seen from a place, with the stop at its distance."""
        one = jnp.ones(1)
        loads = jv.HarmonicLoad(1.0, 2.8), jv.ConstantLoad(-place)
        system = jv.ImpactSystem(
            jv.LinearSystem([[1.0]], [[0.1]], [[1.0]]),
            (jv.Contact(one, -place, jv.KelvinVoigtContact(30.0, 1.5)),),
            [jv.AppliedLoad(one, law) for law in loads],
        )
        shift = jnp.asarray([place, 0.0])
        return jv.flow(system, jnp.asarray(start) - shift, 0.0, 6.0) + shift

    np.testing.assert_allclose(end(0.0), end(0.3), rtol=1e-9)
