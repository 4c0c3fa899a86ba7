"""Checked against: scipy from corner to corner; matched closed forms; Newton's impacts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import fsolve

import jaxvib as jv
from jaxvib.systems.base.event_form import ContactForm, Stop

MASS, DAMPING, STIFFNESS, FREQUENCY = 1.3, 0.2, 4.0, 2.1
SLOPES = [30.0, 90.0, 10.0]
COSINE, SINE = np.array([3.0, 0.0, 1.0]), np.array([0.0, 0.7, -0.4])


def fourier(t):
    k = np.arange(1, 4) * FREQUENCY
    return 0.3 + COSINE @ np.cos(k * t) + SINE @ np.sin(k * t)


def body(**parts):
    load = jv.AppliedLoad([1.0], jv.FourierLoad(FREQUENCY, COSINE, SINE, 0.3))
    linear = jv.LinearSystem([[MASS]], [[DAMPING]], [[STIFFNESS]])
    return jv.ImpactSystem(linear, loads=(load,), **parts)


def by_scipy(force, corners, state, end):
    """Return the motion under a force of corners, by a solver that stops at each."""

    def rates(t, s):
        push = fourier(t) - STIFFNESS * s[0] - DAMPING * s[1] - force(s[0])
        return [s[1], push / MASS]

    events = []
    for corner in corners:

        def at(t, s, corner=corner):
            return s[0] - corner

        at.terminal = True
        events.append(at)
    time, state = 0.0, np.asarray(state, float)
    while time < end:
        found = solve_ivp(
            rates, (time, end), state, "DOP853", rtol=1e-12, atol=1e-13, events=events
        )
        time, state = found.t[-1], found.y[:, -1]
        if time < end:  # away from the corner, or it would be met again
            step = 1e-7
            there = solve_ivp(
                rates, (time, time + step), state, "DOP853", rtol=1e-12, atol=1e-14
            )
            time, state = time + step, there.y[:, -1]
    return state


CASES = {
    "a bump stop": (
        lambda: body(
            contacts=(
                jv.Contact([1.0], 0.2, jv.PiecewiseLinearContact(SLOPES, [0.1, 0.25])),
            )
        ),
        lambda x: np.interp(x - 0.2, [-9, 0, 0.1, 0.25, 9.25], [0, 0, 3, 16.5, 106.5]),
        (0.2, 0.3, 0.45),
    ),
    "two-sided play": (
        lambda: body(contacts=jv.backlash(jnp.ones(1), 0.5, jv.LinearContact(80.0))),
        lambda x: 80.0 * (max(x - 0.25, 0.0) - max(-x - 0.25, 0.0)),
        (-0.25, 0.25),
    ),
    "a loose spring": (
        lambda: body(
            springs=[
                jv.NonlinearSpring(
                    [1.0], jv.PiecewiseLinearLaw([60.0, 0.0, 90.0, 20.0], [-0.3, 0.2, 0.5])
                )
            ]
        ),
        lambda x: np.interp(x, [-9.3, -0.3, 0.2, 0.5, 9.5], [-540, 0, 0, 27, 207]),
        (-0.3, 0.2, 0.5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_polygons_under_a_fourier_load_move_as_scipy_says(case):
    build, force, corners = CASES[case]
    expected = by_scipy(force, corners, [0.1, 0.4], 7.0)
    found = jv.flow(build(), [0.1, 0.4], 0.0, 7.0, engine="event", rtol=1e-11)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


class Bump(eqx.Module):
    """A user's law of three slopes, with its form for events."""

    slopes: jax.Array
    depths: jax.Array
    jumps = False

    def force(self, penetration):
        nodes = jnp.concatenate([jnp.zeros(1), self.depths])
        changes = jnp.diff(self.slopes, prepend=0.0)
        return jnp.sum(changes * jnp.maximum(penetration - nodes, 0.0))

    def energy(self, penetration):
        nodes = jnp.concatenate([jnp.zeros(1), self.depths])
        changes = jnp.diff(self.slopes, prepend=0.0)
        return jnp.sum(changes * jnp.maximum(penetration - nodes, 0.0) ** 2) / 2

    def event_form(self):
        stops = map(Stop, self.depths, jnp.diff(self.slopes))
        return ContactForm(self.slopes[0], stops=tuple(stops))


