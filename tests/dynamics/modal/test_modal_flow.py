"""Checked against: DOP853 on equations by hand, and switched matrix exponentials."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jaxvib as jv
from jaxvib.dynamics.modal import modal_flow, modal_form
from jaxvib.dynamics.motion import Want
from tests.modal_cantilever import (
    AMPLITUDE,
    DAMPING_RATIO,
    FREQUENCY,
    GAP,
    PERIOD,
    cantilever_frequencies,
    modal_cantilever,
)

MODES = 9
TIP = 2 * (-1.0) ** np.arange(MODES)
SCALES = np.concatenate([cantilever_frequencies(MODES), np.ones(MODES)])
HERTZ = jv.HertzContact(5e3)
# It hits the stop twice in a period from here.
START = np.concatenate([[0.0095], np.zeros(MODES - 1), [0.006], np.zeros(MODES - 1)])


@jax.jit
def flow(form, state, begin, end, rtol):
    return modal_flow(form, state, begin, end, Want(rtol))


@jax.jit
def flow_with_sensitivities(form, state, begin, end, rtol):
    found = modal_flow(form, state, begin, end, Want(rtol, monodromy=True))
    return found.state, found.monodromy, found.steps


def by_hand(force, duration=PERIOD, change=None, slope=None, start=START):
    """Return DOP853's state, or what a small change has become."""
    squares = cantilever_frequencies(MODES) ** 2
    losses = 2 * DAMPING_RATIO * cantilever_frequencies(MODES)

    def rates(time, both):
        x, v, *changes = np.split(both, both.size // MODES)
        push = AMPLITUDE * np.cos(FREQUENCY * time) - force(TIP @ x - GAP, TIP @ v)
        found = [v, -squares * x - losses * v + TIP * push]
        if changes:
            dx, dv = changes
            pull = slope(TIP @ x - GAP) * (TIP @ dx)
            found += [dv, -squares * dx - losses * dv - TIP * pull]
        return np.concatenate(found)

    start = start if change is None else np.concatenate([start, change])
    tight = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-15}
    return solve_ivp(rates, (0, duration), start, **tight).y[-2 * MODES :, -1]


def error_of(found, expected):
    return (
        np.abs(SCALES * (np.asarray(found) - expected)).max()
        / np.abs(SCALES * expected).max()
    )


def hertz(depth, rate):
    return 5e3 * max(depth, 0.0) ** 1.5


@pytest.mark.slow  # DOP853 of stiff modes, 4 s
@pytest.mark.parametrize(("rtol", "most"), [(1e-7, 1e-7), (1e-10, 1e-10)])
def test_the_error_stays_below_the_tolerance(rtol, most):
    form = modal_form(modal_cantilever(MODES, HERTZ))
    found = flow(form, START, 0.0, PERIOD, rtol)
    assert int(found.result) == 0
    assert error_of(found.state, by_hand(hertz)) < most


@pytest.mark.slow  # DOP853 of the variational equation, 5 s
def test_sensitivities_move_as_the_variational_equation_does():
    form = modal_form(modal_cantilever(MODES, HERTZ))
    change = np.random.default_rng(3).normal(size=2 * MODES) / SCALES
    _, found, steps = flow_with_sensitivities(form, START, 0.0, PERIOD, 1e-9)
    expected = by_hand(hertz, PERIOD, change, lambda z: 7.5e3 * np.sqrt(max(z, 0.0)))
    moved = np.asarray(found) @ change
    sizes = np.abs(SCALES * expected).max()
    np.testing.assert_allclose(SCALES * moved, SCALES * expected, atol=1e-8 * sizes)
    # The square roots with which slopes begin and end ask for no steps of their own.
    own = flow(form, START, 0.0, PERIOD, 1e-9).steps
    assert int(steps) < 1.2 * int(own)  # 146 and 131; with slopes at the nodes 193 and 147


def test_a_motion_at_rest_ends_where_it_began():
    system = jv.replace(modal_cantilever(MODES, HERTZ), {"loads.0.law.amplitude": 0.0})
    found = flow(modal_form(system), np.zeros(2 * MODES), 0.0, PERIOD, 1e-9)
    assert int(found.result) == 0
    assert int(found.steps) < 10
    np.testing.assert_array_equal(found.state, np.zeros(2 * MODES))


