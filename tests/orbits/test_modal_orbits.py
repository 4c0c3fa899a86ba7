"""Checked against: scipy's DOP853 on equations by hand, and multipliers found with it."""

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.dynamics.modal import ModalForm, modal_form
from jaxvib.ensemble import Reason
from jaxvib.foundation.arrays import partition_arrays
from jaxvib.orbits.samples.modal_lanes import modal_groups
from jaxvib.studies.run.builtin_studies import find
from jaxvib.studies.run.system_file import read_system
from tests.modal_cantilever import (
    AMPLITUDE,
    DAMPING_RATIO,
    FREQUENCY,
    GAP,
    PERIOD,
    cantilever_frequencies,
    modal_cantilever,
)

MODES = 20
# The largest multiplier by another program, Newton iteration on matrices at 1e-12.
MULTIPLIER = 0.878830


@pytest.fixture(scope="module")
def orbit():
    return jv.periodic_orbit(modal_cantilever(MODES, jv.HertzContact(5e3)))


@pytest.mark.slow  # an orbit takes 20 s to compile
def test_the_largest_multiplier_is_that_of_another_program(orbit):
    assert int(orbit.result) == 0
    assert int(orbit.contacts) == 2
    assert float(orbit.largest_multiplier) == pytest.approx(MULTIPLIER, abs=6e-7)
    assert float(orbit.state_error) < 1e-11


@pytest.mark.slow  # the same orbit
def test_an_orbit_closes_under_an_independent_integration(orbit):
    modes = MODES
    frequencies, tip = cantilever_frequencies(modes), 2 * (-1.0) ** np.arange(modes)
    forces = []

    def rates(time, state):
        x, v = state[:modes], state[modes:]
        forces.append(5e3 * max(tip @ x - GAP, 0.0) ** 1.5)
        push = tip * (AMPLITUDE * np.cos(FREQUENCY * time) - forces[-1])
        push = push - frequencies**2 * x - 2 * DAMPING_RATIO * frequencies * v
        return np.concatenate([v, push])

    state, units = np.asarray(orbit.state), np.concatenate([frequencies, np.ones(modes)])
    tight = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-15}
    end = solve_ivp(rates, (0.0, PERIOD), state, **tight).y[:, -1]
    miss = np.abs(units * (end - state)).max() / np.abs(units * state).max()
    assert miss < 1e-9
    # Steps of DOP853 come within 1e-5 of the largest force.
    assert float(orbit.max_contact_force) == pytest.approx(max(forces), rel=1e-4)


def rattling(modes, damping_ratio=DAMPING_RATIO):
    """Return a cantilever between two damped stops."""
    law = jv.HuntCrossleyContact(5e3, 0.5)
    system = modal_cantilever(modes, law, law, gaps=(GAP, 1.5 * GAP))
    first, second = system.contacts
    other = jv.Contact(-second.direction, second.gap, second.law)
    frequencies = np.diag(cantilever_frequencies(modes))
    linear = jv.LinearSystem(np.eye(modes), 2 * damping_ratio * frequencies, frequencies**2)
    return jv.ImpactSystem(linear, [first, other], system.loads)


def test_samples_without_modes_are_a_group_of_their_own():
    systems = [rattling(9, ratio) for ratio in (0.01, 1.0, 0.02)]  # one critically damped
    parts = [partition_arrays(system) for system in systems]
    leaves = jax.tree.map(lambda *x: np.stack(x), *[leaves for leaves, _ in parts])
    in_modes, others = modal_groups(leaves, parts[0][1])
    assert in_modes.lanes.tolist() == [0, 2]
    assert others.lanes.tolist() == [1]
    assert others.static is parts[0][1]
    assert isinstance(in_modes.static, ModalForm)
    for place, lane in enumerate(in_modes.lanes):
        expected = jax.tree.leaves(partition_arrays(modal_form(systems[lane]))[0])
        for mine, theirs in zip(jax.tree.leaves(in_modes.leaves), expected, strict=True):
            np.testing.assert_array_equal(mine[place], theirs)


@pytest.mark.slow  # its kernels take 40 s to compile
def test_regimes_and_stored_motions_of_large_structures_use_their_modes():
    modes, loads = 18, np.array([3.3, 3.6])
    system, swept = rattling(modes), {"loads.0.law.frequency": loads}
    assert jv.orbits.transient_engine(system, "auto", 2)[0] == "modal"
    found = jv.orbits.regimes(system, swept)
    assert found.result.tolist() == [0, 0]
    assert found.labels == system.labels
    motions = jv.orbits.orbit_trajectories(system, swept, found, points=33)
    lost = jv.orbits.contact_work_rates(system, swept, found)
    frequencies, tip = cantilever_frequencies(modes), 2 * (-1.0) ** np.arange(modes)
    units = np.concatenate([frequencies, np.ones(modes)])
    for k, load in enumerate(loads):

        def rates(time, state, load=load):
            x, v = np.split(state[:-2], 2)
            push, power = AMPLITUDE * np.cos(load * time), []
            for side, gap in ((1, GAP), (-1, 1.5 * GAP)):
                depth = max(side * (tip @ x) - gap, 0.0)
                rate = side * (tip @ v)
                force = 5e3 * depth**1.5 * max(1 + 0.5 * rate, 0.0)
                push -= side * force
                power.append(force * rate)
            bend = frequencies**2 * x + 2 * DAMPING_RATIO * frequencies * v
            return np.concatenate([v, tip * push - bend, power])

        times = motions.times[k]
        tight = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-14, "t_eval": times}
        start = np.append(found.state[k], [0.0, 0.0])
        expected = solve_ivp(rates, (0.0, times[-1]), start, **tight).y.T
        work, expected = expected[-1, -2:], expected[:, :-2]
        np.testing.assert_allclose(lost[k], work / times[-1], rtol=1e-5, atol=1e-12)
        size = np.abs(units * expected).max()
        assert np.abs(units * (expected[-1] - found.state[k])).max() < 1e-8 * size
        # Stored motions have the tolerance of transients.
        assert np.abs(units * (expected - motions.states[k])).max() < 1e-5 * size
        depth = motions.states[k, :, :modes] @ np.stack([tip, -tip]).T
        force = 5e3 * np.maximum(depth - GAP * np.array([1, 1.5]), 0) ** 1.5
        rate = motions.states[k, :, modes:] @ np.stack([tip, -tip]).T
        np.testing.assert_allclose(
            motions.contact_force[k], force * np.maximum(1 + 0.5 * rate, 0), atol=1e-12
        )


@pytest.mark.slow  # compiles transients, orbits and observed motions, 10 s
def test_small_chaos_that_recurs_closely_is_no_orbit():
    # Recurrences are about 1e-4 of the size after each two periods: within what counts as
    # settled, and beside an unstable orbit whose multipliers have no error bound.
    system = read_system(find("cantilever_stop"), ["system.linear.modes=20"]).system
    frequency, gap = 16.0 + 24.0 / 7, 0.004 + 2 * 0.016 / 7
    values = {"loads.shaker.law.frequency": frequency, "contacts.stop.gap": gap}
    found = jv.orbits.regimes(system, {path: [value] for path, value in values.items()})
    assert Reason(int(found.result[0])) is Reason.CHAOTIC
    there, state = jv.replace(system, values), found.state[0]
    apart, end = 1e-12 * np.abs(state).max(), 24 * 2 * np.pi / frequency
    ends = [
        jv.flow(there, start, 0.0, end, engine="modal") for start in (state, state + apart)
    ]
    assert np.abs(ends[1] - ends[0]).max() > 1e4 * apart
