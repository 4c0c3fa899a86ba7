"""Checked against: Newton's law at rest, F_0 cos(phase) / m, in closed form."""

import numpy as np
import pytest

import jaxvib as jv

from ..pushed import push

system = jv.two_body_impact()
amplitudes, masses = [100.0, 300.0, 900.0], [500.0, 2000.0]


def test_a_grid_has_a_dimension_for_each_path():
    result = jv.sweep(push, system, {"load.amplitude": amplitudes, "main.mass": masses})
    acceleration = result["acceleration"]
    assert acceleration.dims == ("load.amplitude", "main.mass", "freedom")
    expected = np.divide.outer(amplitudes, masses)
    np.testing.assert_allclose(acceleration[..., 0], expected, rtol=1e-15)
    np.testing.assert_array_equal(acceleration[..., 1], 0.0)
    assert acceleration.attrs["units"] == "m/s^2"
    assert result["main.mass"].attrs == {"units": "kg", "description": "mass"}
    picked = acceleration.sel({"main.mass": 2000.0, "load.amplitude": 300.0})
    np.testing.assert_allclose(picked, [0.15, 0.0], rtol=1e-15)


def test_samples_are_taken_together():
    pairs = {"load.amplitude": amplitudes, "main.mass": [500.0, 600.0, 700.0]}
    counts = []
    result = jv.sweep(push, system, samples=pairs, progress=counts.append)
    assert result["acceleration"].dims == ("sample", "freedom")
    expected = np.array(amplitudes) / pairs["main.mass"]
    np.testing.assert_allclose(result["acceleration"][:, 0], expected, rtol=1e-15)
    np.testing.assert_array_equal(result["load.amplitude"], amplitudes)
    assert sum(counts) == 3


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"load.amplitud": [1.0]}, "unknown parameter 'load.amplitud'; did you mean"),
        ({"main.mass": [1.0, -1.0]}, r"main.mass = -1 kg is not in \(0, inf\)"),
        ({"main.mass": [1.0, np.nan]}, "main.mass = nan kg is not in"),
        ({"main.mass": [True]}, "is not a number"),
        ({"main.mass": 1.0}, r"main.mass has shape \(\); allowed: \(samples,\)"),
        ({"main.mass": []}, "main.mass has shape"),
        ({}, "sweep has no paths"),
    ],
)
def test_bad_values_are_named(grid, message):
    with pytest.raises(ValueError, match=message):
        jv.sweep(push, system, grid)


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="lengths"):
        jv.sweep(push, system, samples={"main.mass": [1.0], "gap": [0.1, 0.2]})


@pytest.mark.parametrize("both", [{}, {"grid": {"gap": [0.1]}, "samples": {"gap": [0.1]}}])
def test_either_a_grid_or_samples(both):
    with pytest.raises(ValueError, match="either a grid or samples"):
        jv.sweep(push, system, **both)


def test_an_analysis_that_returns_no_module_is_refused():
    with pytest.raises(ValueError, match="allowed: a module of arrays"):
        jv.sweep(lambda system: {"gap": system.gap}, system, {"gap": [0.1]})
