"""Checked against: scipy's DOP853 and matrix exponential on equations by hand, and flow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.dynamics.modal import modal_form
from jaxvib.dynamics.modal.collocation import turn_less_one, turned

TIGHT = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-15}
PERIOD = 2 * np.pi / 12.0


def row(bodies, stiffness=1e6, damping=2.0, damper=300.0, force=60.0, ground=0.0):
    """Bodies in a row, each on a spring of its own, five of them beside a stop.

    A strong damper on one body couples all modes; some are overdamped.
    """
    modules = []
    for i in range(bodies):
        left = f"b{i - 1}" if i else "ground"
        modules.append(
            jv.TranslationTranslation(
                left, f"b{i}", mass=1.0, stiffness=2000.0, damping=damping
            )
        )
        modules.append(
            jv.TranslationTranslation(
                "ground",
                f"b{i}",
                mass=0.0,
                stiffness=200.0,
                damping=ground + damper * (i == 3),
            )
        )
    linear = jv.assemble(modules)
    places = np.linspace(0, bodies - 1, 5).round().astype(int)
    stops = tuple(
        jv.Contact(linear.direction(f"b{p}"), 0.01 + 0.001 * j, jv.HertzContact(stiffness))
        for j, p in enumerate(places)
    )
    pushes = tuple(
        jv.AppliedLoad(linear.direction(f"b{p}"), jv.HarmonicLoad(force, 12.0))
        for p in places[:2]
    )
    return jv.ImpactSystem(linear, stops, pushes), places


def by_hand(system, places, start, duration=PERIOD, stiffness=1e6, force=60.0):
    """Return scipy's state after a time, and the largest contact force on the way."""
    _, damping, springs = (np.asarray(m) for m in system.matrices())
    gaps = 0.01 + 0.001 * np.arange(5)
    n = len(springs)

    def rates(time, state):
        x, v = state[:n], state[n:]
        push = -springs @ x - damping @ v
        push[places] -= stiffness * np.maximum(x[places] - gaps, 0) ** 1.5
        push[places[:2]] += force * np.cos(12.0 * time)
        return np.concatenate([v, push])

    states = by_pieces(rates, duration, start, places, gaps)
    depths = states[places] - gaps[:, None]
    contact, at = np.unravel_index(np.argmax(depths), depths.shape)
    before, depth, after = depths[contact, at - 1 : at + 2]
    # The vertex of the parabola through three samples.
    depth += (after - before) ** 2 / (8 * (2 * depth - before - after))
    return states[:, -1], stiffness * max(depth, 0.0) ** 1.5


def by_pieces(rates, duration, start, places, gaps):
    """Return scipy's states, which stops where a gap closes or opens.

    Its error estimates miss such a kink by chance: one step in ten is off by 1e-10 or
    more.
    """

    def event(place, gap):
        def gap_of(time, state):
            return state[place] - gap

        gap_of.terminal = True
        return gap_of

    events = [event(*each) for each in zip(places, gaps, strict=True)]
    now, state, found = 0.0, start, []

    def moved(begin, end, state):
        return solve_ivp(rates, (begin, end), state, **TIGHT).y[:, -1]

    while now < duration:
        # A short step past the last event, which would be found again.
        after = min(now + 1e-9 * duration, duration)
        state = moved(now, after, state)
        part = solve_ivp(
            rates, (after, duration), state, dense_output=True, events=events, **TIGHT
        )
        now = part.t[-1]
        found.append(part.sol(np.linspace(after, now, 1001)))
        # States at events are interpolated, with fewer digits than those of steps.
        state = moved(part.t[-2], now, part.y[:, -2])
        found.append(state[:, None])
    return np.concatenate(found, axis=1)


