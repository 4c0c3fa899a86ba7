"""Checked against: published folds of a Duffing oscillator, a linear response, scipy."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.orbits import SettlingSettings
from tests import zoo

TAU = 2 * np.pi


oscillator = zoo.duffing()
# The folds are at 1.0439137088 and 1.0492623992.
frequencies = np.array([1.0425, 1.0435, 1.0443, 1.0465, 1.0488, 1.0500, 1.0505])


@pytest.fixture(scope="module")
def sweeps():
    return [
        jv.bifurcation_diagram(oscillator, "w", values, follow=True, points=16)
        for values in (frequencies, frequencies[::-1])
    ]


def test_two_motions_coexist_between_the_folds_and_nowhere_else(sweeps):
    up, down = sweeps
    apart = np.abs(up.states[:, 0] - down.states[::-1, 0]).max(axis=1)
    between = (frequencies > 1.0439137088) & (frequencies < 1.0492623992)
    np.testing.assert_array_equal(apart > 1e-2, between)
    assert up.periods.tolist() == [1] * 7
    assert up.result.tolist() == [0] * 7


def test_exponents_are_those_of_multipliers_whose_product_damping_gives(sweeps):
    for found, values in zip(sweeps, (frequencies, frequencies[::-1]), strict=True):
        multipliers, period = found.orbits.floquet_multipliers, TAU / values
        shrunk = np.exp(-0.04 * period)
        np.testing.assert_allclose(multipliers.prod(axis=1), shrunk, rtol=1e-8)
        exponent = np.log(abs(multipliers).max(axis=1)) / period
        np.testing.assert_allclose(found.lyapunov_exponent, exponent, rtol=1e-13)
        assert (found.lyapunov_error < 1e-6).all()


def test_states_beyond_one_period_are_nan(sweeps):
    states = sweeps[0].states
    assert states.shape == (7, 16, 2)
    assert np.isfinite(states[:, 0]).all()
    assert np.isnan(states[:, 1:]).all()


@pytest.mark.slow
def test_without_its_cubic_spring_it_is_the_linear_response():
    line = jv.replace(oscillator, {"k": 0.0, "c": 0.4})
    values = np.array([0.8, 1.0, 1.3])
    found = jv.bifurcation_diagram(line, "w", values, points=16)
    response = 0.015 / (1 - values**2 + 0.4j * values)
    expected = np.stack([response.real, -values * response.imag], axis=1)
    np.testing.assert_allclose(found.states[:, 0], expected, atol=1e-7)
    np.testing.assert_allclose(found.orbits.amplitude[:, 0], abs(response), rtol=1e-5)
    np.testing.assert_allclose(found.lyapunov_exponent, -0.2, rtol=1e-7)


@pytest.mark.slow
def test_chaos_and_windows_have_the_exponents_of_the_whole_spectrum():
    well = jv.forced_system(
        lambda t, x, p: [x[1], p["f"] * jnp.cos(t) - 0.25 * x[1] + x[0] - x[0] ** 3],
        parameters={"f": 0.3}, period=TAU, dimension=2,
    )  # fmt: skip
    values = np.array([0.2, 0.33, 0.4, 0.5])
    found = jv.bifurcation_diagram(well, "f", values, state=np.array([1.0, 0.0]))
    assert found.periods.tolist() == [1, 3, 0, 1]
    assert found.result.tolist() == [0, 0, Reason.CHAOTIC, 0]
    whole = jv.lyapunov_exponents(jv.replace(well, {"f": 0.4}), np.array([1.0, 0.0]), 4096)
    apart = found.lyapunov_exponent[2] - whole.exponents[0]
    assert np.abs(apart) < 4 * found.lyapunov_error[2]
    assert np.isfinite(found.states[2]).all()
    assert np.isfinite(found.states[1]).sum() == 6


def test_diagrams_from_invalid_states_have_their_reason():
    bad = np.array([np.nan, 0.0])
    found = jv.bifurcation_diagram(
        oscillator, "w", np.array([0.8, 1.0, 1.3]), state=bad, follow=True, points=16
    )
    assert (found.result == Reason.BAD_PARAMETER).all()
    assert np.isnan(found.states).all()
    assert "3 values, w 0.8 to 1.3: 3 bad_parameter" in repr(found)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "v"}, "unknown parameter 'v'"),
        ({"points": 8}, r"points = 8 is not in \[9, "),
        ({"points": 10**12}, r"points = 1e\+12 is not in \[9, 1.9174e\+07\]"),
        ({"settings": SettlingSettings(max_periods=64)}, r"points = 64 is not in \[65, "),
    ],
)
def test_an_argument_out_of_range_is_named(options, words):
    arguments = {"path": "w", "values": frequencies} | options
    with pytest.raises(ValueError, match=words):
        jv.bifurcation_diagram(oscillator, **arguments)


def test_a_transient_is_of_a_period_or_more():
    with pytest.raises(ValueError, match="transient = 0"):
        SettlingSettings(transient=0)
