"""Checked against: `jnp.linalg.inv` to the last bit on CPUs, and mpmath's inverses."""

import re

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxvib.linalg import MOST_ROWS, positive_inverse
from jaxvib.linalg.matrices import by_elimination


def matrix(size, seed, condition=1e3):
    """Return a positive definite matrix, its rows in units that differ by 1e6."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(size, size)))
    units = 10 ** rng.uniform(-3, 3, size)
    values = np.geomspace(1, condition, size)
    found = units * ((turn * values) @ turn.T) * units[:, None]
    return (found + found.T) / 2, units


@pytest.mark.parametrize("size", [1, 2, 5, MOST_ROWS])
@pytest.mark.parametrize("seed", range(3))
def test_elimination_gives_the_inverse(size, seed):
    given, units = matrix(size, seed)
    with mpmath.workdps(40):
        true = mpmath.matrix(given.tolist()) ** -1
        true = np.array(true.tolist(), float).reshape(size, size)
    found = np.asarray(jax.jit(by_elimination)(given))
    wrong = np.abs(found - true) * units * units[:, None]
    # of a condition number of 1e3 and up to 16 rows, beside inverses of up to 1
    assert wrong.max() < 1e3 * size * np.finfo(float).eps


@pytest.mark.parametrize("size", [2, 4, MOST_ROWS + 1])
def test_results_and_derivatives_on_a_cpu_have_the_bits_of_xla(size):
    given = np.stack([matrix(size, seed)[0] for seed in range(3)])

    def evaluated(inverse):
        def entry(m):
            return jnp.sum(jnp.sin(inverse(m)))

        functions = [inverse, jax.jacfwd(inverse), jax.grad(entry)]
        if size == 2:
            functions += [jax.jacfwd(jax.jacrev(inverse)), jax.hessian(entry)]
        one = [jax.jit(function)(given[0]) for function in functions]
        return one + [jax.jit(jax.vmap(function))(given) for function in functions]

    found, expected = evaluated(positive_inverse), evaluated(jnp.linalg.inv)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_lanes_on_any_axis_are_inverted():
    given = np.stack([matrix(3, seed)[0] for seed in range(4)], axis=1)
    found = jax.jit(jax.vmap(positive_inverse, in_axes=1))(given)
    for lane in range(4):
        np.testing.assert_allclose(
            found[lane] @ given[:, lane], np.eye(3), rtol=0, atol=1e-7
        )


@pytest.mark.parametrize(("size", "is_called"), [(4, False), (MOST_ROWS + 1, True)])
def test_a_gpu_needs_no_library_for_a_small_matrix(size, is_called):
    traced = jax.jit(jax.vmap(positive_inverse)).trace(jnp.ones((8, size, size)))
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert bool(re.findall("custom_call", text)) == is_called


def test_a_singular_matrix_gives_no_numbers():
    assert not np.isfinite(jax.jit(by_elimination)(np.ones((2, 2)))).any()
