"""Checked against: the closed forms of both scales, in rational numbers and by NumPy."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv

NORMALISED = np.random.default_rng(0).random(200)
LINEAR = jv.design.Variable("x", 0.02, 0.3)
LOG = jv.design.Variable("x", 1e-3, 1000, "log")


@pytest.mark.parametrize("variable", [LINEAR, LOG])
def test_a_value_has_the_same_bits_inside_and_outside_of_a_program(variable):
    outside = [float(variable.value(s)) for s in NORMALISED]
    inside = jax.jit(lambda s: jnp.sin(variable.value(s)) * 0.0 + variable.value(s))
    np.testing.assert_array_equal([float(inside(s)) for s in NORMALISED], outside)
    lanes = jax.jit(jax.vmap(variable.value))(NORMALISED)
    np.testing.assert_array_equal(lanes, outside)


def test_values_and_slopes_are_those_of_the_closed_forms():
    linear, log = (np.array([one.value(s) for s in NORMALISED]) for one in (LINEAR, LOG))
    width = Fraction(0.3 - 0.02)
    exact = [float(Fraction(0.02) + width * Fraction(s)) for s in NORMALISED]
    np.testing.assert_array_equal(linear, exact)
    np.testing.assert_allclose(log, 10 ** (6 * NORMALISED - 3), rtol=1e-14)
    for one in (LINEAR, LOG):
        slope = jax.jacrev(one.value)(0.3)
        np.testing.assert_allclose(slope, one.slope(0.3), rtol=1e-14)
