"""Checked against: DOP853 on equations by hand, differences of it, and diffrax."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.dynamics.modal import modal_form
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
SYSTEM = modal_cantilever(MODES, jv.HertzContact(5e3))
# It hits the stop twice in a period from here.
START = np.concatenate([[0.0095], np.zeros(MODES - 1), [0.006], np.zeros(MODES - 1)])
# A stiffness entry of the second mode, whose square root is its frequency.
ENTRY = (1, 1)


def by_hand(state=START, **changes):
    """Return DOP853's state after a period, with parameters changed by some amounts."""
    squares = cantilever_frequencies(MODES) ** 2
    losses = 2 * DAMPING_RATIO * cantilever_frequencies(MODES)
    squares[1] += changes.get("mode", 0.0)
    stiffness, gap = 5e3 + changes.get("stiffness", 0.0), GAP + changes.get("gap", 0.0)
    frequency = FREQUENCY + changes.get("frequency", 0.0)

    def rates(time, state):
        x, v = state[:MODES], state[MODES:]
        push = AMPLITUDE * np.cos(frequency * time)
        push -= stiffness * max(TIP @ x - gap, 0.0) ** 1.5
        return np.concatenate([v, TIP * push - squares * x - losses * v])

    tight = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-15}
    return solve_ivp(rates, (0, PERIOD), state, **tight).y[:, -1]


def changed(amounts):
    stiffness = jnp.asarray(SYSTEM.linear.stiffness)
    return jv.replace(
        SYSTEM,
        {
            "contacts.0.law.stiffness": 5e3 + amounts["stiffness"],
            "contacts.0.gap": GAP + amounts["gap"],
            "loads.0.law.frequency": FREQUENCY + amounts["frequency"],
            "linear.stiffness": stiffness.at[ENTRY].add(amounts["mode"]),
        },
    )


STEPS = {"stiffness": 1.0, "gap": 1e-6, "frequency": 1e-4, "mode": 0.05}


@pytest.mark.slow  # differences of DOP853, 20 s
def test_gradients_are_differences_of_an_independent_integration():
    def end(amounts):
        return jv.flow(changed(amounts), START, 0.0, PERIOD, rtol=1e-10, engine="modal")

    found = jax.jacfwd(end)(dict.fromkeys(STEPS, 0.0))
    for name, step in STEPS.items():
        # Of fourth order.
        ends = [by_hand(**{name: k * step}) for k in (-2, -1, 1, 2)]
        expected = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
        size = np.abs(SCALES * expected).max()
        error = np.abs(SCALES * (np.asarray(found[name]) - expected)).max()
        assert error < 1e-6 * size, name


@pytest.mark.slow  # compiles two engines
def test_the_jacobian_by_state_and_times_is_that_of_time_stepping():
    rng = np.random.default_rng(3)
    change = rng.normal(size=2 * MODES) / SCALES, 1e-3, 2e-3

    def moved(engine):
        def end(state, t0, t1):
            return jv.flow(SYSTEM, state, t0, t1, rtol=1e-11, engine=engine)

        return jax.jvp(end, (jnp.asarray(START), 0.1, 0.9), change)

    (value, slope), (expected, known) = moved("modal"), moved("diffrax")
    for one, other in ((value, expected), (slope, known)):
        size = np.abs(SCALES * other).max()
        np.testing.assert_allclose(SCALES * one, SCALES * other, atol=1e-8 * size)


@pytest.mark.slow  # compiles the motion and its derivative
def test_reverse_mode_gives_the_rows_of_the_jacobian():
    def speed(state):
        return jv.flow(SYSTEM, state, 0.0, 0.3, rtol=1e-9, engine="modal")[MODES]

    start = jnp.asarray(START)
    forward, reverse = jax.jacfwd(speed)(start), jax.jit(jax.grad(speed))(start)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12, atol=1e-14)


def test_auto_selects_the_modes_of_a_large_system():
    found = jv.flow(SYSTEM, START, 0.0, PERIOD, rtol=1e-9)
    by_name = jv.flow(SYSTEM, START, 0.0, PERIOD, rtol=1e-9, engine="modal")
    np.testing.assert_array_equal(found, by_name)
    error = np.abs(SCALES * (np.asarray(found) - by_hand())).max()
    assert error < 1e-9 * np.abs(SCALES * found).max()


@pytest.mark.slow  # compiles time stepping, 6 s
def test_a_structure_moves_under_its_weight_alone():
    # Constant loads have no period, whose parts the steps of the modal form are.
    weighted = jv.AppliedLoad(TIP, jv.ConstantLoad(1e-3))
    system = jv.ImpactSystem(SYSTEM.linear, SYSTEM.contacts, [weighted])
    assert modal_form(system) is None
    # From rest, without contact.
    found, time = jv.flow(system, np.zeros(2 * MODES), 0.0, 0.7), 0.7
    paces = cantilever_frequencies(MODES)
    damped = paces * np.sqrt(1 - DAMPING_RATIO**2)
    left = np.exp(-DAMPING_RATIO * paces * time)
    sine = np.sin(damped * time)
    bend = np.cos(damped * time) + DAMPING_RATIO * paces / damped * sine
    pulled = 1e-3 * TIP
    known = np.concatenate(
        [pulled * (1 - left * bend) / paces**2, pulled * left * sine / damped]
    )
    assert TIP @ known[:MODES] < GAP
    size = np.abs(SCALES * known).max()
    np.testing.assert_allclose(SCALES * found, SCALES * known, rtol=0, atol=1e-8 * size)


def test_a_damped_rigid_body_mode_is_left_to_time_stepping():
    without = {"mode": -(cantilever_frequencies(MODES)[1] ** 2)}
    system = changed(dict.fromkeys(STEPS, 0.0) | without)
    assert modal_form(system) is None
    found = jv.flow(system, START, 0.0, PERIOD, rtol=1e-9)
    expected = by_hand(**without)
    error = np.abs(SCALES * (np.asarray(found) - expected)).max()
    assert error < 1e-8 * np.abs(SCALES * expected).max()


def test_motions_are_not_differences_from_a_much_larger_steady_state():
    def near_resonance(relative):
        frequency = cantilever_frequencies(MODES)[0] * (1 + relative)
        undamped = jnp.zeros((MODES, MODES))
        return jv.replace(
            SYSTEM,
            {"linear.damping": undamped, "loads.0.law.frequency": frequency},
        )

    assert modal_form(near_resonance(1e-6)) is None
    assert modal_form(near_resonance(1e-4)) is not None
    # A mode that the load does not push has no steady state.
    still = jv.replace(near_resonance(1e-6), {"loads.0.law.amplitude": 0.0})
    assert modal_form(still) is not None


def test_a_system_without_a_modal_form_is_refused():
    small = modal_cantilever(3, jv.HertzContact(5e3))
    with pytest.raises(ValueError, match=r"engine = 'modal': .* more than 8 degrees"):
        jv.flow(small, np.zeros(6), 0.0, 1.0, engine="modal")
    with pytest.raises(ValueError, match=r"engine = 'modal'; allowed: auto, diffrax"):
        jv.lyapunov_exponents(small, np.zeros(6), engine="modal")