def test_a_users_law_with_an_event_form_is_integrated_by_events():
    _, force, corners = CASES["a bump stop"]
    law = Bump(jnp.asarray(SLOPES), jnp.asarray([0.1, 0.25]))
    system = body(contacts=(jv.Contact([1.0], 0.2, law),))
    found = jv.flow(system, [0.1, 0.4], 0.0, 7.0, engine="event", rtol=1e-11)
    expected = by_scipy(force, corners, [0.1, 0.4], 7.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_columns_of_a_loose_spring_are_differences():
    system = CASES["a loose spring"][0]()
    path = "springs.0.law.breaks"

    def end(x, breaks):
        moved = jv.replace(system, {path: breaks})
        return jv.flow(
            moved, jnp.stack([x, 0.4 * jnp.ones(())]), 0.0, 2.0, engine="event", rtol=1e-12
        )

    at = (jnp.asarray(0.1), jnp.asarray([-0.3, 0.2, 0.5]))
    by_start, by_breaks = jax.jit(jax.jacfwd(end, (0, 1)))(*at)
    step = 1e-6
    steps = [end(at[0] + s, at[1]) for s in (step, -step)]
    np.testing.assert_allclose(by_start, (steps[0] - steps[1]) / (2 * step), atol=3e-8)
    moved = jnp.asarray([0.0, step, 0.0])
    steps = [end(at[0], at[1] + s * moved) for s in (1, -1)]
    np.testing.assert_allclose(
        by_breaks[:, 1], (steps[0] - steps[1]) / (2 * step), atol=3e-8
    )


def shaw_and_holmes(stop, ratio, frequency):
    """Return speed and phase where contact begins, and multipliers, of one impact a period.

    x'' + 2 r x' + x + stop max(x, 0) = cos(w t + p): from x = 0 upwards, in contact for a
    time, and back; every piece linear, matched at its ends.
    """
    period = 2 * np.pi / frequency
    pieces = [np.array([[0.0, 1.0], [-k, -2 * ratio]]) for k in (1 + stop, 1.0)]

    def forced(k, t, phase):
        z = np.exp(1j * (frequency * t + phase)) / (
            k - frequency**2 + 2j * ratio * frequency
        )
        return np.array([z.real, (1j * frequency * z).real])

    def miss(unknown):
        speed, phase, closed = unknown
        state = np.array([0.0, speed])
        for piece, k, a, b in (
            (pieces[0], 1 + stop, 0.0, closed),
            (pieces[1], 1.0, closed, period),
        ):
            moved = expm(piece * (b - a)) @ (state - forced(k, a, phase))
            state = moved + forced(k, b, phase)
            if k > 1:
                middle = state[0]
        return [middle, state[0], state[1] - speed]

    found = [
        fsolve(miss, [v, p, c * period], xtol=1e-14, full_output=True)
        for v in (0.5, 1.5)
        for p in np.linspace(0, 2 * np.pi, 9)[:-1]
        for c in (0.2, 0.35)
    ]
    speed, phase, closed = next(
        x for x, _, ok, _ in found if ok == 1 and x[0] > 1e-3 and 0 < x[2] < period
    )
    matrix = expm(pieces[1] * (period - closed)) @ expm(pieces[0] * closed)
    return speed, phase, np.linalg.eigvals(matrix)


@pytest.mark.slow  # compiles an orbit of its own, 3 s
def test_the_piecewise_linear_oscillator_of_shaw_and_holmes_has_its_orbit():
    stop, ratio, frequency = 15.0, 0.1, 1.3
    speed, phase, multipliers = shaw_and_holmes(stop, ratio, frequency)
    system = jv.ImpactSystem(
        jv.LinearSystem([[1.0]], [[2 * ratio]], [[1.0]]),
        (jv.Contact([1.0], 0.0, jv.PiecewiseLinearContact([stop], [])),),
        (jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, frequency, phase)),),
    )
    orbit = jv.periodic_orbit(system, [0.0, speed], engine="event")
    assert int(orbit.result) == 0
    np.testing.assert_allclose(orbit.state, [0.0, speed], atol=1e-9)
    np.testing.assert_allclose(
        np.sort_complex(orbit.floquet_multipliers), np.sort_complex(multipliers), rtol=1e-7
    )
    assert int(orbit.contacts) == 1


def two_masses(law, push):
    linear = jv.LinearSystem(np.diag([2.0, 3.0]), np.zeros((2, 2)), np.zeros((2, 2)))
    load = jv.AppliedLoad([1.0, 0.0], jv.ConstantLoad(push))
    return jv.ImpactSystem(linear, (jv.Contact([1.0, -1.0], 0.1, law),), (load,))


def test_masses_that_collide_and_stay_together_keep_their_momentum_and_energy():
    push, time = 0.7, 5.0
    system = two_masses(jv.RestitutionContact(0.0), push)
    end = jv.flow(system, [0.0, 0.0, 1.5, 0.0], 0.0, time, engine="event")
    # Newton: meeting under the push, one common speed from there, one acceleration.
    meets = (np.sqrt(1.5**2 + 2 * push / 2 * 0.1) - 1.5) / (push / 2)
    speed = 1.5 + push / 2 * meets
    common = 2 * speed / 5
    left = time - meets
    np.testing.assert_allclose(end[2:], common + push / 5 * left, rtol=1e-12)
    assert abs(float(2 * end[2] + 3 * end[3]) - (2 * 1.5 + push * time)) < 1e-10
    work = push * float(end[0])
    lost = 0.5 * (2 * 3 / 5) * speed**2
    energy = 0.5 * (2 * end[2] ** 2 + 3 * end[3] ** 2) - 0.5 * 2 * 1.5**2
    assert abs(float(energy) - (work - lost)) < 1e-10
    np.testing.assert_allclose(end[0] - end[1], 0.1, atol=1e-12)


@pytest.mark.parametrize("law", [jv.LinearContact(400.0), jv.HertzContact(4e3)])
def test_masses_pressed_into_an_elastic_contact_keep_their_energy(law):
    push, time = 40.0, 3.0
    system = two_masses(law, push)
    end = jv.flow(system, [0.1, 0.0, 0.05, 0.0], 0.0, time, engine="event", rtol=1e-12)
    assert abs(float(2 * end[2] + 3 * end[3]) - (2 * 0.05 + push * time)) < 1e-10
    stored = law.energy(end[0] - end[1] - 0.1)
    kinetic = 0.5 * (2 * end[2] ** 2 + 3 * end[3] ** 2) - 0.5 * 2 * 0.05**2
    work = push * (float(end[0]) - 0.1)
    assert abs(float(kinetic + stored) - work) < 1e-10 * work
