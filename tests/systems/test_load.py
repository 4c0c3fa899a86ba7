"""Checked against: the closed form F_0 cos(w t + phi) and its derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxvib.systems.load import HarmonicLoad

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
