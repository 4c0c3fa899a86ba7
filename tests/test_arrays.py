"""Checked against: `jax.numpy`, which raises nothing where numpy does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib._arrays import HOST, as_array, is_known, library_of, loop, on_host

SINGULAR, SPOILED = np.ones((3, 3)), np.full((3, 3), np.nan)


def test_numpys_arrays_alone_go_by_numpy():
    assert library_of(np.ones(2), 1.0, np.float64(2.0)) is HOST
    assert library_of(np.ones(2), jnp.ones(2)) is jnp


def test_what_is_traced_is_not_known_and_stays_where_it_is():
    def function(x):
        assert not is_known({"x": x}, 1.0)
        assert on_host(x) is x
        assert library_of(x) is jnp
        return x

    assert is_known(jax.jit(function)(1.0))
    assert isinstance(on_host(jnp.ones(2)), np.ndarray)
    assert isinstance(as_array(1, np.int32), np.ndarray)
    assert isinstance(as_array(jnp.ones(()), float), jax.Array)


@pytest.mark.parametrize("name", ["solve", "inv", "cond", "norm", "det", "eigvals"])
@pytest.mark.parametrize("matrix", [SINGULAR, SPOILED], ids=["singular", "spoiled"])
def test_no_matrix_raises_and_shapes_are_those_of_jax(name, matrix):
    if name == "eigvals" and matrix is SPOILED:
        pytest.skip("LAPACK never returns from some matrices of NaN; nobody asks it")
    others = {"solve": [np.ones(3)], "norm": [2]}.get(name, [])
    with np.errstate(all="ignore"):
        found = getattr(HOST.linalg, name)(matrix, *others)
    expected = getattr(jnp.linalg, name)(matrix, *others)
    assert np.shape(found) == expected.shape
    assert np.asarray(found).dtype == expected.dtype
    finite = np.isfinite(found) & (np.abs(found) < 1e15)
    np.testing.assert_array_equal(finite, np.isfinite(expected) & (np.abs(expected) < 1e15))
    np.testing.assert_allclose(found[finite], np.asarray(expected)[finite], atol=1e-15)


def test_loops_are_the_same_known_or_traced():
    def cube(state):
        return loop(lambda s: s[1] < 3, lambda s: (s[0] * 2.0, s[1] + 1), state)

    known = cube((np.float64(3.0), np.int32(0)))
    assert isinstance(known[0], np.float64)
    np.testing.assert_array_equal(known, jax.jit(cube)((3.0, 0)))


@pytest.mark.parametrize("name", ["solve", "inv", "cond", "norm", "eig"])
def test_a_matrix_that_fails_spoils_none_beside_it(name):
    many = np.stack([2 * np.eye(3), SINGULAR, SPOILED if name != "eig" else SINGULAR])
    others = {"solve": [np.ones((3, 3, 1))]}.get(name, [])
    settings = {"axis": (-2, -1)} if name == "norm" else {}
    function = getattr(HOST.linalg, name)
    with np.errstate(all="ignore"):
        found = function(many, *others, **settings)
        alone = [function(one, *(o[0] for o in others), **settings) for one in many]
    expected = jax.tree.map(lambda *each: np.stack(each), *alone)
    jax.tree.map(np.testing.assert_array_equal, found, expected)
    assert np.all(np.isfinite(jax.tree.leaves(found)[0][0]))