LAWS = {
    "hunt-crossley": (
        jv.HuntCrossleyContact(5e3, damping=2.0),
        lambda z, v: 5e3 * max(z, 0.0) ** 1.5 * max(1 + 2.0 * v, 0.0),
    ),
    "power": (jv.PowerContact(1e4, exponent=2.0), lambda z, _: 1e4 * max(z, 0.0) ** 2),
    "piecewise": (
        jv.PiecewiseLinearContact([50.0, 400.0], depths=[5e-4]),
        lambda z, _: 50.0 * max(z, 0.0) + 350.0 * max(z - 5e-4, 0.0),
    ),
}


@pytest.mark.slow  # compiles the motion for each law
@pytest.mark.parametrize("name", LAWS)
def test_other_laws_move_as_an_independent_integration(name):
    law, force = LAWS[name]
    form = modal_form(modal_cantilever(MODES, law))
    found = flow(form, START, 0.0, PERIOD, 1e-9)
    assert error_of(found.state, by_hand(force)) < 1e-8


@pytest.mark.slow  # compiles the motion of two laws
def test_steps_end_where_a_stop_becomes_stiffer():
    # As two stops at these depths, whose motions are exact in the modes of each set.
    gaps, laws = (GAP, GAP + 5e-4), (jv.LinearContact(50.0), jv.LinearContact(350.0))
    stops = modal_form(modal_cantilever(MODES, *laws, gaps=gaps))
    form = modal_form(modal_cantilever(MODES, LAWS["piecewise"][0]))
    assert stops.phases is not None
    assert form.phases is None
    expected = flow(stops, 2 * START, 0.0, PERIOD, 1e-10).state
    for rtol in (1e-7, 1e-10):
        found = flow(form, 2 * START, 0.0, PERIOD, rtol)
        # 5e-8 at both tolerances by steps over the depth.
        assert error_of(found.state, expected) < 1e-12


@pytest.mark.slow  # compiles the motion, DOP853 of stiff modes
def test_steps_end_where_a_damped_force_would_be_tensile():
    law, force = jv.HuntCrossleyContact(5e4, damping=60.0), LAWS["hunt-crossley"][1]
    form = modal_form(modal_cantilever(MODES, law))
    expected = by_hand(lambda z, v: 10 * force(z, 30 * v), start=3 * START)
    for rtol in (1e-7, 1e-9):
        found = flow(form, 3 * START, 0.0, PERIOD, rtol)
        # Without it 29 and 8e-8.
        assert error_of(found.state, expected) < 1e-10


@pytest.mark.slow  # a hundred matrix exponentials and their roots
def test_a_linear_stop_switches_between_two_matrix_exponentials():
    stiffness = 500.0
    form = modal_form(modal_cantilever(MODES, jv.LinearContact(stiffness)))
    found, monodromy, _ = flow_with_sensitivities(form, START, 0.0, PERIOD, 1e-10)
    squares = np.diag(cantilever_frequencies(MODES) ** 2)
    losses = np.diag(2 * DAMPING_RATIO * cantilever_frequencies(MODES))
    # Unknowns: state, load's cosine and sine, and the constant 1.
    matrices = []
    for k in (0.0, stiffness):
        matrix = np.zeros((2 * MODES + 3, 2 * MODES + 3))
        matrix[:MODES, MODES : 2 * MODES] = np.eye(MODES)
        matrix[MODES : 2 * MODES, :MODES] = -squares - k * np.outer(TIP, TIP)
        matrix[MODES : 2 * MODES, MODES : 2 * MODES] = -losses
        matrix[MODES : 2 * MODES, 2 * MODES] = AMPLITUDE * TIP
        matrix[MODES : 2 * MODES, 2 * MODES + 2] = k * GAP * TIP
        matrix[2 * MODES, 2 * MODES + 1] = -FREQUENCY
        matrix[2 * MODES + 1, 2 * MODES] = FREQUENCY
        matrices.append(matrix)

    def depth(state):
        return TIP @ state[:MODES] - GAP

    state, time, whole = np.concatenate([START, [1.0, 0.0, 1.0]]), 0.0, np.eye(21)
    step = PERIOD / 400
    while time < PERIOD - 1e-12:
        closed = depth(state) > 0 or (
            abs(depth(state)) < 1e-12 and TIP @ state[MODES : 2 * MODES] > 0
        )
        matrix, length = matrices[int(closed)], min(step, PERIOD - time)
        after = scipy.linalg.expm(matrix * length) @ state
        if (depth(after) > 0) != closed and abs(depth(after)) > 1e-14:
            length = brentq(
                lambda t, m=matrix, s=state: depth(scipy.linalg.expm(m * t) @ s),
                1e-9,
                length,
                xtol=1e-15,
            )
        moved = scipy.linalg.expm(matrix * length)
        state, whole, time = moved @ state, moved @ whole, time + length
    assert error_of(found, state[: 2 * MODES]) < 1e-9
    size = 2 * MODES
    difference = SCALES[:, None] * (np.asarray(monodromy) - whole[:size, :size]) / SCALES
    assert np.abs(difference).max() < 1e-8