def tangent_by_hand(system, places, start, direction):
    """Return what a small change of a state has become after a period, by scipy."""
    _, damping, springs = (np.asarray(m) for m in system.matrices())
    gaps = 0.01 + 0.001 * np.arange(5)
    n = len(springs)

    def rates(time, both):
        x, v, dx, dv = both.reshape(4, n)
        push, pull = -springs @ x - damping @ v, -springs @ dx - damping @ dv
        depth = np.maximum(x[places] - gaps, 0)
        push[places] -= 1e6 * depth**1.5
        pull[places] -= 1.5e6 * np.sqrt(depth) * dx[places]
        push[places[:2]] += 60.0 * np.cos(12.0 * time)
        return np.concatenate([v, push, dv, pull])

    found = solve_ivp(rates, (0, PERIOD), np.concatenate([start, direction]), **TIGHT)
    return found.y[2 * n :, -1]


@pytest.fixture(scope="module")
def long_row():
    # Dampers to the ground: else the transient takes thousands of periods.
    system, places = row(100, ground=2.0)
    return system, places, jv.periodic_orbit(system)


@pytest.mark.slow  # its orbit takes 20 s to compile
def test_an_orbit_of_a_hundred_bodies_closes_under_other_integrations(long_row):
    system, places, orbit = long_row
    assert int(orbit.result) == 0
    state = np.asarray(orbit.state)
    end, force = by_hand(system, places, state)
    size = np.abs(state).max()
    np.testing.assert_allclose(end, state, rtol=0, atol=1e-10 * size)
    assert int(orbit.contacts) >= 2
    np.testing.assert_allclose(float(orbit.max_contact_force), force, rtol=1e-6)
    times = np.array([0.0, PERIOD])
    end = np.asarray(jv.simulate(system, state, times, rtol=1e-13).states[-1])
    np.testing.assert_allclose(end, state, rtol=0, atol=1e-9 * size)


@pytest.mark.slow  # of the same orbit
def test_its_monodromy_matrix_is_that_of_the_variational_equation(long_row):
    system, places, orbit = long_row
    direction = np.random.default_rng(3).normal(size=200)
    direction[:100] /= 12.0
    moved = np.asarray(orbit.monodromy) @ direction
    expected = tangent_by_hand(system, places, np.asarray(orbit.state), direction)
    np.testing.assert_allclose(moved, expected, atol=1e-7 * np.abs(moved).max())
    assert float(orbit.multiplier_error) < 1e-6
    assert orbit.floquet_multipliers.shape == (200,)
    assert int(orbit.stable) == 1


@pytest.mark.parametrize("damper", [0.0, 300.0])
def test_modes_turn_as_the_matrix_exponential_does(damper):
    system, _ = row(12, damper=damper)
    modes = modal_form(system).modes
    mass, damping, springs = (np.asarray(m) for m in system.matrices())
    inverse = np.linalg.inv(mass)
    matrix = np.block(
        [[np.zeros((12, 12)), np.eye(12)], [-inverse @ springs, -inverse @ damping]]
    )

    @jax.jit
    def moved_at(time):
        turn = turn_less_one(modes.eigenvalues, time)
        return modes.shapes.T @ turned(turn, modes.duals)

    for time in (1e-6, 0.01, 1.0):
        moved = moved_at(time)
        expected = scipy.linalg.expm(matrix * time)
        np.testing.assert_allclose(moved, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.slow  # assembles four large systems, 8 s
def test_systems_without_a_modal_form_have_none():
    system, _ = row(12)
    small, _ = row(8)
    assert modal_form(small) is None
    hard = jv.Contact(system.contacts[0].direction, 0.01, jv.RestitutionContact(0.5))
    assert modal_form(jv.ImpactSystem(system.linear, (hard,), system.loads)) is None
    names = [f"b{i}" for i in range(12)]
    # Every body alone, critically damped: one eigenvector for two equal eigenvalues.
    alone = jv.assemble(
        [
            jv.TranslationTranslation("ground", n, mass=1.0, stiffness=25.0, damping=10.0)
            for n in names
        ]
    )
    load = jv.AppliedLoad(alone.direction("b0"), jv.HarmonicLoad(1.0, 12.0))
    assert modal_form(jv.ImpactSystem(alone, (), (load,))) is None
    traced = jax.eval_shape(
        lambda scale: jnp.zeros(
            1 if modal_form(jv.replace(system, {"contacts.0.gap": scale})) is None else 2
        ),
        jnp.asarray(0.01),
    )
    assert traced.shape == (1,)
