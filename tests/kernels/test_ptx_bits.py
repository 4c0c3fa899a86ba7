"""Checked against: the bits of the CPU's kernels, with emulated programs of a GPU."""

import jax
import numpy as np
import pytest
from jax import lax

import jaxvib as jv
from jaxvib.kernels.lowering import trace
from tests.kernels import test_elementary, test_primitives
from tests.kernels.ptx_bits import check_bits
from tests.random_programs import lanes_of, operations

FEW = (1, 2, 129)  # launches of small programs


def check(function, arguments, launches=FEW):
    """Check a function of one lane on lanes, the first axis of its arguments."""
    shapes = [jax.ShapeDtypeStruct(a.shape[1:], a.dtype) for a in arguments]
    check_bits(trace(lambda *x: function(*x), shapes)[0], arguments, launches)


@pytest.mark.parametrize("name", test_primitives.CASES)
def test_a_primitive_has_the_bits_of_the_cpu(name):
    function, *arguments = test_primitives.CASES[name]
    check(function, arguments)


ENDS = np.concatenate([test_elementary.ENDS, -np.geomspace(1e-310, 1e308, 50)])


@pytest.mark.parametrize("name", test_elementary.CASES)
def test_an_elementary_function_has_the_bits_of_the_cpu(name):
    function, *_, sets = test_elementary.CASES[name]
    ends = np.broadcast_arrays(*np.ix_(*[ENDS] * len(sets[0])))
    together = [
        np.concatenate([*each, end.ravel()]) for *each, end in zip(*sets, ends, strict=True)
    ]
    check(function, together, (len(together[0]),))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_remainders_are_exact_for_all_quotients(kind):
    random, limits = np.random.default_rng(3), np.finfo(kind)
    exponents = random.integers(limits.minexp - limits.nmant, limits.maxexp, (2, 4000))
    x, y = np.ldexp(random.uniform(-1, 1, exponents.shape), exponents).astype(kind)
    x[:5] = limits.max
    y[:5] = limits.smallest_subnormal * np.array([1, 3, 2**20 + 1, 0, np.inf], kind)
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    np.testing.assert_array_equal(jv.kernel(lambda x, y: lax.rem(x, y)).map(x, y), expected)
    check(lax.rem, [x, y], (len(x),))


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(k, marks=pytest.mark.slow) for k in range(3, 200))]
)
def test_random_operations_have_the_bits_of_the_cpu(seed):
    function, taken = operations(seed)
    check(function, lanes_of(taken, 129, seed))
