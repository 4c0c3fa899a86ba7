"""Checked against: matrices with known eigenvalues."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib.orbits.shooting import multipliers
from jaxvib.orbits.shooting.multipliers import verdict

# Not an operation at a time, each of which is compiled.
floquet_multipliers = jax.jit(multipliers.floquet_multipliers)
multiplier_error = jax.jit(multipliers.multiplier_error)


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
    # Twice what this change does, as another of its size may do more, and rounding.
    assert bound <= 1e-9 * 20.2 * coupling + 1e-14 * (1 + 10 * coupling)


@pytest.mark.parametrize("second", [1.0, 1e-6, 1e6])
def test_the_error_bound_does_not_depend_on_the_unit_of_time(second):
    matrix, change = np.random.default_rng(2).normal(size=(2, 4, 4))
    units = np.diag([1.0, 1.0, second, second])
    there = [np.linalg.inv(units) @ m @ units for m in (matrix, 1e-9 * change)]
    bound = float(multiplier_error(*map(jnp.asarray, there)))
    expected = float(multiplier_error(jnp.asarray(matrix), jnp.asarray(1e-9 * change)))
    assert bound == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("angle", [0.0, 0.3, 2.0, np.pi])
def test_what_lies_on_the_unit_circle_is_undecided_without_any_change(angle):
    turn = np.array(
        [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    ) * (1 + 1e-15)  # fmt: skip
    largest = jnp.abs(floquet_multipliers(jnp.asarray(turn))[0])
    error = multiplier_error(jnp.asarray(turn), jnp.zeros((2, 2)))
    assert 0 < float(error) < 1e-13
    assert int(verdict(largest, error)) == -1


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


def test_of_many_matrices_at_once_each_is_as_alone():
    random = np.random.default_rng(5)
    matrices, changes = random.normal(size=(2, 40, 4, 4))
    matrices[3] = np.nan
    matrices[7] = np.eye(4) + np.diag(np.ones(3), 1)  # whose eigenvectors are not four
    noise = np.linspace(0.0, 1e-9, 40)

    def both(matrix, change, one):
        error = multipliers.multiplier_error(matrix, change, one)
        return multipliers.floquet_multipliers(matrix), error

    found = both(matrices, changes, noise)
    alone = map(both, matrices, changes, noise)
    for many, each in zip(found, zip(*alone, strict=True), strict=True):
        np.testing.assert_array_equal(many, np.stack(each))
    assert np.isfinite(found[1]).sum() == 39


def test_a_large_matrix_has_the_bound_of_all_its_entries():
    numbers = np.random.default_rng(5)
    matrix, change = numbers.normal(size=(2, 24, 24))
    values, right = np.linalg.eig(matrix)
    entries = np.abs(np.linalg.inv(right) @ (1e-9 * change) @ right)
    gaps = np.abs(values[:, None] - values) + np.eye(24)
    pairs = entries * entries.T * (1 - np.eye(24))
    # Small changes, to first order: 2 p / (g + sqrt(g^2 - 4 p)) is p / g.
    expected = (np.diag(entries) + np.sum(pairs / gaps, axis=1)).max()
    expected += np.sqrt(pairs.max())
    found = multipliers.multiplier_error(matrix, 1e-9 * change)
    rounding = multipliers.multiplier_error(matrix, 0 * change)
    assert 1e-9 < expected < 1e-6
    assert rounding < 1e-10
    np.testing.assert_allclose(found, expected, rtol=0, atol=rounding + 1e-14)
