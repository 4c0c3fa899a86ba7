"""Checked against: polynomials of degree five, and the sine."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxvib.dynamics.stepping.step_polynomial import (
    Polynomial,
    cubic_defect,
    step_polynomial,
)

numbers = st.floats(-3, 3)


def ends(polynomial, length):
    """Return value, slope and curvature of a polynomial in time at both ends."""
    derivatives = polynomial, polynomial.deriv(), polynomial.deriv(2)
    return [tuple(jnp.asarray(d(time)) for d in derivatives) for time in (0.0, length)]


@given(st.lists(numbers, min_size=6, max_size=6), st.floats(0.01, 2), st.floats(0, 1))
def test_a_quintic_is_reproduced(coefficients, length, tau):
    signal = np.polynomial.Polynomial(coefficients)
    quintic = step_polynomial(length, *ends(signal, length))
    size = 1 + np.abs(coefficients).max() * 64
    assert float(quintic.value(tau)) == pytest.approx(
        signal(tau * length), abs=1e-13 * size
    )
    slope = length * signal.deriv()(tau * length)
    assert float(quintic.slope(tau)) == pytest.approx(slope, abs=1e-12 * size)


@given(st.lists(numbers, min_size=4, max_size=4), st.floats(0.01, 2), st.floats(0, 1))
def test_a_cubic_has_no_cubic_defect(coefficients, length, tau):
    signal = np.polynomial.Polynomial(coefficients)
    assert float(cubic_defect(length, *ends(signal, length), tau)) < 1e-12 * 400


def sine(start, length):
    """Return both ends of a step along sin(t)."""
    return [
        (jnp.sin(t), jnp.cos(t), -jnp.sin(t)) for t in (start, jnp.asarray(start + length))
    ]


def test_the_extremum_of_a_sine_is_found():
    # The step runs over pi/2, a third of the way along.
    length = 0.3
    start = jnp.asarray(np.pi / 2 - 0.1)
    quintic = step_polynomial(length, *sine(start, length))
    tau = quintic.extremum()
    assert float(tau) == pytest.approx(1 / 3, abs=1e-5)
    assert float(quintic.value(tau)) == pytest.approx(1.0, abs=length**6 / 46080)


def test_the_crossing_of_a_sine_is_found_and_gets_better_with_the_step():
    errors = []
    for length in (0.4, 0.2):
        start = jnp.asarray(np.pi - 0.3 * length)
        quintic = step_polynomial(length, *sine(start, length))
        errors.append(abs(float(quintic.crossing()) - 0.3) * length)
    assert errors[0] < 1e-7
    assert errors[1] < errors[0] / 30  # sixth order gives 64


@given(st.lists(st.floats(0.1, 1.0), min_size=3, max_size=3), st.integers(0, 10_000))
def test_the_crossing_of_a_step_that_turns_by_two_radians_is_found(rates, seed):
    # Three swings, whose rates come to 2 a step: the longest that is observed.
    rng = np.random.default_rng(seed)
    rates = 2 * np.array(rates) / sum(rates)
    sizes, phases = rng.normal(size=3), rng.uniform(0, 2 * np.pi, 3)
    orders = np.arange(19)
    turned = np.cos(phases[:, None] + orders * np.pi / 2)
    factorials = np.cumprod(np.maximum(orders, 1.0))
    signal = (sizes[:, None] * rates[:, None] ** orders * turned).sum(axis=0) / factorials
    signal[0] -= rng.uniform(-1, 1) * np.abs(sizes).sum() / 2
    ours = Polynomial(tuple(jnp.asarray(signal)))
    if signal[0] * signal.sum() >= 0:
        return
    left = float(ours.value(ours.crossing()))
    assert abs(left) < 1e-12 * np.abs(sizes).sum()


@given(st.lists(numbers, min_size=8, max_size=8), st.booleans())
def test_no_value_is_beyond_the_bound_of_the_extreme(coefficients, falls):
    signal = np.polynomial.Polynomial(coefficients)
    slopes = signal.deriv()(0.0), signal.deriv()(1.0)
    if not (slopes[0] > 0 > slopes[1]):
        return
    rows = [-c if falls else c for c in coefficients]
    bound = float(Polynomial(tuple(map(jnp.asarray, rows))).extreme_bound())
    highest = signal(np.linspace(0, 1, 2001)).max()
    assert highest <= (-bound if falls else bound) + 1e-13 * np.abs(coefficients).sum()


def test_the_bound_of_a_sine_comes_close_with_the_cube_of_the_step():
    excess = []
    for length in (0.8, 0.4):
        orders = np.arange(16)
        turned = np.sin(np.pi / 2 - length / 3 + orders * np.pi / 2) * length**orders
        signal = turned / np.cumprod(np.maximum(orders, 1.0))
        bound = Polynomial(tuple(map(jnp.asarray, signal))).extreme_bound()
        excess.append(float(bound) - 1.0)
    assert 0 < excess[0] < 0.05
    assert 0 < excess[1] < excess[0] / 6
