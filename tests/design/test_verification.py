"""Checked against: closed forms of Hopf points, folds and corners."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.design import stable_range_measure, verify_stable_range, worst_over_box
from tests.design.test_bifurcation_measures import chemical, cusps


def test_a_range_below_a_hopf_point_is_stable_at_all_points():
    # Stable for b below 1 + a^2 = 2.
    found = verify_stable_range(chemical, "b", (0.3, 1.99), guess=[1.0, 1.0])
    assert found.passed
    assert found.growth.max() < 0
    # For b above 1 the eigenvalues are complex, with the real part (b - 2) / 2.
    complex_ = found.parameter > 0.3
    np.testing.assert_allclose(
        found.growth[complex_], (found.parameter[complex_] - 2) / 2, atol=1e-9
    )
    np.testing.assert_allclose(found.unstable_bound, 1 - 0.05 ** (1 / 200), rtol=1e-9)
    assert "200 of 200" in repr(found)


def test_points_beyond_the_hopf_point_are_found():
    found = verify_stable_range(chemical, "b", (0.5, 2.2), guess=[1.0, 1.0])
    beyond = found.parameter > 2
    assert beyond.any()
    assert not found.passed
    np.testing.assert_array_equal(found.stable == 1, ~beyond)
    np.testing.assert_array_equal(found.lost, beyond)
    share = 0.2 / 1.7
    assert found.unstable_bound > beyond.mean() > share / 2


def test_points_beyond_a_fold_are_not_on_the_branch():
    # The upper equilibrium of the cusp exists for h above -2 (r / 3)^1.5 = -0.385.
    upper = jv.replace(cusps, {"h": 0.5})
    found = verify_stable_range(upper, "h", (-0.6, 0.7), points=50, guess=[1.2])
    np.testing.assert_array_equal(found.lost == -1, found.parameter < -2 * 3**-1.5)
    assert not found.passed
    # Beyond the fold the branch comes back below, but not its upper part.
    stays = verify_stable_range(upper, "h", (-0.38, 0.7), points=50, guess=[1.2])
    assert stays.passed


def test_uncertain_parameters_have_points_of_their_own():
    box = {"a": (0.8, 1.2)}
    found = verify_stable_range(
        chemical, "b", (0.9, 2.1), box=box, points=20, guess=[1.0, 1.0]
    )
    stable = found.parameter < 1 + found.others["a"] ** 2
    assert not stable.all()
    np.testing.assert_array_equal(found.stable == 1, stable)


def test_the_worst_margin_over_a_box_is_at_the_corner_of_the_smallest_feed():
    measure = stable_range_measure("high", "b", (0.2, 4.0), guess=[1.0, 1.0])
    found = worst_over_box(measure, chemical, {"a": (0.8, 1.2)}, samples=4, descents=1)
    assert float(found.values["a"]) == pytest.approx(0.8, abs=1e-9)
    assert float(found.value) == pytest.approx(1.64, abs=1e-9)
    assert found.at_corner
    assert "not certified" in repr(found)


class Bowl:
    """A function whose minimum lies between the samples."""

    def __call__(self, system):
        values = [parameter.value for parameter in jv.parameters(system).values()]
        return (values[0] - 0.3137) ** 2 + 2 * (values[1] - 1.1713) ** 2 + 5.0


@pytest.mark.parametrize(("goal", "worst"), [("minimise", [0.3137, 1.1713]),
                                             ("maximise", [-1.0, 0.5])])  # fmt: skip
def test_the_worst_case_lies_within_the_box_or_at_a_corner(goal, worst):
    box = {"h": (-1.0, 1.0), "r": (0.5, 1.5)}
    found = worst_over_box(Bowl(), cusps, box, goal=goal)
    values = [float(value) for value in found.values.values()]
    np.testing.assert_allclose(values, worst, atol=1e-6)
    assert found.at_corner == (goal == "maximise")


def test_a_box_with_unstable_motions_has_no_margin():
    here = jv.replace(chemical, {"b": 1.9})
    measure = stable_range_measure("margin", "b", (0.2, 4.0), guess=[1.0, 1.0])
    found = worst_over_box(measure, here, {"a": (0.8, 1.2)}, samples=4)
    assert np.isnan(float(found.value))
    assert int(found.result) == jv.Reason.UNSTABLE
    assert int(found.lost) == int(np.isnan(found.sampled).sum()) > 0


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="do not enclose b = 1"):
        verify_stable_range(chemical, "b", (1.5, 2.0))
    with pytest.raises(ValueError, match="points = 0"):
        verify_stable_range(chemical, "b", (0.5, 2.0), points=0)
    with pytest.raises(ValueError, match="did you mean"):
        verify_stable_range(chemical, "bb", (0.5, 2.0))
    with pytest.raises(ValueError, match="samples = 0"):
        worst_over_box(Bowl(), cusps, {"h": (-1.0, 1.0)}, samples=0)
