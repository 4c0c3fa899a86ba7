"""Checked against: the same function traced, and the classes of its arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib.foundation.arrays import (
    HOST,
    array_namespace,
    as_array,
    gather_lanes,
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


@pytest.mark.parametrize("number", [7, 60_000])  # by one thread and by all
def test_lanes_are_gathered_wherever_they_lie_in_memory(number):
    chosen = np.random.default_rng(0).random(number) < 0.7
    first = np.random.default_rng(1).random((number, 2, 3))
    last = np.moveaxis(np.ascontiguousarray(np.moveaxis(first, 0, -1)), -1, 0)
    tree = {"first": first, "last": last, "between": last[:, ::2], "number": first[:, 0, 0]}
    for lanes in (chosen, np.flatnonzero(chosen)[::-1], slice(2, 5)):
        found = gather_lanes(tree, lanes)
        for name, value in tree.items():
            np.testing.assert_array_equal(found[name], value[lanes])
    found = gather_lanes(tree, chosen)
    assert found["first"].flags.c_contiguous
    assert np.moveaxis(found["last"], 0, -1).flags.c_contiguous