@pytest.mark.slow  # DOP853 of stiff modes
def test_a_second_stop_closes_while_the_first_one_is_closed():
    gaps = GAP, 1.01 * GAP
    form = modal_form(modal_cantilever(MODES, HERTZ, HERTZ, gaps=gaps))
    found = flow(form, START, 0.0, PERIOD, 1e-10)
    expected = by_hand(lambda z, v: hertz(z, v) + hertz(z - gaps[1] + GAP, v))
    alone = by_hand(hertz)
    assert error_of(expected, alone) > 1e-4  # it is reached
    assert error_of(found.state, expected) < 1e-9


@pytest.mark.slow  # compiles the laws of four stops
def test_stiff_stops_of_different_laws_converge_by_newton_iteration():
    # Without Newton's iteration steps are as short as a fixed point of the forces needs.
    gaps, shares = GAP * np.array([1.0, 1.01, 1.02, 1.03]), [2e4, 5e5, 1e6, 500.0]
    laws = (
        jv.LinearContact(shares[0]),
        jv.HertzContact(shares[1]),
        jv.PowerContact(shares[2], exponent=2.0),
        jv.PiecewiseLinearContact([shares[3], 8 * shares[3]], depths=[5e-4]),
    )

    def force(z, _):
        depths = [max(z - gap + GAP, 0.0) for gap in gaps]
        bent = shares[3] * (depths[3] + 7 * max(depths[3] - 5e-4, 0.0))
        powers = zip(shares[:3], depths[:3], (1.0, 1.5, 2.0), strict=True)
        return sum(k * depth**power for k, depth, power in powers) + bent

    form, expected = modal_form(modal_cantilever(MODES, *laws, gaps=gaps)), by_hand(force)
    for rtol, most, steps in ((1e-4, 1e-7, 220), (1e-9, 1e-9, 285)):
        found = flow(form, START, 0.0, PERIOD, rtol)
        assert error_of(found.state, expected) < most
        assert found.steps < steps  # 192 and 262; 265 and 296 by fixed points


@pytest.mark.slow  # compiles the motion of 20 and 80 modes
def test_the_number_of_steps_does_not_depend_on_the_number_of_modes():
    counts = []
    for modes in (20, 80):
        form = modal_form(modal_cantilever(modes, HERTZ))
        state = np.zeros(2 * modes)
        state[0], state[modes] = START[0], START[MODES]
        counts.append(int(flow(form, state, 0.0, PERIOD, 1e-8).steps))
    assert abs(counts[1] - counts[0]) < 0.1 * counts[0]


def test_a_motion_maps_over_states_as_one_by_one():
    form = modal_form(modal_cantilever(MODES, HERTZ))
    states = jnp.stack([jnp.asarray(START), 0.5 * START])
    end = jax.jit(jax.vmap(lambda state: flow(form, state, 0.0, 0.3, 1e-8).state))
    one = jnp.stack([flow(form, state, 0.0, 0.3, 1e-8).state for state in states])
    np.testing.assert_allclose(end(states), one, rtol=0, atol=1e-12)
