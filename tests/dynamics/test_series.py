"""Checked against: numpy's polynomials, their products, derivatives and roots."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib.dynamics.events.series import (
    first_root,
    log2,
    refined,
    square_term,
    value_and_slope,
)

ORDER, LANES = 8, 400
rng = np.random.default_rng(4)
series = rng.normal(size=(ORDER + 1, LANES)) * 0.8 ** np.arange(ORDER + 1)[:, None]


def test_values_slopes_and_squares_are_those_of_polynomials():
    values, slopes = value_and_slope(list(jnp.asarray(series)), 0.7)
    squares = [square_term(list(jnp.asarray(series)), k) for k in range(ORDER + 1)]
    for lane in range(8):
        polynomial = np.polynomial.Polynomial(series[:, lane])
        assert float(values[lane]) == pytest.approx(polynomial(0.7), rel=1e-13)
        assert float(slopes[lane]) == pytest.approx(polynomial.deriv()(0.7), rel=1e-13)
        expected = (polynomial**2).coef[: ORDER + 1]
        found = [float(square[lane]) for square in squares]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_a_logarithm_is_as_near_as_steps_need():
    numbers = np.exp(rng.uniform(-700, 700, 1000))
    np.testing.assert_allclose(log2(jnp.asarray(numbers)), np.log2(numbers), atol=0.09)


@pytest.mark.parametrize("closer", [True, False])
def test_the_first_root_is_never_passed(closer):
    # From just below zero, and rising at first.
    signal = series.copy()
    signal[0], signal[1] = -0.02 * np.abs(signal[0]), np.abs(signal[1])
    reach = 0.3

    def step(coefficients):
        s, near = first_root([coefficients], jnp.full(LANES, reach), closer)
        return refined([coefficients], s, near, reach), near[0]

    s, near = jax.jit(step)(list(jnp.asarray(signal)))
    met = 0
    for lane in range(LANES):
        roots = np.polynomial.Polynomial(signal[:, lane]).roots()
        real = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0)]
        first = min(real, default=np.inf)
        assert float(s[lane]) <= min(first, reach) + 1e-12
        if near[lane]:
            met += 1
            assert float(s[lane]) == pytest.approx(first, abs=1e-12)
    assert met > LANES / 4


def test_a_gap_that_opens_slower_than_a_parabola_is_left_at_once():
    # z = -(t^5) + 4 t^6 has its root at 1/4, and nothing of a parabola at 0.
    zero, one = jnp.zeros(()), jnp.ones(())
    gap = [-1e-14 * one, *[zero] * 4, -one, 4 * one, zero, zero]
    time = 0.0
    for _ in range(6):
        local = np.polynomial.Polynomial([float(c) for c in gap])
        shifted = local(np.polynomial.Polynomial([time, 1.0])).coef
        s, _ = first_root([list(jnp.asarray(shifted))], 2.0 * one)
        time += float(s)
        assert time <= 0.25 + 1e-11
    assert time > 0.1
