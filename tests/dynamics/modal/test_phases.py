"""Checked against: DOP853 with events, on equations by hand and on their variation."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import jaxvib as jv
from jaxvib.dynamics.modal import modal_flow, modal_form
from jaxvib.dynamics.modal.gaps import gaps_of
from jaxvib.dynamics.motion import Want
from tests.modal_cantilever import (
    AMPLITUDE,
    DAMPING_RATIO,
    FREQUENCY,
    GAP,
    cantilever_frequencies,
    modal_cantilever,
)

MODES, SPAN, STEP = 9, 0.3, 1e-4
TIP = 2 * (-1.0) ** np.arange(MODES)
SCALES = np.concatenate([cantilever_frequencies(MODES), np.ones(MODES)])
START = jnp.zeros(2 * MODES).at[0].set(0.0095).at[MODES].set(0.006)
# The second stop closes while the first one is closed, and stiff ones rattle.
GAPS, STIFFNESS = np.array([1.0, 1.0005]) * GAP, np.array([2e3, 2e5])


@pytest.fixture(scope="module")
def form():
    laws = [jv.LinearContact(k) for k in STIFFNESS]
    return modal_form(modal_cantilever(MODES, *laws, gaps=GAPS))


@pytest.fixture(scope="module")
def change():
    return jnp.asarray(np.random.default_rng(7).normal(size=2 * MODES) / SCALES)


@pytest.fixture(scope="module")
def found(form, change):
    return modal_flow(form, START, 0.0, SPAN, Want(1e-9, grazing=1e-12, along=change))


@pytest.fixture(scope="module")
def by_hand(change):
    """Return the end, onsets and releases, gaps' maxima, and extreme displacements."""
    squares = cantilever_frequencies(MODES) ** 2
    losses = 2 * DAMPING_RATIO * cantilever_frequencies(MODES)

    def rates(acting):
        def of(time, both):
            x, v, dx, dv = np.split(both, 4)
            push = AMPLITUDE * np.cos(FREQUENCY * time) - acting @ (TIP @ x - GAPS)
            pull = acting.sum() * (TIP @ dx)
            own = v, -squares * x - losses * v + TIP * push
            return np.concatenate([*own, dv, -squares * dx - losses * dv - TIP * pull])

        return of

    def event(function, direction, terminal=True):
        function.direction, function.terminal = direction, terminal
        return function

    time, both = 0.0, np.concatenate([START, change])
    closed, times, tops, places = np.zeros(2, bool), ([], []), [], []
    while time < SPAN:
        sides = [
            event(lambda _, b, k=k: TIP @ b[:MODES] - GAPS[k], -1 if closed[k] else 1)
            for k in range(2)
        ]
        top = event(lambda _, b: TIP @ b[MODES : 2 * MODES], -1, terminal=False)
        tight = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-15, "max_step": STEP}
        acting = rates(STIFFNESS * closed)
        found = solve_ivp(acting, (time, SPAN), both, events=[*sides, top], **tight)
        time, both = found.t[-1], found.y[:, -1]
        tops.append(np.array([TIP @ b[:MODES] for b in found.y_events[2]]))
        places.append(found.y[:MODES])
        for k in range(2):
            if found.t_events[k].size:
                closed[k] = ~closed[k]
                times[k].append(time)
    every = np.concatenate(places, axis=1)
    maxima = np.concatenate(tops)[:, None] - GAPS
    return both, times, maxima, (every.min(axis=1), every.max(axis=1))


def test_a_motion_between_linear_stops_is_exact(found, by_hand):
    expected = by_hand[0][: 2 * MODES]
    away = SCALES * (np.asarray(found.state) - expected)
    assert np.abs(away).max() < 1e-10 * np.abs(SCALES * expected).max()


def test_a_change_of_the_state_moves_as_its_variational_equation(found, by_hand):
    expected = by_hand[0][2 * MODES :]
    away = SCALES * (np.asarray(found.along) - expected)
    assert np.abs(away).max() < 1e-9 * np.abs(SCALES * expected).max()


