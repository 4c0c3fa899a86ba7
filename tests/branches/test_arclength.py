"""Checked against: tests.independent, the linear response, and natural continuation."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.ensemble import Reason
from tests.independent import TwoBody, periodic_orbit
from tests.systems_table import SOFT

system = jv.two_body_impact(contact=jv.HertzContact(stiffness=SOFT))
ISLAND = np.array([0.0267705, 0.11465, 0.0259297, 0.119296])
published = np.array([0.0800211577, 0.2072153515, 0.7223403033, 0.3775679893])


@pytest.fixture(scope="module")
def branch():
    orbit = jv.periodic_orbit(system, published)
    return jv.continue_orbit(
        system, orbit, "load.amplitude", (50.0, 1000.0), method="arclength"
    )


@pytest.mark.slow
def test_it_goes_round_the_fold_and_through_grazing_to_both_bounds(branch):
    assert [Reason(code) for code in branch.ends] == [Reason.PARAMETER_BOUND] * 2
    np.testing.assert_array_equal(branch.parameter[np.array([0, -1])], [50.0, 1000.0])
    assert set(np.asarray(branch.contacts).tolist()) == {0, 1}
    # Natural continuation stops at the same fold, 125.08 N; here stability changes there.
    turn = int(np.argmin(np.where(branch.contacts == 1, branch.parameter, np.inf)))
    assert branch.parameter[turn] == pytest.approx(125.08, abs=0.05)
    assert set(np.asarray(branch.stable[turn + 2 :]).tolist()) == {1}
    assert set(np.asarray(branch.stable[turn - 5 : turn - 1]).tolist()) == {0}


@pytest.mark.slow
def test_it_grazes_where_the_linear_response_closes_the_gap(branch):
    mass, damping, stiffness = (np.asarray(m) for m in system.matrices())
    w = 5.8
    response = np.linalg.solve(stiffness - w**2 * mass + 1j * w * damping, [1.0, 0.0])
    grazing = 0.05 / abs(response[0] - response[1])
    apart = np.asarray(branch.parameter)[np.asarray(branch.contacts) == 0]
    touching = np.asarray(branch.parameter)[np.asarray(branch.contacts) == 1]
    assert apart.max() == pytest.approx(grazing, rel=1e-3)
    assert apart.max() < grazing * (1 + 1e-9)
    # It turns back right after: a fold a hair above grazing, which hides it.
    assert np.diff(touching).min() < 0 < np.diff(touching).max()
    lines = branch.states[np.asarray(branch.contacts) == 0]
    expected = np.concatenate([response.real, -w * response.imag])
    moved = apart[:, None] * expected + np.asarray(system.rest())
    np.testing.assert_allclose(lines, moved, atol=1e-10)


@pytest.mark.slow
def test_its_unstable_points_are_independent_orbits(branch):
    unstable = np.flatnonzero(np.asarray(branch.stable) == 0)
    for point in unstable[[1, len(unstable) // 2, -2]]:
        other = TwoBody(
            contact_stiffness=SOFT, load_amplitude=float(branch.parameter[point])
        )
        expected = periodic_orbit(other, np.asarray(branch.states[point]))
        np.testing.assert_allclose(branch.states[point], expected.state, atol=1e-8)
        largest = np.abs(expected.multipliers).max()
        assert branch.largest_multiplier[point] == pytest.approx(largest, rel=1e-6)


@pytest.mark.slow
def test_an_island_is_followed_once_round():
    there = jv.replace(system, {"load.frequency": 4.5})
    orbit = jv.periodic_orbit(there, ISLAND, periods=4)
    assert int(orbit.result) == 0
    island = jv.continue_orbit(
        there, orbit, "load.frequency", (3.0, 12.0), method="arclength"
    )
    assert [Reason(code) for code in island.ends] == [Reason.CLOSED] * 2
    assert len(island.parameter) < 200
    turns = np.diff(np.sign(np.diff(np.append(island.parameter, island.parameter[:2]))))
    assert np.count_nonzero(turns) % 2 == 0
    assert 4.40 < island.parameter.min() < 4.41
    assert 4.68 < island.parameter.max() < 4.70
    middle = np.argmin(np.abs(np.asarray(island.parameter) - 4.6))
    other = TwoBody(contact_stiffness=SOFT, load_frequency=float(island.parameter[middle]))
    expected = periodic_orbit(other, np.asarray(island.states[middle]), 4)
    np.testing.assert_allclose(island.states[middle], expected.state, atol=1e-8)
