"""Functions compiled for loops work under every transformation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from jaxvib.dynamics.modal import compiled_for_loops


@compiled_for_loops
def cube(tree):
    return jax.lax.fori_loop(0, 2, lambda _, product: product * tree["x"], tree["x"])


@pytest.mark.parametrize(
    ("transformed", "expected"),
    [
        (lambda f: f, 8.0),
        (jax.jit, 8.0),
        (jax.grad, 12.0),
        (jax.jacfwd, 12.0),
        (lambda f: jax.jit(jax.grad(f)), 12.0),
        (lambda f: jax.grad(jax.jit(f)), 12.0),
        (lambda f: lambda x: jax.vmap(f)(x[None])[0], 8.0),
        (eqx.filter_grad, 12.0),
    ],
)
def test_every_transformation_takes_a_function_compiled_for_loops(transformed, expected):
    # d(x^3)/dx = 3 x^2
    assert transformed(lambda x: cube({"x": x}))(jnp.asarray(2.0)) == expected
