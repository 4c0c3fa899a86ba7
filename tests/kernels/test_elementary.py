"""Checked against: mpmath with 200 bits, and C's values at the ends (numpy, math)."""

import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxvib.kernels import kernel

NUMBER = 400
random = np.random.default_rng(0)


def evenly(low, high):
    return random.uniform(low, high, NUMBER)


def by_size(low, high):
    return random.choice([-1.0, 1.0], NUMBER) * 10 ** random.uniform(low, high, NUMBER)


def near_one(low, high):
    return 1 + by_size(low, high)


# The function, its exact values, numpy's, units of the last place, sets of arguments.
CASES = {
    "exp": (jnp.exp, mpmath.exp, np.exp, 1, [(evenly(-745, 709.7),), (by_size(-20, 1),)]),
    "exp2": (jnp.exp2, lambda x: mpmath.power(2, x), np.exp2, 1,
             [(evenly(-1074, 1023.9),), (evenly(-2, 2),)]),
    "expm1": (jnp.expm1, mpmath.expm1, np.expm1, 2,
              [(by_size(-20, 2.8),), (evenly(-2, 2),)]),
    "log": (jnp.log, mpmath.log, np.log, 1,
            [(abs(by_size(-323, 308)),), (near_one(-15, -1),), (evenly(0.5, 2),)]),
    "log2": (jnp.log2, lambda x: mpmath.log(x, 2), np.log2, 2,
             [(abs(by_size(-308, 308)),), (evenly(0.5, 2),)]),
    "log1p": (jnp.log1p, mpmath.log1p, np.log1p, 2,
              [(by_size(-20, -0.01),), (abs(by_size(-5, 300)),)]),
    "sin": (jnp.sin, mpmath.sin, np.sin, 1.5,
            [(evenly(-4, 4),), (by_size(-10, 5),), (by_size(5, 307),)]),
    "cos": (jnp.cos, mpmath.cos, np.cos, 1.5,
            [(evenly(-4, 4),), (by_size(-10, 5),), (by_size(5, 307),)]),
    "tan": (jnp.tan, mpmath.tan, np.tan, 3, [(evenly(-4, 4),), (by_size(5, 307),)]),
    "tanh": (jnp.tanh, mpmath.tanh, np.tanh, 3, [(by_size(-20, 1.4),)]),
    "sinh": (jnp.sinh, mpmath.sinh, np.sinh, 3, [(by_size(-20, 2.85),)]),
    "cosh": (jnp.cosh, mpmath.cosh, np.cosh, 3, [(by_size(-20, 2.85),)]),
    "asinh": (jnp.arcsinh, mpmath.asinh, np.arcsinh, 3,
              [(by_size(-20, 300),), (by_size(-2, 1),)]),
    "acosh": (jnp.arccosh, mpmath.acosh, np.arccosh, 3,
              [(1 + abs(by_size(-15, 0)),), (abs(by_size(0, 300)),)]),
    "atanh": (jnp.arctanh, mpmath.atanh, np.arctanh, 3,
              [(evenly(-1, 1),), (by_size(-20, -1),), (1 - abs(by_size(-15, -1)),)]),
    "erf": (jax.scipy.special.erf, mpmath.erf, np.vectorize(math.erf), 1.5,
            [(evenly(-6, 6),), (evenly(-1, 1),), (by_size(-20, 0),)]),
    "erfc": (jax.scipy.special.erfc, mpmath.erfc, np.vectorize(math.erfc), 5,
             [(evenly(-3, 26.5),), (evenly(-1, 1),), (by_size(-20, 0),)]),
    "logistic": (jax.nn.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)),
                 lambda x: 1 / (1 + np.exp(-x)), 3, [(evenly(-700, 700),)]),
    "atan": (jnp.arctan, mpmath.atan, np.arctan, 5,
             [(by_size(-12, 12),), (evenly(-2, 2),)]),
    "atan2": (jnp.arctan2, mpmath.atan2, np.arctan2, 5, [(by_size(-5, 5), by_size(-5, 5))]),
    "asin": (jnp.arcsin, mpmath.asin, np.arcsin, 5, [(evenly(-1, 1),), (by_size(-12, 0),)]),
    "acos": (jnp.arccos, mpmath.acos, np.arccos, 5, [(evenly(-1, 1),)]),
    "cbrt": (jnp.cbrt, lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), np.cbrt, 2,
             [(by_size(-307, 307),)]),
    "pow": (jnp.power, mpmath.power, np.power, 2,
            [(abs(by_size(-3, 3)), evenly(-90, 90)), (near_one(-8, -2), by_size(0, 6)),
             (abs(by_size(-300, 300)), evenly(-1, 1))]),
}  # fmt: skip
ENDS = np.array(
    [
        0.0,
        -0.0,
        1,
        -1,
        np.inf,
        -np.inf,
        np.nan,
        5e-324,
        -5e-324,
        1e-310,
        1.7e308,
        -1.7e308,
        2,
        -2,
        0.5,
        -0.5,
        3,
        -3,
        710,
        -745.2,
        1e22,
    ]
)


def last_places(found, exact):
    """Return how many units of the last place a number is from the exact one."""
    rounded = float(exact)
    if not np.isfinite(rounded):
        return 0.0 if found == rounded else np.inf
    return float(abs(mpmath.mpf(float(found)) - exact) / float(np.spacing(abs(rounded))))


@pytest.mark.parametrize("name", CASES)
def test_they_are_exact_to_the_last_places(name):
    function, exact, _, allowed, sets = CASES[name]
    mapped = kernel(lambda *x: function(*x)).map
    with mpmath.workprec(1400):  # a large angle needs as many digits as it has
        for arguments in sets:
            rows = zip(mapped(*arguments), *arguments, strict=True)
            errors = [last_places(y, exact(*map(mpmath.mpf, x))) for y, *x in rows]
            assert max(errors) <= allowed


@pytest.mark.parametrize("name", CASES)
def test_their_ends_are_those_of_c(name):
    function, _, c, _, sets = CASES[name]
    grids = np.meshgrid(*[ENDS] * len(sets[0]))
    arguments = [grid.ravel() for grid in grids]
    found = kernel(lambda *x: function(*x)).map(*arguments)
    with np.errstate(all="ignore"):
        wanted = c(*arguments)
    np.testing.assert_allclose(found, wanted, rtol=4e-15, atol=0)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))
