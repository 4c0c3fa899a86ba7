"""Checked against: the closed forms of each law, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxvib as jv
from jaxvib.systems.loads import ConstantLoad, FourierLoad, HarmonicLoad

usual = HarmonicLoad(500.0, 5.8, 0.3)


@jax.jit
def force_and_slopes(amplitude, frequency, phase, time):
    def force(amplitude, frequency, phase, time):
        return HarmonicLoad(amplitude, frequency, phase).force(time)

    arguments = (amplitude, frequency, phase, time)
    return force(*arguments), jax.grad(force, argnums=(0, 1, 2, 3))(*arguments)


@given(
    amplitude=st.floats(-1e4, 1e4),
    frequency=st.floats(1e-3, 100.0),
    phase=st.floats(-7.0, 7.0),
    time=st.floats(0.0, 10.0),
)
def test_force_and_derivatives_are_the_closed_form(amplitude, frequency, phase, time):
    angle = frequency * time + phase
    swing = -amplitude * np.sin(angle)
    force, slopes = force_and_slopes(amplitude, frequency, phase, time)
    near = {"rtol": 1e-12, "atol": 1e-12 * (1 + abs(amplitude)) * (1 + frequency + time)}
    np.testing.assert_allclose(force, amplitude * np.cos(angle), **near)
    expected = [np.cos(angle), time * swing, swing, frequency * swing]
    np.testing.assert_allclose(slopes, expected, **near)


@given(time=st.floats(-100.0, 100.0), frequency=st.floats(0.1, 50.0))
def test_the_force_returns_after_a_period(time, frequency):
    load = HarmonicLoad(2.0, frequency)
    later = time + float(load.period())
    assert float(load.force(later)) == pytest.approx(float(load.force(time)), abs=1e-10)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_an_ensemble_keeps_its_precision_and_equals_a_loop(dtype):
    load = jax.tree.map(lambda leaf: leaf.astype(dtype), usual)
    times = jnp.asarray([-1.0, 0.0, 0.5, 3.0], dtype)
    forces = jax.jit(jax.vmap(load.force))(times)
    assert forces.dtype == dtype
    assert load.period().dtype == dtype
    tolerance = 4 * float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(
        forces, [load.force(t) for t in times], rtol=tolerance, atol=500 * tolerance
    )


@pytest.mark.parametrize("frequency", [0.0, -1.0, np.nan, np.inf])
def test_a_bad_frequency_is_named(frequency):
    with pytest.raises(ValueError, match=r"frequency = .* rad/s is not in \(0, inf\)"):
        HarmonicLoad(1.0, frequency)


@pytest.mark.parametrize("field", ["amplitude", "phase"])
@pytest.mark.parametrize("value", [np.nan, -np.inf, "1", True])
def test_bad_values_are_named(field, value):
    values = {"amplitude": 1.0, "frequency": 1.0, field: value}
    with pytest.raises(ValueError, match=f"{field} = "):
        HarmonicLoad(**values)


def test_the_load_is_a_pytree_of_three_numbers():
    assert [float(leaf) for leaf in jax.tree.leaves(usual)] == [500.0, 5.8, 0.3]


def test_a_weight_is_the_same_at_all_times_and_a_parameter():
    weight = ConstantLoad(9.81)
    np.testing.assert_array_equal(jax.vmap(weight.force)(jnp.array([0.0, 1e9])), 9.81)
    assert list(jv.systems.parameters(weight)) == ["force"]
    assert float(jax.grad(lambda f: ConstantLoad(f).force(0.0))(2.0)) == 1
    assert float(jv.replace(weight, {"force": 3.0}).force(0.0)) == 3


@pytest.mark.parametrize("force", [np.nan, np.inf, "1"])
def test_a_bad_constant_force_is_named(force):
    with pytest.raises(ValueError, match="force = "):
        ConstantLoad(force)


def series(frequency, cosine, sine, mean, time):
    return FourierLoad(frequency, cosine, sine, mean).force(time)


@jax.jit
def of_series(cosine, sine, time):
    load = FourierLoad(1.7, cosine, sine, 0.4)
    waves = sum(a * jnp.cos(w * time + p) for a, w, p in load.waves())
    return load.force(time), load.force(time + load.period()), waves


@given(time=st.floats(-10.0, 10.0), seed=st.integers(0, 99))
def test_a_fourier_load_is_its_sum(time, seed):
    cosine, sine = np.random.default_rng(seed).normal(size=(2, 3))
    angles = 1.7 * time * np.arange(1, 4)
    expected = 0.4 + cosine @ np.cos(angles) + sine @ np.sin(angles)
    force, later, waves = of_series(cosine, sine, time)
    assert float(force) == pytest.approx(expected, abs=1e-12)
    assert float(later) == pytest.approx(expected, abs=1e-11)
    assert float(waves) == pytest.approx(expected, abs=1e-12)


def test_the_derivatives_of_a_fourier_load_are_the_closed_forms():
    numbers = 1.7, jnp.array([1.0, 0.2]), jnp.array([-0.5, 0.3]), 0.4, 0.9
    slopes = jax.grad(series, argnums=(0, 1, 2, 3, 4))(*numbers)
    w, cosine, sine, _, t = numbers
    orders = np.array([1.0, 2.0])
    cos, sin = np.cos(orders * w * t), np.sin(orders * w * t)
    swing = float(orders @ (sine * cos - cosine * sin))
    for found, expected in zip(slopes, (t * swing, cos, sin, 1.0, w * swing), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("cosine", "sine", "message"),
    [
        ([1.0], [1.0, 2.0], r"shapes \(1,\) and \(2,\)"),
        ([], [], r"shapes \(0,\)"),
        ([np.nan], [0.0], "cosine = nan N"),
    ],
)
def test_bad_series_are_named(cosine, sine, message):
    with pytest.raises(ValueError, match=message):
        FourierLoad(1.0, cosine, sine)
