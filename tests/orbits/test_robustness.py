"""Checked against: closed forms of straight boundaries, Attractors.jl, scipy.stats."""

import numpy as np
import pytest
import scipy.stats

import jaxvib as jv
from jaxvib.orbits import basin_entropy, integrity_curves, robustness, state_grid
from tests.orbits.test_basins import double_well


def entropy_of(*shares):
    return -sum(share * np.log(share) for share in shares)


@pytest.mark.parametrize(("cut", "box"), [(7, 5), (12, 4), (13, 4)])
def test_a_straight_boundary_has_the_entropy_of_its_boxes(cut, box):
    labels = np.repeat([[0] * cut + [3] * (20 - cut)], 20, axis=0)
    found = basin_entropy(labels, box)
    part = (cut % box) / box
    each = entropy_of(part, 1 - part) if part else 0.0
    boxes = (20 // box) ** 2
    share = (20 // box) / boxes if part else 0.0
    np.testing.assert_allclose(found.entropy, share * each, rtol=1e-14)
    np.testing.assert_allclose(found.boundary_share, share)
    np.testing.assert_allclose(found.boundary_entropy, each if part else np.nan, rtol=1e-14)
    assert int(found.boxes) == boxes


def test_three_basins_that_meet_in_space_have_the_entropy_of_their_volumes():
    labels = np.zeros((4, 4, 4), int)
    labels[2:], labels[2:, 2:] = 1, 2
    found = basin_entropy(labels, 4)
    np.testing.assert_allclose(found.entropy, entropy_of(0.5, 0.25, 0.25), rtol=1e-14)


def test_undecided_states_and_incomplete_boxes_are_left_out():
    labels = np.zeros((5, 5), int)
    labels[0, :2], labels[1, 0], labels[4] = 1, -1, 7
    found = basin_entropy(labels, 2)
    np.testing.assert_allclose(found.boundary_entropy, entropy_of(2 / 3, 1 / 3))
    np.testing.assert_allclose(found.entropy, entropy_of(2 / 3, 1 / 3) / 4)
    assert np.isnan(float(basin_entropy(np.full((4, 4), -1), 2).entropy))


def test_the_map_of_grebogi_has_the_entropies_of_attractors_jl():
    # Tests of Attractors.jl: [0.4, 0.42] and [0.6, 0.61] of 300 x 300 states, boxes of 6.
    angle, x = np.meshgrid(
        np.linspace(0, 2 * np.pi, 300), np.linspace(-0.5, 0.5, 300), indexing="ij"
    )
    for _ in range(200):
        turned = angle + 1.32 * np.sin(2 * angle) - 0.9 * np.sin(4 * angle)
        angle, x = turned - x * np.sin(angle), -0.3 * np.cos(angle)
    found = basin_entropy((np.cos(angle) < 0).astype(int), 6)
    assert 0.4 <= float(found.entropy) <= 0.42
    assert 0.6 <= float(found.boundary_entropy) <= 0.61


@pytest.mark.parametrize("box", [1, 7])
def test_a_bad_box_is_named(box):
    with pytest.raises(ValueError, match=rf"box = {box}"):
        basin_entropy(np.zeros((6, 9), int), box)


@pytest.fixture(scope="module")
def wells():
    grid = np.linspace(-2.2, 2.2, 30)
    return jv.basins(double_well, state_grid(double_well, {0: grid, 1: grid}))


def test_intervals_of_shares_are_those_of_a_binomial(wells):
    measured = robustness(wells)
    for i, (low, high) in enumerate(measured.share_interval):
        count = int(np.sum(wells.label == i))
        exact = scipy.stats.binomtest(count, 900).proportion_ci(method="exact")
        np.testing.assert_allclose([low, high], exact, rtol=1e-9)


def test_integrity_measures_are_distances_of_states_from_each_other(wells):
    measured = robustness(wells, units={0: 1.0, 1: 0.5})
    scaled = wells.starts / [1.0, 0.5]
    for i in range(2):
        own, other = scaled[wells.label == i], scaled[wells.label != i]
        apart = np.sqrt(((own[:, None] - other) ** 2).sum(axis=2)).min(axis=1)
        step = 4.4 / 29
        edge = np.min((2.2 + step - np.abs(wells.starts[wells.label == i])) / [1.0, 0.5], 1)
        np.testing.assert_allclose(
            measured.integrity_factor[i], np.minimum(apart, edge).max(), rtol=1e-12
        )
        at = wells.attractors.state[i] / [1.0, 0.5]
        nearest = np.sqrt(((at - other) ** 2).sum(axis=1)).min()
        np.testing.assert_allclose(measured.local_integrity[i], nearest, rtol=1e-12)
    np.testing.assert_allclose(measured.resolution, np.hypot(step, step / 0.5))
    assert not measured.local_at_edge.any()


def test_without_a_boundary_the_edge_limits_the_measures(wells):
    inner = np.linspace(-0.05, 0.05, 6)
    state = wells.attractors.state[0]
    grid = {0: state[0] + inner, 1: state[1] + inner}
    measured = robustness(jv.basins(double_well, state_grid(double_well, grid)))
    # Half the range of the values is 1; the next state is 0.4 beyond it.
    np.testing.assert_allclose(measured.local_integrity, [1.4])
    assert measured.factor_at_edge.all()
    assert measured.local_at_edge.all()
    assert ">=" in repr(measured)


def test_states_that_fill_no_grid_are_refused(wells):
    some = jv.basins(double_well, wells.starts[::7])
    with pytest.raises(ValueError, match=r"do not fill a grid|not evenly spaced"):
        robustness(some)
    with pytest.raises(ValueError, match=r"units of components \[2\]; allowed: \[0, 1\]"):
        robustness(wells, units={2: 1.0})


@pytest.fixture(scope="module")
def tilted():
    """Return x' = x - x^3 + c, whose upper state ends in a fold at c = -2 / sqrt(27)."""
    return jv.autonomous_system(
        lambda x, p: [x[0] - x[0] ** 3 + p["c"]], parameters={"c": 0.0}, dimension=1
    )


def test_along_a_parameter_integrity_falls_to_the_fold(tilted):
    values = np.array([0.0, -0.15, -0.3, -0.37, -0.4])
    starts = state_grid(tilted, {0: np.linspace(-2, 2, 401)})
    found = integrity_curves(tilted, "c", values, starts, units={0: 1.0}, period=2.0)
    low, middle, high = np.sort_complex(
        [np.roots([-1, 0, 1, c]) for c in values[:4]]
    ).real.T
    np.testing.assert_allclose(found.state[:4, 1, 0], high, rtol=1e-7)
    np.testing.assert_allclose(found.state[:4, 0, 0], low, rtol=1e-7)
    np.testing.assert_allclose(found.local_integrity[:4, 1], high - middle, atol=0.01)
    np.testing.assert_allclose(found.share[:4, 1], (2 - middle) / 4, atol=0.003)
    assert found.names == ["A1: equilibrium", "A2: equilibrium"]
    assert not found.result.any()
    # Beyond the fold only the lower state is left, with all states.
    assert np.isnan(found.share[4, 1])
    assert found.share[4, 0] == 1.0
    # One of 80 boxes of 5 states has the boundary within it; a state on it is left out.
    for entropy, place in zip(found.entropy[:4], (middle + 2) / 0.01, strict=True):
        below, there = int(np.ceil(place - 1e-6)) % 5, abs(place - round(place)) < 1e-6
        share = below / (5 - there)
        expected = entropy_of(share, 1 - share) / 80 if below else 0.0
        np.testing.assert_allclose(entropy, expected, rtol=1e-12)
    assert found.entropy[:4].max() > 0
    assert found.entropy[4] == 0.0


def test_values_and_paths_of_curves_are_checked(tilted):
    starts = state_grid(tilted, {0: np.linspace(-2, 2, 9)})
    with pytest.raises(ValueError, match="unknown parameter 'd'"):
        integrity_curves(tilted, "d", [0.0], starts, period=2.0)
    with pytest.raises(ValueError, match=r"values = \[\]"):
        integrity_curves(tilted, "c", [], starts, period=2.0)
    for wrong in (starts[:, 0], np.nan * starts):
        with pytest.raises(ValueError, match=r"allowed: \(starts, 1\), finite numbers"):
            integrity_curves(tilted, "c", [0.0], wrong, period=2.0)
