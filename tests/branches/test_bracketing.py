"""Checked against: `scipy.optimize.elementwise.find_root`, to the bit."""

import numpy as np
import pytest
from scipy.optimize import elementwise

from jaxvib.branches.tracing.location import find_roots

TOLERANCES = [1e-3, 1e-9, 1e-15]


def family(x, which):
    """Roots simple, triple, at an end, absent, at a jump, beside NaN, at infinity."""
    with np.errstate(divide="ignore", invalid="ignore"):
        kinds = [
            x - 0.3,
            np.cos(3.0 * x + 0.1 * which),
            (x - 0.7) ** 3,
            x * 1.0,
            1.0 - x,
            x + 1.0,
            np.where(x < 0.4, -1.0, 2.0),
            np.where(x > 0.8, np.nan, x - 0.75),
            np.full_like(x, np.nan),
            np.exp(20.0 * x) - 5.0,
            1.0 / (x - 0.5),
            np.where((x > 0.2) & (x < 0.9), np.nan, x - 0.5),
        ]
    return np.choose(which % len(kinds), kinds)


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("iterations", [0, 1, 5, 60])
def test_roots_are_those_of_scipy(tolerance, iterations):
    which = np.arange(60)
    found = find_roots(family, which, tolerance, iterations)
    expected = elementwise.find_root(
        family,
        (np.zeros(60), np.ones(60)),
        args=(which,),
        tolerances={"xatol": tolerance, "xrtol": 0.0, "fatol": 0.0, "frtol": 0.0},
        maxiter=iterations,
    )
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(found.success, expected.success)
    np.testing.assert_array_equal(found.evaluations, expected.nfev)
    if iterations == 60:
        assert 30 < found.success.sum() < 60


def test_without_functions_nothing_is_evaluated():
    roots = find_roots(family, np.arange(0), 1e-9, 60)
    assert roots.x.shape == roots.success.shape == (0,)
