"""Checked against: the same programs by Python's own loops, and compiled by XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from jax import lax

from jaxvib.kernels import kernel
from tests.random_programs import program, trees

random = np.random.default_rng(2)


def rows_of_arguments(windows, single, scale):
    """Return sums over rows of long arguments, forward and backward, of their views."""

    def add(total, rows):
        first, second = rows
        return total * 0.9 + first / scale, jnp.sum(second) * 2.0

    joined, zeros = jnp.concatenate(windows), jnp.zeros(3)
    forward = lax.scan(add, zeros, (joined[:100], single[7:107]))
    backward = lax.scan(add, zeros, (joined[60:], single[:60]), reverse=True)
    turned = lax.scan(add, zeros, (joined[::-1][20:], single.reshape(-1, 2)[:100]))
    columns = lax.scan(lambda total, row: (total + row[5] * row[77], row[3]), 0.0, joined.T)
    return forward, backward, turned, columns, joined[-1], joined[41], jnp.max(single)


def test_loops_read_the_rows_of_long_arguments_where_they_are():
    windows = tuple(random.normal(size=(19, 40, 3)) for _ in range(3))
    lanes = windows, random.normal(size=(19, 200)), random.uniform(1, 2, (19, 3))
    found = kernel(rows_of_arguments).map(*lanes)
    wanted = jax.jit(jax.vmap(rows_of_arguments))(*lanes)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@kernel
def collatz(n):
    def turn(carry):
        n, steps = carry
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return lax.while_loop(lambda carry: carry[0] != 1, turn, (n, jnp.int64(0)))[1]


def test_every_lane_stops_when_it_is_done():
    def steps(n):
        count = 0
        while n != 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    numbers = np.arange(1, 200)
    np.testing.assert_array_equal(collatz.map(numbers), [steps(n) for n in range(1, 200)])


def doubled(x, most):
    def turn(carry):
        x, turns = carry
        return x * jnp.array([2.0, 4.0]), turns + 1.0

    return lax.while_loop(lambda carry: carry[0][0] < most, turn, (x, 0.0))


@pytest.mark.parametrize("number", [5, 200])  # named values, and arrays in memory
def test_a_mapped_loop_runs_until_all_its_elements_are_done(number):
    x = random.uniform(0.1, 12.0, number)
    mapped = kernel(jax.vmap(lambda x: doubled(jnp.stack([x, x]), 10.0)))
    pair, turns = mapped(x)
    wanted = np.maximum(np.ceil(np.log2(10.0 / x)), 0.0)
    np.testing.assert_array_equal(turns, wanted)
    np.testing.assert_array_equal(pair, np.stack([x * 2**wanted, x * 4**wanted], axis=1))

    def along(x):
        return jax.jvp(lambda x: mapped(x)[0], (x,), (jnp.ones(number),))[1]

    slopes = kernel(along)(x)
    np.testing.assert_array_equal(slopes, np.stack([2**wanted, 4**wanted], axis=1))


@kernel
def nested(x, n):
    def inner(carry):
        total, k = carry
        return total + x / (k + 1).astype(float), k + 1

    def outer(carry):
        total, i = carry
        total, _ = lax.while_loop(lambda c: c[1] < i, inner, (total, jnp.int64(0)))
        return total, i + 1

    return lax.while_loop(lambda c: c[1] < n, outer, (0.0, jnp.int64(0)))[0]


def test_a_loop_in_a_loop_stands_still_where_the_outer_one_is_done():
    x, n = random.normal(size=50), random.integers(0, 9, 50)
    wanted = [
        sum(x / (k + 1) for i in range(n) for k in range(i))
        for x, n in zip(x, n, strict=True)
    ]
    np.testing.assert_allclose(nested.map(x, n), wanted, rtol=1e-14, atol=1e-15)


def test_branches_are_taken_by_each_lane_alone():
    def three(which, x):
        def runs(x):  # would never end in a lane that is not concerned
            return lax.while_loop(lambda v: v < 10, lambda v: v * 2, x)

        return lax.switch(which, [lambda x: x + 1, runs, lambda x: -x], x)

    which = random.integers(-1, 4, 40)
    x = np.where(which == 1, 1.5, random.normal(size=40))
    found = kernel(three).map(which, x)
    wanted = np.select([which <= 0, which == 1], [x + 1, 12.0], -x)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_has_its_rows(reverse):
    def run(x, w):
        def turn(carry, row):
            value, truth = row
            carry = carry * w + jnp.where(truth, value[0], value[1])
            return carry, {"carry": carry, "pair": value * carry, "odd": truth}

        return lax.scan(turn, 0.5, (x, x[:, 0] > 0), reverse=reverse)

    x, w = random.normal(size=(30, 5, 2)), random.normal(size=30)
    found = kernel(run).map(x, w)
    wanted = jax.jit(jax.vmap(run))(x, w)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), found, wanted)


def test_a_scan_of_length_zero_returns_its_initial_value():
    run = kernel(lambda x: lax.scan(lambda c, row: (c + row, c), x[0], x[1:1])[0])
    np.testing.assert_array_equal(run.map(np.eye(3)), [1, 0, 0])


def test_a_counted_loop_finds_places_that_it_counts():
    total = kernel(
        lambda x: lax.fori_loop(0, 4, lambda i, t: t + (i + 1).astype(float) * x[i], 0.0)
    )
    x = random.normal(size=(9, 4))
    np.testing.assert_allclose(total.map(x), x @ [1, 2, 3, 4], rtol=1e-14, atol=1e-15)


@settings(max_examples=25)
@given(tree=trees)
def test_random_programs_are_what_xla_makes_of_them(tree):
    function = program(tree)
    x, n = random.normal(size=19) * 2, random.integers(0, 6, 19)
    found = kernel(function).map(x, n)
    wanted = jax.jit(jax.vmap(function))(x, n)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(found[1], wanted[1])
