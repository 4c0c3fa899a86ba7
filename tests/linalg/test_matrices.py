"""Checked against: numpy's LAPACK, identities, and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib import linalg

SIZES = (1, 2, 4, 6, linalg.MOST_ROWS + 1)
draw = np.random.default_rng(7)


def matrices(size, *lanes):
    return draw.normal(size=(*lanes, size, size))


@pytest.mark.parametrize("size", SIZES)
def test_they_are_those_of_lapack(size):
    many = matrices(size, 3, 2)
    one, inverse = many[0, 0], linalg.inverse(many)
    condition = linalg.condition(many)
    np.testing.assert_allclose(condition, np.linalg.cond(many), rtol=1e-12)
    bound = 1e-14 * size * condition.max()
    np.testing.assert_allclose(
        inverse @ many, np.zeros_like(many) + np.eye(size), atol=bound
    )
    np.testing.assert_allclose(
        linalg.determinant(many), np.linalg.det(many), rtol=1e-14 * condition.max()
    )
    values = np.linalg.svd(many, compute_uv=False)
    np.testing.assert_allclose(linalg.singular_values(many), values, atol=1e-14 * size)
    np.testing.assert_allclose(linalg.spectral_norm(one), values[0, 0, 0], rtol=1e-14)
    right = draw.normal(size=(3, 2, size))
    solved = linalg.solve_vector(many, right)
    np.testing.assert_allclose(linalg.dot(many, solved[..., None, :]), right, atol=bound)
    np.testing.assert_allclose(linalg.product(one, one), one @ one, atol=1e-14 * size)


@pytest.mark.parametrize("size", SIZES)
def test_symmetric_ones_have_orthogonal_vectors(size):
    half = matrices(size)
    matrix = half + half.T
    values, vectors = linalg.symmetric_system(matrix)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-14 * size)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-14 * size)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=2e-14 * size)
    factor = linalg.cholesky(matrix @ matrix + np.eye(size))
    expected = np.linalg.cholesky(matrix @ matrix + np.eye(size))
    np.testing.assert_allclose(factor, expected, atol=1e-13 * size)
    solved = linalg.solve_triangular(factor.T, half, lower=False)
    np.testing.assert_allclose(factor.T @ solved, half, atol=1e-12)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (20, 3)])
def test_singular_systems_put_the_matrix_together_again(shape):
    matrix = draw.normal(size=shape)
    left, values, right = linalg.singular_system(matrix)
    assert left.shape[1] == right.shape[1] == len(values) == min(shape)
    np.testing.assert_allclose((left * values) @ right.T, matrix, atol=2e-14)
    target = draw.normal(size=shape[0])
    expected = np.linalg.lstsq(matrix, target, rcond=1e-8)[0]
    found = linalg.least_squares(matrix, target, 1e-8)
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_small_singular_values_are_as_accurate_as_large_ones():
    # Columns at right angles, of lengths that LAPACK's rounding in the largest one hides.
    sizes = np.array([1.0, 1e-9, 1e-18, 1e-27])
    turn = np.linalg.qr(matrices(4))[0]
    np.testing.assert_allclose(linalg.singular_values(turn * sizes), sizes, rtol=1e-12)


def known(found):
    return np.isfinite(found).all(axis=(1, 2)).tolist()


def chain(size):
    """Return a chain's stiffness; its largest value is 2 + 2 cos(pi / (n + 1))."""
    return 2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)


def test_large_singular_values_are_those_of_lapack():
    size, random = 130, matrices(130)
    alike = np.linalg.qr(random)[0]
    spoiled, zero = np.full_like(random, np.nan), np.zeros_like(random)
    many = np.stack([chain(size), random, alike, spoiled, zero, 1e200 * random])
    largest = np.linalg.svd(random, compute_uv=False)[0]
    expected = [2 + 2 * np.cos(np.pi / (size + 1)), largest, 1, np.nan, 0, 1e200 * largest]
    np.testing.assert_allclose(linalg.spectral_norm(many), expected, rtol=1e-12)
    condition = linalg.condition(many[:2], linalg.inverse(many[:2]))
    np.testing.assert_allclose(condition, np.linalg.cond(many[:2]), rtol=1e-9)
    zeros = np.stack([zero, random])
    found = linalg.condition(zeros, linalg.inverse(zeros))
    np.testing.assert_allclose(found, np.linalg.cond(zeros), rtol=1e-9)


def test_singular_and_unknown_matrices_spoil_none_beside_them():
    singular, spoiled = np.ones((3, 3)), np.full((3, 3), np.nan)
    many = np.stack([2 * np.eye(3), singular, spoiled])
    assert np.isfinite(linalg.inverse(many)).all(axis=(1, 2)).tolist() == [
        True,
        False,
        False,
    ]
    found = linalg.condition(many)
    assert found[0] == 1
    assert found[1] > 1e15
    assert np.isnan(found[2])
    large = np.stack([np.eye(20), np.zeros((20, 20)), np.full((20, 20), np.nan)])
    assert np.isfinite(linalg.inverse(large)).all(axis=(1, 2)).tolist() == [
        True,
        False,
        False,
    ]
    assert np.isnan(np.diagonal(linalg.cholesky(-np.eye(2)))).all()


def test_solutions_have_derivatives_of_any_order_and_the_same_bits_traced():
    matrix, right = matrices(4), draw.normal(size=(4, 2))

    def total(function, matrix):
        return jnp.sum(function(matrix, jnp.asarray(right)) ** 2)

    traced = jax.jit(linalg.solve)(matrix, right)
    np.testing.assert_array_equal(traced, linalg.solve(matrix, right))
    for derivative in (jax.grad, jax.jacfwd, jax.hessian):
        found, expected = (
            jax.jit(derivative(lambda m, solve=solve: total(solve, m)))(jnp.asarray(matrix))
            for solve in (linalg.solve, jnp.linalg.solve)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
