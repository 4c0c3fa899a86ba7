"""A program of many lanes that the tests of devices launch, and what they compare."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

LANES = 2000
rng = np.random.default_rng(0)
STARTS, FREQUENCIES = rng.normal(size=(LANES, 2)), rng.uniform(0.5, 2.0, LANES)


def iterated(start, frequency):
    """Return a number, a count, and a truth, after a number of turns that differs."""
    turns = 5 + (10 * jnp.abs(jnp.sin(frequency))).astype(int)
    end = jax.lax.fori_loop(
        0, turns, lambda i, x: jnp.sin(x * frequency) + start[0], start[1]
    )
    return turns, end > 0, jnp.stack([end, frequency * frequency])


def expected(kernel):
    """Return the results on the CPU: a number of threads is of its cores."""
    return kernel.map(STARTS, FREQUENCIES, threads=1)


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def launches():
    """Return the launches of this process: device, blocks and threads of each."""
    return emulated().launches


def emulated():
    """Return the module that takes the place of the driver."""
    return sys.modules["jaxvib_cuda"]


def reason(kernel):
    return kernel.unsupported_reason(STARTS[0], FREQUENCIES[0], device="gpu")
