"""Checked against: the closed form of Ishigami's function, derivatives by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import jaxvib as jv
from jaxvib.design import (
    local_sensitivity,
    sensitivity,
    sobol_indices,
    white_noise_measure,
)
from jaxvib.foundation.quantity import quantity

A, B = 7.0, 0.1
PI = np.pi


class Three(eqx.Module):
    x: jax.Array = quantity("x", "")
    y: jax.Array = quantity("y", "")
    z: jax.Array = quantity("z", "")


def ishigami(p):
    return jnp.sin(p.x) + A * jnp.sin(p.y) ** 2 + B * p.z**4 * jnp.sin(p.x)


BOUNDS = dict.fromkeys("xyz", (-PI, PI))


def test_sobol_indices_of_ishigamis_function():
    alone = [(1 + B * PI**4 / 5) ** 2 / 2, A**2 / 8, 0.0]
    together = B**2 * PI**8 * (1 / 18 - 1 / 50)  # of x and z
    total = sum(alone) + together
    found = sobol_indices(ishigami, Three(1.0, 1.0, 1.0), BOUNDS, samples=4096)
    assert found.paths == ("x", "y", "z")
    np.testing.assert_allclose(found.variance, [total], rtol=2e-2)
    np.testing.assert_allclose(found.first_order[0], np.array(alone) / total, atol=0.02)
    expected = np.array([alone[0] + together, alone[1], together]) / total
    np.testing.assert_allclose(found.total_order[0], expected, atol=0.02)
    low, high = np.moveaxis(found.total_order_bounds[0], -1, 0)
    assert np.all((low <= found.total_order[0]) & (found.total_order[0] <= high))


def test_indices_are_those_of_scipy():
    drawn = np.random.default_rng(3).normal(size=(2, 5, 64)).cumsum(axis=1)
    mixed = np.moveaxis(drawn[:, 2:], 1, 0)
    values = {"f_A": drawn[:, 0], "f_B": drawn[:, 1], "f_AB": mixed}
    expected = scipy.stats.sobol_indices(func=values, n=64)
    first, total = sensitivity.shares_of_variance(drawn)
    np.testing.assert_allclose(first, expected.first_order, rtol=1e-12)
    np.testing.assert_allclose(total, expected.total_order, rtol=1e-12)


def test_one_parameter_has_all_of_the_variance():
    found = sobol_indices(lambda p: p.x**2, Three(1.0, 1.0, 1.0), {"x": (0.0, 1.0)})
    np.testing.assert_allclose(found.variance, [4 / 45], rtol=1e-2)
    np.testing.assert_allclose(found.first_order, [[1.0]], atol=0.02)
    np.testing.assert_allclose(found.total_order, [[1.0]], atol=0.02)
    assert found.first_order_bounds.shape == (1, 1, 2)


def test_local_sensitivities_are_the_derivatives_by_hand():
    found = local_sensitivity(ishigami, Three(1.0, 0.5, 2.0), BOUNDS)
    value = np.sin(1) + A * np.sin(0.5) ** 2 + B * 16 * np.sin(1)
    slopes = np.array([np.cos(1) * (1 + B * 16), A * np.sin(1.0), B * 32 * np.sin(1)])
    np.testing.assert_allclose(found.values, [value], rtol=1e-14)
    np.testing.assert_allclose(found.derivatives[0], slopes, rtol=1e-13)
    np.testing.assert_allclose(
        found.normalised[0], slopes * [1.0, 0.5, 2.0] / value, rtol=1e-13
    )


def test_a_parameter_on_a_log_scale_keeps_its_derivative():
    linear = local_sensitivity(ishigami, Three(1.0, 0.5, 2.0), {"z": (0.1, 3.0)})
    log = local_sensitivity(ishigami, Three(1.0, 0.5, 2.0), {"z": (0.1, 3.0, "log")})
    np.testing.assert_allclose(linear.derivatives, log.derivatives, rtol=1e-13)


def test_a_zero_has_no_relative_change():
    found = local_sensitivity(ishigami, Three(0.0, 0.0, 2.0), {"x": (-1, 1), "z": (1, 3)})
    assert np.isnan(np.asarray(found.normalised)).all()
    assert np.isfinite(np.asarray(found.derivatives)).all()


def test_a_system_takes_part_by_its_paths():
    system = jv.two_body_impact()
    bounds = {"attached.mass": (50.0, 150.0), "main.mass": (500.0, 1500.0)}
    found = local_sensitivity(white_noise_measure("main", "main"), system, bounds)
    # twice both masses: half the acceleration per force, a quarter of the variance
    assert float(jnp.sum(found.normalised)) == pytest.approx(-2.0, abs=1e-10)


def test_lost_samples_leave_no_indices():
    def fails(p):
        return jnp.where(p.x > 2.0, jnp.nan, p.x + p.y)

    found = sobol_indices(fails, Three(1.0, 1.0, 1.0), BOUNDS, samples=64)
    assert found.lost > 0
    assert np.isnan(np.asarray(found.first_order)).all()
    assert jv.Reason(int(found.result)).failed


@pytest.mark.parametrize("samples", [0, 100])
def test_a_number_of_samples_that_is_no_power_of_two_is_refused(samples):
    with pytest.raises(ValueError, match=f"samples = {samples}"):
        sobol_indices(ishigami, Three(1.0, 1.0, 1.0), BOUNDS, samples=samples)
