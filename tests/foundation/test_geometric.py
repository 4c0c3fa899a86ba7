"""Checked against: 50 digits of mpmath."""

import mpmath
import pytest

from jaxvib.foundation.geometric import geometric_values


@pytest.mark.parametrize(("first", "last"), [(1e-3, 7.7), (1e3, 0.1), (1e-300, 1e300)])
def test_each_number_is_the_double_nearest_to_the_exact_one(first, last):
    found = geometric_values(first, last, 9)
    with mpmath.workdps(50):
        ratio = mpmath.mpf(last) / mpmath.mpf(first)
        exact = [float(first * ratio ** (mpmath.mpf(k) / 8)) for k in range(9)]
    assert found.tolist() == exact


def test_one_value_is_the_first_and_powers_of_ten_are_exact():
    assert geometric_values(0.3, 5.0, 1).tolist() == [0.3]
    assert geometric_values(1e-2, 1e3, 6).tolist() == [1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3]
