"""Checked against: numpy's functions, to two roundings."""

import numpy as np

from jaxvib.kernels.calls import elementwise


def test_logarithms_are_numpys_of_any_shape():
    values = np.exp(np.random.default_rng(2).normal(size=(3, 5)))
    found = elementwise.log(values)
    assert found.shape == values.shape
    np.testing.assert_allclose(found, np.log(values), rtol=5e-16, atol=2e-16)
    assert elementwise.log(values[:, :0]).shape == (3, 0)


def test_powers_are_broadcast():
    found = elementwise.power(1e4, np.linspace(0.0, 1.0, 5))
    np.testing.assert_allclose(found, [1.0, 10.0, 1e2, 1e3, 1e4], rtol=1e-15)
    assert elementwise.power(np.float64(2.0), 3.0) == 8.0
