"""Checked against: the same function mapped by `jax.vmap`."""

import jax.numpy as jnp
import numpy as np

import jaxvib as jv
from jaxvib.kernels.lower.tangents import map_rows

ROWS = np.linspace(-1.0, 2.0, 40)


def waves(amplitude, rate):
    return map_rows(lambda x, y: {"wave": amplitude * jnp.sin(rate * x) + y}, ROWS, ROWS**2)


def test_rows_mapped_one_by_one_equal_vmap():
    expected = 2.0 * np.sin(3.0 * ROWS) + ROWS**2
    kernel = jv.kernel(waves)
    assert not kernel.unsupported_reason(2.0, 3.0)
    for found in (waves(2.0, 3.0), kernel(2.0, 3.0)):
        np.testing.assert_allclose(found["wave"], expected, rtol=1e-14, atol=1e-15)


def test_a_kernel_does_not_grow_with_the_rows():
    def lines(count):
        def total(x):
            return jnp.sum(map_rows(lambda row: jnp.cos(jnp.exp(row * x)), ROWS[:count]))

        kernel = jv.kernel(total)
        kernel(1.0)
        (form,) = kernel._forms.values()
        return form.program.text.count("\n")

    assert lines(40) < 2 * lines(2) + 40 * 12  # a table's row is a line or two
