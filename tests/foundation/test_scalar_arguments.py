"""Lists in place of one number are named, before anything is compiled."""

import numpy as np
import pytest
from jaxtyping import ArrayLike, Real

from jaxvib.foundation.quantity import Range, check_number
from jaxvib.foundation.suggestions import with_nearest_arguments


def started(guess: Real[ArrayLike, " n"], period: Real[ArrayLike, ""] | None = None):
    """Return the period."""
    return period


@pytest.mark.parametrize("period", [[1.0, 2.0], np.ones(2), (1.0,)])
def test_a_list_in_place_of_a_number_is_named(period):
    words = r"period has shape \(\d,\); allowed: \(\), a number"
    with pytest.raises(ValueError, match=words):
        with_nearest_arguments(started)([0.1, 0.2], period=period)
    with pytest.raises(ValueError, match=words):
        check_number("period", period, "s", Range(above=0.0))


def test_one_number_is_allowed():
    for period in (1.0, 2, np.float64(3.0), np.asarray(4.0), None):
        assert with_nearest_arguments(started)([0.1, 0.2], period=period) is period
    check_number("period", np.float64(3.0), "s", Range(above=0.0))
    with pytest.raises(ValueError, match=r"period = -1 s"):
        check_number("period", -1.0, "s", Range(above=0.0))
