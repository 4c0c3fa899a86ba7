"""Checked against: differences of two results, written down by hand."""

import numpy as np

from experiments.house.compare_checkouts import TOLERANCE, differences


def test_a_field_is_within_its_own_error_or_a_part_of_its_size():
    old = {
        "states": np.array([[1.0, 2.0], [4.0, 0.0]]),
        "state_error": np.array([0.1, 0.0]),
        "period": np.array([5.0, np.nan]),
    }
    new = {
        "states": np.array([[1.15, 2.0], [4.0, 2 * TOLERANCE]]),
        "state_error": np.array([0.1, 0.0]),
        "period": np.array([5.0 * (1 + 2 * TOLERANCE), np.nan]),
    }
    found = differences(old, new)
    np.testing.assert_allclose(found["states"]["of_size"], 0.15 / 4, rtol=1e-12)
    np.testing.assert_allclose(found["states"]["of_error"], 0.15 / 0.2, rtol=1e-12)
    assert found["states"]["within"]  # the second row by its size
    np.testing.assert_allclose(found["period"]["of_size"], 2 * TOLERANCE, rtol=1e-6)
    assert not found["period"]["within"]


def test_values_that_one_result_lacks_are_no_small_difference():
    old = {"force": np.array([1.0, np.nan]), "gone": np.array([1.0]), "n": np.array([1, 2])}
    new = {"force": np.array([1.0, 1.0]), "n": np.array([1, 3]), "come": np.array([1.0])}
    assert differences(old, new) == {
        "come": {"only": "new"},
        "force": {"of_size": 0.0, "known_once": 1, "within": False},
        "gone": {"only": "old"},
        "n": {"differs": 0.5, "within": False},
    }
    longer = differences({"x": np.zeros(3)}, {"x": np.zeros(4)})
    assert longer["x"] == {"shapes": [[3], [4]], "within": False}
