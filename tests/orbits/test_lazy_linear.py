"""Checked against: JAX's derivatives of the same function, written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib.orbits.shooting.implicit import with_derivative_of

X = jnp.array([0.3, 1.7])


def curve(x, a):
    return jnp.sin(a * x) + a * x**2


def late(x, a):
    return jnp.sum(with_derivative_of(curve, jax.lax.stop_gradient(curve(x, a)), (x, a)))


def plain(x, a):
    return jnp.sum(curve(x, a))


@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev, jax.hessian])
def test_derivatives_in_every_direction_are_those_of_the_function(derivative):
    found, expected = (
        jax.jit(derivative(function, (0, 1)))(X, 2.0) for function in (late, plain)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-14), found, expected)


def test_lanes_have_each_its_own():
    lanes = jnp.stack([X, X + 1, X - 2]), jnp.array([1.0, 2.0, 3.0])
    for derivative in (jax.jacfwd, jax.grad):
        found = jax.jit(jax.vmap(derivative(late, 1)))(*lanes)
        expected = jax.jit(jax.vmap(derivative(plain, 1)))(*lanes)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_unused_results_are_not_traced():
    traced = []

    def told(x, a):
        traced.append(x)
        return curve(x, a)

    def both(a):
        other = with_derivative_of(told, jnp.zeros(2), (X, a))
        return late(X, a), other

    jax.jit(jax.jacfwd(lambda a: both(a)[0])).lower(2.0).compile()
    assert not traced
    jax.jit(jax.jacfwd(lambda a: jnp.sum(both(a)[1]))).lower(2.0).compile()
    assert traced
