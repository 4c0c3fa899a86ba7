"""Checked against: matrices with known eigenvalues."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib.orbits.multipliers import floquet_multipliers, multiplier_error, verdict


def test_the_largest_modulus_comes_first_and_of_a_pair_the_upper_half():
    turn = 0.5 * np.array([[0.6, -0.8], [0.8, 0.6]])
    whole = np.zeros((4, 4))
    whole[:2, :2], whole[2, 2], whole[3, 3] = turn, -0.9, 0.1
    found = floquet_multipliers(jnp.asarray(whole))
    np.testing.assert_allclose(found, [-0.9, 0.3 + 0.4j, 0.3 - 0.4j, 0.1], atol=1e-15)


def test_what_is_not_finite_stays_so():
    spoiled = jnp.full((2, 2), jnp.nan)
    assert np.all(np.isnan(floquet_multipliers(spoiled)))
    assert np.isnan(multiplier_error(spoiled, spoiled))


@pytest.mark.parametrize("coupling", [0.0, 1.0, 100.0])
def test_the_error_bound_holds_and_grows_with_non_normality(coupling):
    matrix = np.array([[0.5, coupling], [0.0, 0.4]])
    small = 1e-9 * np.array([[0.0, 0.0], [1.0, 0.0]])  # the worst direction there is
    moved = np.sort(np.linalg.eigvals(matrix + small))
    change = np.abs(moved - [0.4, 0.5]).max()
    bound = float(multiplier_error(jnp.asarray(matrix), jnp.asarray(small)))
    assert change <= bound * (1 + 1e-3) + 1e-16
    assert bound <= 1e-9 * 10.1 * coupling + 1e-15


@pytest.mark.parametrize(
    ("largest", "error", "expected"),
    [
        (0.9, 1e-3, 1),
        (1.1, 1e-3, 0),
        (0.9995, 1e-3, -1),
        (1.0005, 1e-3, -1),
        (np.nan, 0.0, -1),
    ],
)
def test_a_verdict_needs_more_than_the_error(largest, error, expected):
    assert int(verdict(jnp.asarray(largest), jnp.asarray(error))) == expected
