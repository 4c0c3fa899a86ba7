"""Checked against: XLA, within what the rounding of each operation does to a result."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib.kernels import kernel
from jaxvib.kernels.cpu.machine_code import Native
from jaxvib.kernels.lower.lowering import lower_lanes, trace
from tests.random_programs import lanes_of, operations
from tests.rounding import known

LANES = 14
TOGETHER = 6  # programs of one test


def check(function, arguments) -> list[float]:
    """Check a function's results; return which shares of them could be checked."""
    compiled = kernel(function)
    reason = compiled.unsupported_reason(*(a[0] for a in arguments))
    if "void" in reason:  # derivatives of whole numbers that a loop carries
        return []
    assert not reason
    found = jax.tree.leaves(compiled.map(*arguments))
    shares = []
    for ours, (theirs, width, sure) in zip(found, known(function, arguments), strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
        if ours.dtype.kind == "f":
            with np.errstate(all="ignore"):
                apart = np.abs(ours - theirs)
                same |= apart <= width + 2 * np.spacing(np.abs(theirs))
        wrong = np.argwhere(sure & ~same)
        assert not wrong.size, [
            (
                ours[tuple(w)],
                theirs[tuple(w)],
                width[tuple(w)],
                [a[w[0]] for a in arguments],
            )
            for w in wrong[:3]
        ]
        shares.append(float(sure.mean()) if sure.size else 1.0)
    return shares


def check_programs(first, of=lambda function: function):
    shares = []
    for seed in range(first, first + TOGETHER):
        function, taken = operations(seed)
        try:
            shares += check(of(function), lanes_of(taken, LANES, seed))
        except Exception as error:
            error.add_note(f"the program of seed {seed}")
            raise
    assert np.mean(shares) > 0.9


def test_random_operations_are_those_of_xla():
    check_programs(0)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(TOGETHER, 400, TOGETHER))
def test_many_random_operations_are_those_of_xla(first):
    check_programs(first)


def slopes(function):
    """Return the derivatives of a function's floats by its floats."""

    def derived(*arguments):
        floats = [k for k, x in enumerate(arguments) if x.dtype.kind == "f"]

        def real(*moving):
            whole = list(arguments)
            for place, value in zip(floats, moving, strict=True):
                whole[place] = value
            return [r for r in function(*whole) if r.dtype.kind == "f"]

        changes = tuple(jnp.full_like(arguments[k], 0.7) for k in floats)
        values, along = jax.jvp(real, tuple(arguments[k] for k in floats), changes)
        return [*values, *along, *arguments]

    return derived


@pytest.mark.slow  # compiles six programs by XLA, 5 s
def test_derivatives_of_random_operations_are_those_of_xla():
    check_programs(1000, slopes)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1006, 1200, TOGETHER))
def test_derivatives_of_many_random_operations_are_those_of_xla(first):
    check_programs(first, slopes)


@pytest.mark.parametrize("seed", range(400, 404))
def test_random_operations_have_the_same_bits_in_every_width_and_place(seed):
    function, taken = operations(seed)
    arguments = lanes_of(taken, 24, seed)
    closed, _ = trace(function, [jax.ShapeDtypeStruct(*each) for each in taken])
    last = [np.ascontiguousarray(np.moveaxis(a, 0, -1)) for a in arguments]
    wanted, *others = (
        Native(lower_lanes(closed, width))(last, 1) for width in (1, 2, 4, 8)
    )
    part = kernel(function).map(*(a[5:12] for a in arguments), threads=2)
    for k, one in enumerate(wanted):
        for found in others:
            np.testing.assert_array_equal(found[k], one)
        np.testing.assert_array_equal(part[k], np.moveaxis(one, -1, 0)[5:12])
