"""Checked against: closed forms of roots."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib.orbits.shooting.implicit import (
    KernelFunction,
    implicit_root,
    with_derivative_of,
)


def residual(root, parameters):
    """Return what is 0 at root = sqrt(a) b."""
    return root**2 - parameters["a"] * parameters["b"] ** 2


@pytest.fixture(params=["by JAX", "by a kernel"])
def wrapped(request):
    """Return how a function is passed: plainly, or with Jacobians by a kernel."""

    def of(function):
        by_kernel = request.param == "by a kernel"
        return KernelFunction(function, (function.__name__,)) if by_kernel else function

    return of


@pytest.fixture
def root_of(wrapped):
    def root_of(a, b):
        found = jnp.array([jax.lax.stop_gradient(b * jnp.sqrt(a))])
        return implicit_root(wrapped(residual), found, {"a": a, "b": b})[0]

    return root_of


@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.grad])
def test_derivatives_are_those_of_the_root(root_of, derivative):
    a, b = 4.0, 3.0
    slopes = jax.jit(derivative(root_of, (0, 1)))(a, b)
    np.testing.assert_allclose(slopes, [b / (2 * a**0.5), a**0.5], rtol=1e-14)
    second = jax.jit(derivative(derivative(root_of)))(a, b)
    assert float(second) == pytest.approx(-b / (4 * a**1.5), rel=1e-13)


def test_a_value_takes_the_derivative_of_a_function_and_stays_itself(wrapped):
    def value(x):
        return with_derivative_of(wrapped(jnp.sin), jnp.asarray(7.0), (x,))

    assert float(value(0.3)) == 7.0
    slope = jax.jit(jax.grad(value))(0.3)
    assert float(slope) == pytest.approx(float(jnp.cos(0.3)), rel=1e-15)


def test_it_works_for_a_batch(root_of):
    a = jnp.array([1.0, 4.0, 9.0])
    slopes = jax.jit(jax.vmap(jax.grad(root_of), (0, None)))(a, 2.0)
    np.testing.assert_allclose(slopes, 1 / np.sqrt(a), rtol=1e-14)
