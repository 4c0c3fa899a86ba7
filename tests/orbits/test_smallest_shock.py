"""Checked against: straight boundaries in closed form, fine grids, and other units."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.orbits import smallest_shock
from jaxvib.orbits.searches.smallest_shock import smallest_shocks
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from tests.orbits.test_basins import double_well


@pytest.fixture(scope="module")
def oblique():
    """Return a field with the states u = -1, 1 on an axis, parted by the line u = 0."""

    def rates(x, p):
        along = (0.6 * x[0] + 0.8 * x[1]) / p["length"]
        across = (0.8 * x[0] - 0.6 * x[1]) / p["length"]
        fast, speed = along - along**3, p["length"] * p["rate"]
        both = 0.6 * fast - 0.8 * across, 0.8 * fast + 0.6 * across
        return [speed * each for each in both]

    of_one = {"length": 1.0, "rate": 1.0}
    return jv.autonomous_system(rates, parameters=of_one, dimension=2)


@pytest.mark.parametrize("units", [{0: 1.0, 1: 1.0}, {0: 2.0, 1: 0.5}, {1: 1.0}])
def test_the_distance_of_a_straight_boundary_is_found(oblique, units):
    sizes = np.array([units.get(0, 0.0), units.get(1, 0.0)])
    found = smallest_shock(oblique, [0.6, 0.8], units, 5.0, period=4.0, directions=16)
    # |d / u| with n . d = -1 is least for d = -u^2 n / |u n|^2.
    normal = np.array([0.6, 0.8])
    reach = np.sqrt(np.sum((sizes * normal) ** 2))
    np.testing.assert_allclose(found.size, 1 / reach, rtol=2e-6)
    np.testing.assert_allclose(found.change, -(sizes**2) * normal / reach**2, atol=2e-3)
    assert float(found.inside) < 1 / reach * (1 + 1e-9) <= float(found.size) * (1 + 2e-9)
    np.testing.assert_allclose(found.destination, [-0.6, -0.8], atol=1e-6)
    assert int(found.tested) == 64


@pytest.mark.parametrize(("length", "rate"), [(1e3, 1.0), (1.0, 1e-3), (1e-6, 1e9)])
def test_a_shock_of_a_field_is_the_same_in_all_units(oblique, length, rate):
    other = jv.replace(oblique, {"length": length, "rate": rate})
    state = np.array([0.6, 0.8]) * length
    units = {0: 2.0 * length, 1: 0.5 * length}
    found = smallest_shock(other, state, units, 5.0, period=4.0 / rate, directions=16)
    reach = np.sqrt(1.2**2 + 0.4**2)
    np.testing.assert_allclose(found.size, 1 / reach, rtol=2e-6)
    expected = -np.array([2.4, 0.2]) / reach**2
    np.testing.assert_allclose(found.change / length, expected, atol=2e-3)


def bistable(length, time, force):
    """Return a body between two wells, with a stop, in units of m, s and N."""
    mass, damping = length / (force * time**2), 0.2 * length / (force * time)
    law = jv.PolynomialLaw([-length / force, 0.0, length**3 / force])
    return jv.ImpactSystem(
        jv.LinearSystem([[mass]], [[damping]], [[0.0]]),
        contacts=[jv.Contact([1.0], 1.3 / length, jv.LinearContact(4.0 * length / force))],
        springs=[jv.NonlinearSpring([1.0], law)],
    )


@pytest.mark.slow  # compiles for 7 s
def test_a_shock_of_bodies_is_the_same_in_millimetres_milliseconds_and_kilonewtons():
    sizes = []
    for length, time, force in [(1.0, 1.0, 1.0), (1e-3, 1.0, 1e3), (1e-3, 1e-3, 1e3)]:
        system, units = bistable(length, time, force), {0: 1 / length, 1: time / length}
        found = smallest_shock(
            system, [1 / length, 0.0], units, 3.0, period=6.0 / time, directions=8
        )
        sizes.append(float(found.size))
    np.testing.assert_allclose(sizes[1:], sizes[0], rtol=2e-6)  # bracketed within 1e-6


def test_where_nothing_leaves_there_is_no_shock(oblique):
    found = smallest_shock(
        oblique, [0.6, 0.8], {0: 1.0}, 0.5, period=4.0, directions=2, throw=False
    )
    assert int(found.result) == Reason.NOT_REACHED
    assert np.isnan(float(found.size))
    with pytest.raises(RuntimeError, match="smallest_shock"):
        smallest_shock(oblique, [0.6, 0.8], {0: 1.0}, 0.5, period=4.0, directions=2)


def test_of_several_states_those_without_a_shock_keep_their_reason(oblique):
    states = np.array([[0.6, 0.8], [np.nan, np.nan], [0.6, 0.8]])
    found = smallest_shocks(oblique, states, {1: 1.0}, 5.0, period=4.0, directions=2)
    np.testing.assert_allclose(found.size, [1.25, np.nan, 1.25], rtol=2e-6)
    codes = [Reason.SUCCESS, Reason.BAD_PARAMETER, Reason.SUCCESS]
    assert found.result.tolist() == codes
    assert repr(found) == "Shock of shape (3,)"


def test_states_that_are_missing_are_named(oblique):
    with pytest.raises(
        ValueError, match=r"states have shape \(0, 2\); allowed: \(attractor"
    ):
        smallest_shocks(oblique, np.zeros((0, 2)), {1: 1.0}, 5.0, period=4.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"units": {}}, r"units = \{\}"),
        ({"units": {2: 1.0}}, "component = 2"),
        ({"units": {0: -1.0}}, "units = -1"),
        ({"largest": 0.0}, "largest = 0"),
        ({"directions": 1}, "directions = 1"),
        ({"state": [np.nan, 0.0]}, "converges to no attractor"),
    ],
)
def test_bad_arguments_are_named(oblique, change, message):
    given = {"state": [0.6, 0.8], "units": {0: 1.0}, "largest": 1.0, "period": 4.0} | change
    with pytest.raises(ValueError, match=message):
        smallest_shock(oblique, **given)


@pytest.mark.slow
def test_a_basin_that_is_thinner_than_the_distances_of_the_search_is_found():
    study = load(builtin_studies.folder() / "integrity_curves.toml")
    system = jv.replace(build(study), {"loads.push.law.amplitude": 90.0})
    orbit = jv.periodic_orbit(system, [0.0463, 0.693])
    found = smallest_shock(system, orbit.state, {1: 1.0}, 3.0)
    sizes = np.linspace(2.8, 2.82, 201)
    starts = np.asarray(orbit.state) + np.outer(np.append(0.0, sizes), [0.0, 1.0])
    label = jv.basins(system, starts, progress=False).label
    first = np.flatnonzero(label != label[0])[0] - 1
    assert sizes[first - 1] < float(found.size) <= sizes[first]
    np.testing.assert_array_equal(found.change, [0.0, found.size])


@pytest.mark.slow  # 15,000 motions
def test_no_state_of_a_fine_grid_is_nearer_in_the_double_well():
    state = jv.basins(double_well, np.array([[-0.8, 0.0]])).attractors.state[0]
    found = smallest_shock(double_well, state, {0: 1.0, 1: 0.5}, 2.0)
    fine = np.linspace(-1, 1, 121) * 1.05 * float(found.size)
    grid = {0: state[0] + fine, 1: state[1] + 0.5 * fine}
    starts = jv.orbits.state_grid(double_well, grid)
    basins = jv.basins(double_well, starts)
    own = basins.label[len(starts) // 2]
    sizes = np.hypot(*((starts - state) / [1.0, 0.5]).T)
    nearest = sizes[basins.label != own].min()
    step = np.hypot(*np.full(2, fine[1] - fine[0]))
    assert float(found.size) <= nearest <= float(found.size) + step


@pytest.mark.slow  # a study of its own
def test_a_body_with_a_stop_is_driven_to_its_impacts_by_the_smallest_of_many_kicks():
    system = build(load(builtin_studies.folder() / "basins.toml"))
    state = jv.orbits.attractors(system, np.zeros((1, 2))).state[0]
    found = smallest_shock(system, state, {1: 1.0}, 1.0, directions=2)
    kicks = np.linspace(-1, 1, 4001)
    label = jv.basins(system, state + kicks[:, None] * [0.0, 1.0]).label
    nearest = np.abs(kicks[label != label[2000]]).min()
    assert float(found.size) <= nearest <= float(found.size) + 5e-4
    assert float(found.inside) > 0.999999 * float(found.size)
