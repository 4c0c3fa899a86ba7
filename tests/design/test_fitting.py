"""Checked against: NIST StRD Misra1a, certified values; a response that is made up."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.design import fit, response_measure
from jaxvib.foundation.quantity import quantity

X = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3,
              536.8, 593.1, 689.1, 760.0])  # fmt: skip
Y = [10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40,
     75.47, 81.78]  # fmt: skip


class Curve(eqx.Module):
    b1: jax.Array = quantity("b1", "")
    b2: jax.Array = quantity("b2", "")


def misra(curve):
    return curve.b1 * (1 - jnp.exp(-curve.b2 * X))


BOUNDS = {"b1": (1.0, 1000.0), "b2": (1e-5, 1e-2, "log")}


def test_misra1a_has_its_certified_values_and_errors():
    found = fit(misra, Curve(500.0, 0.0001), BOUNDS, Y)
    assert float(found.values["b1"]) == pytest.approx(2.3894212918e2, rel=1e-8)
    assert float(found.values["b2"]) == pytest.approx(5.5015643181e-4, rel=1e-8)
    errors = found.standard_errors
    assert float(errors["b1"]) == pytest.approx(2.7070075241e0, rel=1e-6)
    assert float(errors["b2"]) == pytest.approx(7.2668688436e-6, rel=1e-6)
    assert float(found.deviation) == pytest.approx(1.0187876330e-1, rel=1e-8)
    low, high = found.intervals["b1"]
    width = 2 * 2.1788128 * 2.7070075241  # Student's t of 12 degrees of freedom
    assert float(high - low) == pytest.approx(width, rel=1e-6)
    assert "b1 238.942" in repr(found)


@pytest.mark.slow
def test_known_deviations_scale_the_errors():
    found = fit(misra, Curve(500.0, 0.0001), BOUNDS, Y, deviations=0.2)
    ratio = 0.2 / 1.0187876330e-1
    assert float(found.standard_errors["b1"]) == pytest.approx(
        ratio * 2.7070075241, rel=1e-6
    )


@pytest.mark.slow
def test_a_system_is_found_from_its_response():
    frequencies = np.linspace(4.0, 8.0, 60)
    truth = jv.two_body_impact(attached_frequency=5.2, attached_damping_ratio=0.08)
    measure = response_measure("main", "main", frequencies)
    exact = np.asarray(measure.analysis.function(truth))
    noise = 0.01 * exact * np.random.default_rng(1).standard_normal(60)
    bounds = {
        "attached.frequency": (4.0, 7.0),
        "attached.damping_ratio": (0.01, 0.3, "log"),
    }
    found = fit(measure, jv.two_body_impact(), bounds, exact + noise, 0.01 * exact)
    for path, value in {"attached.frequency": 5.2, "attached.damping_ratio": 0.08}.items():
        error = float(found.standard_errors[path])
        assert abs(float(found.values[path]) - value) < 3 * error
        assert error < 0.02 * value


def test_parameters_on_a_bound_have_no_error():
    found = fit(misra, Curve(50.0, 0.0001), {**BOUNDS, "b1": (1.0, 100.0)}, Y)
    assert np.isnan(float(found.standard_errors["b2"]))


@pytest.mark.parametrize(
    ("data", "deviations", "message"),
    [
        ([1.0, 2.0], None, "2 data for 2 parameters"),
        ([*Y[:-1], np.nan], None, "data = nan"),
        (Y[:-1], None, "the measure has 14 numbers; allowed: 13"),
        (Y, 0.0, "deviations = 0"),
    ],
)
def test_mistakes_are_named(data, deviations, message):
    with pytest.raises(ValueError, match=message):
        fit(misra, Curve(500.0, 0.0001), BOUNDS, data, deviations)
