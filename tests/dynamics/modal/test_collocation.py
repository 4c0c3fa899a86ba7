"""Checked against: Gauss quadrature of the integrals."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import legendre

from jaxvib.dynamics.modal.collocation import NODES, PLACES, Eigenvalues, collocation

step_matrices = jax.jit(functools.partial(collocation, rates=False))
# |lambda h| on both sides of where the series ends, with and without damping.
VALUES = np.array([-0.01 + 0.7j, -3 + 4j, -2 + 5.6j, -0.1 + 8j, -3 + 40j])


def lagrange(places: np.ndarray) -> np.ndarray:
    """Return the values of Lagrange's polynomials at places in a step, the last axis."""
    away = places[..., None, None] - PLACES
    apart = PLACES[:, None] - PLACES + np.eye(NODES)
    return np.prod(np.where(np.eye(NODES) > 0, 1.0, away / apart), axis=-1)


def echo_by_quadrature(values, rows, pushes) -> np.ndarray:
    """Return the effect of forces at nodes i of d on displacements at nodes j of c."""
    roots, weights = legendre.leggauss(80)
    x, weights = (roots + 1) / 2, weights / 2
    at = lagrange(x)
    mean = (at * weights[:, None]) / (weights @ at**2)  # of l_j, b_j its integral
    inner = lagrange(x[:, None] * x)
    grown = np.exp(values[:, None, None] * x[:, None] * (1 - x))
    moved = np.einsum("pxr,xri,r,x->pxi", grown, inner, weights, x)
    found = np.einsum("xj,pxi->pij", mean, moved)
    half = values.size
    row = rows[:, :half] - 1j * rows[:, half:]
    push = pushes[:half] + 1j * pushes[half:]
    return np.einsum("cp,pd,pij->idjc", row, push, found).real


@pytest.mark.parametrize("value", VALUES)
def test_forces_move_the_nodes_by_their_convolutions(value):
    numbers = np.random.default_rng(3)
    rows, pushes = numbers.normal(size=(2, 2)), numbers.normal(size=(2, 2))
    length, values = 0.3, np.array([value])
    expected = 0.3 * echo_by_quadrature(values, rows, pushes)
    parts = Eigenvalues(jnp.asarray(values.real) / 0.3, jnp.asarray(values.imag) / 0.3)
    found = step_matrices(parts, jnp.asarray(rows), jnp.asarray(pushes), length).echo
    size = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * size)
