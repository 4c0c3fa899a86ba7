"""Checked against: the same function traced, and the classes of its arrays."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxvib.foundation.arrays import (
    HOST,
    array_namespace,
    as_array,
    is_concrete,
    to_numpy,
    while_loop,
)


def test_numpys_arrays_alone_go_by_numpy():
    assert array_namespace(np.ones(2), 1.0, np.float64(2.0)) is HOST
    assert array_namespace(np.ones(2), jnp.ones(2)) is jnp


def test_traced_values_are_not_concrete_and_stay_jax_arrays():
    def function(x):
        assert not is_concrete({"x": x}, 1.0)
        assert to_numpy(x) is x
        assert array_namespace(x) is jnp
        return x

    assert is_concrete(jax.jit(function)(1.0))
    assert isinstance(to_numpy(jnp.ones(2)), np.ndarray)
    assert isinstance(as_array(1, np.int32), np.ndarray)
    assert isinstance(as_array(jnp.ones(()), float), jax.Array)


def test_loops_are_the_same_known_or_traced():
    def cube(state):
        return while_loop(lambda s: s[1] < 3, lambda s: (s[0] * 2.0, s[1] + 1), state)

    known = cube((np.float64(3.0), np.int32(0)))
    assert isinstance(known[0], np.float64)
    np.testing.assert_array_equal(known, jax.jit(cube)((3.0, 0)))