def test_contacts_shorter_than_a_step_are_counted(found, by_hand):
    _, times, maxima, _ = by_hand
    seen = found.observables
    assert seen.onsets.tolist() == [len(each) / 2 for each in times]
    assert min(seen.onsets.tolist()) > 5
    np.testing.assert_allclose(seen.first_touch, [t[0] for t in times], rtol=1e-9)
    durations = [np.sum(np.diff(each)[::2]) for each in times]
    np.testing.assert_allclose(seen.duration, durations, rtol=1e-8)
    np.testing.assert_allclose(seen.deepest, maxima.max(axis=0), rtol=1e-8)
    nearest = np.abs(maxima).min(axis=0)
    np.testing.assert_allclose(seen.nearest, nearest, rtol=1e-6, atol=1e-10)


def test_phases_hide_no_extreme_displacement(found, by_hand):
    *_, maxima, (lowest, highest) = by_hand
    deepest = maxima.max(axis=0)
    amplitude = np.maximum(highest, -lowest)
    forces = AMPLITUDE + STIFFNESS @ np.maximum(deepest, 0.0)
    bends = cantilever_frequencies(MODES) ** 2 * amplitude + np.abs(TIP) * forces
    hidden = bends * STEP**2 / 8  # between steps
    seen = found.observables
    for above in (np.asarray(seen.highest) - highest, lowest - np.asarray(seen.lowest)):
        assert np.all(above > -1e-8 * amplitude)
        assert np.all(above < hidden + 1e-8 * amplitude)


def test_a_motion_at_rest_ends_where_it_began():
    system = modal_cantilever(MODES, *map(jv.LinearContact, STIFFNESS), gaps=GAPS)
    still = modal_form(jv.replace(system, {"loads.0.law.amplitude": 0.0}))
    none = jnp.zeros(2 * MODES)
    found = modal_flow(still, none, 0.0, SPAN, Want(1e-9, grazing=1e-12, along=none))
    assert (int(found.result), int(found.steps) < 10) == (0, True)
    np.testing.assert_array_equal(found.state, none)


# With modes for each set of stops, and without.
@pytest.mark.parametrize("stops", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_body_pushed_from_rest_on_a_stop_is_in_contact_at_once(stops, change):
    laws = [jv.LinearContact(k) for k in [STIFFNESS[0], *[STIFFNESS[1]] * (stops - 1)]]
    short, gaps = 0.01, (0.0, *[1.0] * (stops - 1))
    pressed = modal_form(modal_cantilever(MODES, *laws, gaps=gaps))
    rest = jnp.zeros(2 * MODES)
    if stops == 2:
        want = Want(1e-9, grazing=1e-12, along=change)
        found = modal_flow(pressed, rest, 0.0, short, want)
        moved = np.asarray(found.along)
    else:
        want = Want(1e-11, grazing=1e-12, monodromy=True)
        found = modal_flow(pressed, rest, 0.0, short, want)
        moved = np.asarray(found.monodromy) @ np.asarray(change)
    frequencies = cantilever_frequencies(MODES)
    stiffness = np.diag(frequencies**2) + STIFFNESS[0] * np.outer(TIP, TIP)
    losses = np.diag(2 * DAMPING_RATIO * frequencies)
    rates = np.block([[np.zeros_like(losses), np.eye(MODES)], [-stiffness, -losses]])
    away = SCALES * (moved - expm(rates * short) @ change)
    assert np.abs(away).max() < 1e-10 * np.abs(SCALES * change).max()
    durations = [short, *[0.0] * (stops - 1)]
    np.testing.assert_allclose(found.observables.duration, durations, rtol=1e-12)


def test_contacts_that_touch_are_closed_if_the_load_presses_them():
    laws = [jv.LinearContact(k) for k in (1e3, 2e3, 3e3, 4e3)]
    cantilever = modal_cantilever(MODES, *laws, gaps=(0.0, 1.0, -1.0, 0.0))
    away = jv.replace(cantilever, {"contacts.3.direction": -TIP})
    form, rest = modal_form(away), jnp.zeros(2 * MODES)
    y = form.amplitudes(rest, 0.0)
    gaps = gaps_of(form, y, form.steps.length[0])
    assert gaps.closed_from(form, y, 0.0).tolist() == [True, False, True, False]


def test_only_linear_contacts_have_phases(form):
    laws = jv.LinearContact(1e3), jv.HertzContact(1e3)
    assert form.phases is not None
    assert modal_form(modal_cantilever(MODES, *laws, gaps=GAPS)).phases is None
