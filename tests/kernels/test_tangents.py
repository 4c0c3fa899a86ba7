"""Checked against: JAX's own derivatives of the same programs, compiled by XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from jax import lax

from jaxvib.kernels import kernel
from jaxvib.kernels.cpu.machine_code import Native
from jaxvib.kernels.lower.lowering import lower_lanes, trace
from jaxvib.kernels.lower.tangents import is_lowering, values_and_tangents
from tests.random_programs import program, trees

random = np.random.default_rng(5)
NUMBER = 19


def columns(function):
    """Return a function of (moving, rows) to a value, its columns, and the rest."""

    def run(moving, rows):
        if is_lowering():
            return values_and_tangents(function, moving, rows)

        def along(row):
            return jax.jvp(function, (moving,), (row,), has_aux=True)

        return jax.vmap(along, out_axes=(None, 0, None))(rows)

    return run


def agree(function, *arguments):
    compiled = kernel(function)
    assert not compiled.unsupported_reason(*jax.tree.map(lambda leaf: leaf[0], arguments))
    found = jax.tree.leaves(compiled.map(*arguments))
    wanted = jax.tree.leaves(jax.jit(jax.vmap(function))(*arguments))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.slow  # compiles random programs twice, 5 s
@settings(max_examples=25)
@given(tree=trees)
def test_columns_of_random_programs_are_those_of_jax(tree):
    function = program(tree)

    def run(x, n, rows):
        return columns(lambda moving: function(moving, n))(x, rows)

    x, n = random.normal(size=NUMBER) * 2, random.integers(0, 6, NUMBER)
    agree(run, x, n, random.normal(size=(NUMBER, 3)))


def test_values_that_vary_from_a_later_iteration_have_their_columns():
    def function(moving):
        x, scale = moving

        def turn(carry):
            first, second, _, left = carry  # x comes to the third in the third turn
            return x * first, first, second * scale, left - 1

        start = 1.0, 1.0, 1.0, 5
        first, second, third, left = lax.while_loop(lambda c: c[3] > 0, turn, start)
        return (first, third), (second, left)

    x, scale = random.normal(size=NUMBER), random.normal(size=NUMBER)
    rows = random.normal(size=(NUMBER, 2)), random.normal(size=(NUMBER, 2))
    agree(columns(function), (x, scale), rows)


def test_a_rule_of_its_own_is_kept_and_what_stands_still_does_not_move():
    @jax.custom_jvp
    def root(x):
        return jnp.sqrt(x)

    root.defjvp(lambda values, changes: (root(*values), 3.0 * changes[0]))

    def function(x):
        still = lax.stop_gradient(x) * 2.0
        return jnp.stack([root(x), still, x * still]), still

    agree(columns(function), random.uniform(1, 2, NUMBER), random.normal(size=(NUMBER, 2)))


def test_arrays_move_through_products_and_places():
    def function(moving):
        matrix, vector = moving
        solved = jnp.linalg.solve(matrix + 4 * jnp.eye(3), vector)
        return solved[::-1] * jnp.max(vector), jnp.argmax(vector)

    moving = random.normal(size=(NUMBER, 3, 3)), random.normal(size=(NUMBER, 3))
    rows = random.normal(size=(NUMBER, 2, 3, 3)), random.normal(size=(NUMBER, 2, 3))
    agree(columns(function), moving, rows)


def spiral(moving):
    """Return where a point has come to by turns of a number that hangs on itself."""

    def turn(carry):
        place, speed, turns = carry
        place = place + 0.1 * speed
        speed = lax.while_loop(
            lambda v: jnp.max(v) > 0.5, lambda v: v * jnp.cos(place), speed - 0.1 * place
        )
        return place, speed, turns + 1

    place, speed = moving
    start = place, speed, jnp.asarray(0)
    place, speed, turns = lax.while_loop(lambda c: (c[2] < 9) & (c[0][0] < 2), turn, start)
    return (place, jnp.sin(speed)), turns


def moved(directions):
    """Return lanes of two arrays of two numbers, and changes of these."""
    shapes = [(NUMBER, 2)] * 2 + [(NUMBER, directions, 2)] * 2
    place, speed, *rows = (random.normal(size=shape) for shape in shapes)
    return (place, speed), tuple(rows)


@pytest.mark.parametrize("directions", [1, 2, 3, 7])
def test_any_number_of_directions_has_the_columns_of_jax_in_loops_of_loops(directions):
    agree(columns(spiral), *moved(directions))


def printed(directions, width):
    """Return the program of the columns of `spiral`."""
    shapes = [jax.ShapeDtypeStruct((2,), float)] * 2
    rows = [jax.ShapeDtypeStruct((directions, 2), float)] * 2
    closed, _ = trace(columns(spiral), (tuple(shapes), tuple(rows)))
    return lower_lanes(closed, width)


def test_columns_have_the_same_bits_in_every_width():
    lanes = [np.resize(np.moveaxis(leaf, 0, -1), (*leaf.shape[1:], 24))
             for leaf in jax.tree.leaves(moved(3))]  # fmt: skip
    wanted, *others = (Native(printed(3, width))(lanes, 1) for width in (1, 2, 4, 8))
    for found in others:
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_directions_beyond_a_few_make_a_program_longer_by_their_numbers_alone():
    few, more, many = (printed(n, 4).text.count("\n") for n in (5, 10, 30))
    assert many - more == 4 * (more - few)  # 20 directions more and 5 more
    assert many < 2 * few
