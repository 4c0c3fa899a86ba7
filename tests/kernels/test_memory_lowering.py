"""Checked against: XLA, NumPy's loops and matrices, and the bits of other vectors."""

import subprocess
import sys
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxvib.kernels import kernel
from jaxvib.kernels.cache.serialization import deserialize, serialize
from jaxvib.kernels.calls.kernel import Kernel
from jaxvib.kernels.cpu.machine_code import Native
from jaxvib.kernels.gpu.ptx import device_program
from jaxvib.kernels.ir.assembler import LoweringError
from jaxvib.kernels.lower.cost_estimate import SHORT, estimate_instructions, needs_memory
from jaxvib.kernels.lower.in_place import given_up, in_place_of
from jaxvib.kernels.lower.lowering import Traced, lower_lanes, trace
from jaxvib.kernels.lower.tangents import is_lowering, values_and_tangents
from tests.kernels.test_primitives import CASES
from tests.random_programs import lanes_of, operations

random = np.random.default_rng(3)


def program(function, arguments, vector=4, short=1):
    """Return a program whose arrays of more than `short` numbers are in memory."""
    shapes = [jax.ShapeDtypeStruct(a.shape[1:], a.dtype) for a in arguments]
    return lower_lanes(trace(function, shapes)[0], vector, short)


def in_memory(function, arguments, vector=4, short=1):
    """Return the results of lanes, the first axes of arguments and results."""
    lowered = program(function, arguments, vector, short)
    lanes = [np.moveaxis(np.asarray(a), 0, -1) for a in arguments]
    return [np.moveaxis(result, -1, 0) for result in Native(lowered)(lanes, 2)]


def compared(function, *arguments, rtol=0.0, short=1):
    """Check lanes against XLA, and every length of a vector against another."""
    arguments = [np.asarray(a) for a in arguments]
    found = in_memory(function, arguments, short=short)
    wanted = jax.tree.leaves(jax.jit(jax.vmap(function))(*arguments))
    others = [in_memory(function, arguments, vector, short) for vector in (1, 2, 8)]
    for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)
        for same in others:
            np.testing.assert_array_equal(one, same[k])


@pytest.mark.parametrize("name", CASES)
def test_a_primitive_in_memory_equals_that_of_xla(name):
    function, *arguments = CASES[name]
    arguments = [np.asarray(a) for a in arguments]
    found = in_memory(lambda *x: function(*x), arguments)
    wanted = jax.tree.leaves(jax.jit(jax.vmap(lambda *x: function(*x)))(*arguments))
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        if one.dtype == float:
            numbers = ~np.isnan(one)
            np.testing.assert_array_equal(
                np.signbit(one[numbers]), np.signbit(other[numbers])
            )


def check_operations(seed):
    function, taken = operations(seed)
    arguments = lanes_of(taken, 24, seed)
    found = in_memory(function, arguments)
    named = jax.tree.leaves(kernel(function).map(*arguments))
    for k, (one, other) in enumerate(zip(found, named, strict=True)):
        # A product in a sum may be rounded here, and not there.
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-300)
        for vector in (1, 8):
            same = in_memory(function, arguments, vector)[k]
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_random_operations_in_memory_are_those_of_named_numbers(seed):
    check_operations(seed)


@pytest.mark.slow  # 24 programs in four forms, 10 s
@pytest.mark.parametrize("seed", range(6, 30))
def test_many_random_operations_in_memory_are_those_of_named_numbers(seed):
    check_operations(seed)


SHAPES = {  # a product with whole blocks, with rests, of vectors, transposed, batched
    "whole": ("ik,kj->ij", (8, 5), (5, 16)),
    "rests": ("ik,kj->ij", (7, 3), (3, 13)),
    "vector": ("ik,k->i", (19, 6), (6,)),
    "row": ("k,kj->j", (6,), (6, 19)),
    "transposed": ("ki,jk->ij", (3, 9), (11, 3)),
    "batched": ("bik,bkj->bij", (3, 5, 4), (3, 4, 6)),
    "two sums": ("ikl,klj->ij", (5, 2, 3), (2, 3, 7)),
    "outer": ("i,j->ij", (5,), (9,)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_products_of_matrices_are_those_of_numpy(name):
    how, *shapes = SHAPES[name]
    # Sums of such numbers are exact.
    one, other = (random.integers(-9, 9, (6, *shape)) / 4 for shape in shapes)
    found = in_memory(lambda x, y: jnp.einsum(how, x, y), [one, other], short=0)
    wanted = [np.einsum(how, x, y) for x, y in zip(one, other, strict=True)]
    np.testing.assert_array_equal(found[0], wanted)


def test_carried_arrays_may_take_each_others_places():
    def fibonacci(a, b, n):
        def turn(carry):
            a, b, k = carry
            return a + b[::-1], a, k + 1

        return lax.while_loop(lambda c: c[2] < n, turn, (a, b, jnp.int64(0)))[:2]

    lanes = random.integers(-9, 9, (7, 2, 5)).astype(float)
    counts = np.arange(7)
    found = in_memory(fibonacci, [lanes[:, 0], lanes[:, 1], counts])
    for k in range(7):
        a, b = lanes[k]
        for _ in range(counts[k]):
            a, b = a + b[::-1], a
        np.testing.assert_array_equal(found[0][k], a)
        np.testing.assert_array_equal(found[1][k], b)


def test_a_branch_stores_its_own_arrays():
    def of(which, x):
        cases = [
            lambda x: (x, jnp.sum(x)),
            lambda x: (x * x, x[0]),
            lambda x: (-x[::-1], 0.5),
        ]
        return lax.switch(which, cases, x)

    compared(of, np.array([-1, 0, 1, 2, 3]), random.normal(size=(5, 6)), rtol=1e-15)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_reads_and_writes_rows_in_memory(reverse):
    def of(x, y):
        def turn(carry, row):
            total, count = carry
            total = total + row * y
            return (total, count + 1), (total, row[0] > 0, count)

        return lax.scan(turn, (jnp.zeros(5), 0), x, reverse=reverse)

    x, y = (random.integers(-9, 9, (6, *shape)) / 4.0 for shape in ((4, 5), (5,)))
    compared(of, x, y)


def test_rows_are_found_and_replaced_at_places_known_late():
    def of(x, i):
        rows = x.at[i].add(1.0)[jnp.array([3, 1, i, -1])]
        window = lax.dynamic_slice(x, (i, i), (2, 3)) * 2.0
        return rows, lax.dynamic_update_slice(x, window, (i - 1, i)), x[:, i], x[i, i]

    compared(of, random.normal(size=(9, 5, 6)), random.integers(-7, 8, 9))


def test_a_named_row_replaces_a_row_in_memory():
    def of(x, row, i):
        return x.at[i].set(row), x.at[i].add(row), x.at[i[0]].set(-row[0])

    places = random.integers(-7, 8, (9, 1))
    x, row = random.normal(size=(9, 5, 3)), random.normal(size=(9, 1, 3))
    compared(of, x, row, places, short=3)


def test_places_out_of_bounds_and_scans_of_nothing_are_those_of_xla():
    def of(x, i):
        rows = x.at[i].get(mode="fill", fill_value=-7)
        nothing = lax.scan(lambda c, row: (c + row, row * 2), x[0], x[:0])
        return rows, x[i, 0], nothing

    places = random.integers(-9, 10, (9, 6))
    compared(of, random.integers(-9, 10, (9, 5, 3)), places)
    compared(of, random.normal(size=(9, 5, 3)), places)


CHAIN, STEPS, STEP = 32, 50, 0.05
STIFFNESS = 2 * np.eye(CHAIN) - np.eye(CHAIN, k=1) - np.eye(CHAIN, k=-1)


def moved(state, stiffness):
    """Return a chain of 32 bodies and springs after 50 Runge-Kutta steps."""

    def rate(y):
        x = jnp.concatenate([jnp.zeros(1), y[:CHAIN], jnp.zeros(1)])
        return jnp.concatenate([y[CHAIN:], stiffness * (x[2:] - 2 * x[1:-1] + x[:-2])])

    def turn(k, y):
        one = rate(y)
        two = rate(y + STEP / 2 * one)
        three = rate(y + STEP / 2 * two)
        return y + STEP / 6 * (one + 2 * two + 2 * three + rate(y + STEP * three))

    return lax.while_loop(
        lambda c: c[0] < STEPS, lambda c: (c[0] + 1, turn(*c)), (0, state)
    )[1]


def test_a_chain_of_64_states_has_all_its_sensitivities():
    state, stiffness = random.normal(size=2 * CHAIN), np.ones(CHAIN)
    jacobian = kernel(jax.jacfwd(moved))
    closed, _ = trace(jax.jacfwd(moved), [state, stiffness])
    assert needs_memory(closed)
    assert estimate_instructions(closed) > 200_000
    text = program(jax.jacfwd(moved), [state[None], stiffness[None]], 8, 16).text
    assert text.count("\n") < 3000
    began = time.process_time()
    assert not jacobian.unsupported_reason(state, stiffness)
    found = jacobian.map(state[None], stiffness[None], threads=1)[0]
    assert time.process_time() - began < 3.0  # LLVM needed 30 s with named numbers
    rates = np.block(
        [[np.zeros((CHAIN, CHAIN)), np.eye(CHAIN)], [-STIFFNESS, np.zeros((CHAIN, CHAIN))]]
    )
    one = np.eye(2 * CHAIN)
    for k in (4, 3, 2, 1):  # the method's polynomial of the matrix
        one = np.eye(2 * CHAIN) + STEP / k * rates @ one
    np.testing.assert_allclose(found, np.linalg.matrix_power(one, STEPS), atol=1e-12)


def test_a_program_in_memory_is_kept_on_disk():
    shapes = [jax.ShapeDtypeStruct((n,), float) for n in (2 * CHAIN, CHAIN)]
    closed, results = trace(jax.jacfwd(moved), shapes)
    lowered = lower_lanes(closed, 8, SHORT)
    assert lowered.workspace > 8 * (2 * CHAIN) ** 2
    assert deserialize(serialize(Traced(lowered, results, ""))).program == lowered


def test_a_program_of_much_memory_is_not_launched_on_gpus():
    shape = jax.ShapeDtypeStruct((800, 800), float)
    closed, _ = trace(lambda x: jnp.sin(x) @ x.T, [shape])
    with pytest.raises(LoweringError, match="15360000 bytes of memory per lane"):
        device_program(closed, short=16)


def test_a_program_in_memory_is_called_by_jax_and_differentiated():
    state, stiffness = random.normal(size=(3, 2 * CHAIN)), np.ones((3, CHAIN))
    jacobian = kernel(jax.jacfwd(moved))
    alone = jacobian.map(state, stiffness)
    np.testing.assert_array_equal(jax.jit(jax.vmap(jacobian))(state, stiffness), alone)
    np.testing.assert_array_equal(jacobian(state[1], stiffness[1]), alone[1])
    compiled = jax.jit(jax.jacfwd(kernel(moved)))
    np.testing.assert_allclose(compiled(state[0], stiffness[0]), alone[0], atol=1e-13)


def test_tangents_along_directions_are_an_axis_of_the_arrays():
    def function(moving):
        x, scale = moving

        def turn(k, carry):
            return jnp.sin(carry) * scale + jnp.roll(carry, 1)

        return lax.fori_loop(0, 3, turn, x), jnp.argmax(x)

    def columns(moving, rows):
        if is_lowering():
            return values_and_tangents(function, moving, rows)

        def along(row):
            return jax.jvp(function, (moving,), (row,), has_aux=True)

        return jax.vmap(along, out_axes=(None, 0, None))(rows)

    lanes = [random.normal(size=(3, *shape)) for shape in ((20,), (), (5, 20), (5,))]
    found = in_memory(lambda x, s, dx, ds: columns((x, s), (dx, ds)), lanes, short=16)
    wanted = jax.vmap(lambda x, s, dx, ds: columns((x, s), (dx, ds)))(*lanes)
    for one, other in zip(found, jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)


SHORT_OF_MEMORY = """
import resource, jax, jax.numpy as jnp, numpy as np
from jaxvib.kernels import kernel

def function(x):
    one = jnp.cos(x + jnp.arange(6e6))
    other = jnp.roll(one, 1) * one
    return jnp.sum(jnp.roll(other, 1) + other + one)

large = kernel(function)
compiled = jax.jit(large).lower(0.5).compile()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 10**8, -1))
try:
    large.map(np.ones(1))
except MemoryError as error:
    print(error)
try:
    print(compiled(0.5))
except Exception as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_a_lack_of_memory_is_an_error():
    done = subprocess.run(
        [sys.executable, "-c", SHORT_OF_MEMORY], capture_output=True, text=True,
        cwd=Path(__file__).parents[2], check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Unable to allocate" in done.stdout
    assert "RESOURCE_EXHAUSTED: a kernel's arrays need" in done.stdout


def test_arrays_too_large_for_any_machine_go_by_xla():
    def function(x):
        large = jnp.cos(x + jnp.arange(2e8))
        return jnp.sum(large * jnp.roll(large, 1))

    reason = kernel(function).unsupported_reason(0.5)
    assert reason.startswith("its arrays take more than 1073741824 bytes")


def well_conditioned(lanes, size):
    return random.normal(size=(lanes, size, size)) + 4 * np.eye(size)


@pytest.mark.parametrize("size", [5, 9, 21])
def test_equations_are_solved_as_lapack_does(size):
    matrices, right = well_conditioned(6, size), random.normal(size=(6, size, 3))
    matrices[0] = np.eye(size)[::-1]  # every pivot is below the diagonal

    def solved(matrix, right):
        return (
            jnp.linalg.solve(matrix, right),
            jnp.linalg.inv(matrix),
            jnp.linalg.det(matrix),
        )

    found = in_memory(solved, [matrices, right], short=16)
    wanted = (
        np.linalg.solve(matrices, right),
        np.linalg.inv(matrices),
        np.linalg.det(matrices),
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    for vector in (1, 8):
        others = in_memory(solved, [matrices, right], vector, short=16)
        for one, other in zip(found, others, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangles_are_solved_from_every_side(left, lower, transpose, unit):
    matrices = well_conditioned(4, 11)
    triangle = np.tril(matrices) if lower else np.triu(matrices)
    if unit:
        np.einsum("bii->bi", triangle)[:] = 1.0
    right = random.normal(size=(4, *((11, 6) if left else (6, 11))))

    def solved(matrix, right):
        return lax.linalg.triangular_solve(
            matrix, right, left_side=left, lower=lower, transpose_a=transpose,
            unit_diagonal=unit,
        )  # fmt: skip

    (found,) = in_memory(solved, [matrices, right], short=16)
    triangle = np.swapaxes(triangle, 1, 2) if transpose else triangle
    product = triangle @ found if left else found @ triangle
    np.testing.assert_allclose(product, right, rtol=1e-8, atol=1e-8)


def test_a_cholesky_factor_is_that_of_lapack():
    roots = well_conditioned(3, 13)
    matrices = roots @ np.swapaxes(roots, 1, 2)
    matrices[2, 7, 7] = -1.0
    (found,) = in_memory(lambda x: lax.linalg.cholesky(x), [matrices], short=16)
    # Errors are relative to the matrix, not to each number.
    np.testing.assert_allclose(found[:2], np.linalg.cholesky(matrices[:2]), atol=1e-12)
    assert np.all(np.isnan(found[2][np.tril_indices(13)]))
    assert not np.any(np.triu(found[2], 1))


def test_a_network_of_width_64_is_a_kernel_with_its_derivatives():
    network = eqx.nn.MLP(4, 4, 64, 2, jnp.tanh, key=jax.random.key(0))

    def moved(network, state):
        def turn(_, y):
            middle = y + 0.05 * network(y)
            return y + 0.1 * network(middle)

        return lax.fori_loop(0, 20, turn, state)

    slopes = jax.jacfwd(moved, 1)
    arguments = network, random.normal(size=4)
    compiled = kernel(slopes)
    weights, rest = eqx.partition(network, eqx.is_array)
    closed, _ = trace(lambda w, y: slopes(eqx.combine(w, rest), y), (weights, arguments[1]))
    assert needs_memory(closed)
    assert not compiled.unsupported_reason(*arguments)
    np.testing.assert_allclose(
        compiled(*arguments), eqx.filter_jit(slopes)(*arguments), rtol=1e-11
    )


def test_a_finite_element_field_is_a_kernel_with_its_derivatives():
    bars, time_, steps = 24, 0.3, 40
    mass = (4 * np.eye(bars) + np.eye(bars, k=1) + np.eye(bars, k=-1)) / 6
    stiffness = 2 * np.eye(bars) - np.eye(bars, k=1) - np.eye(bars, k=-1)

    def moved(scale, state):  # by the rule of trapezoids
        rates = scale * jnp.linalg.solve(jnp.asarray(mass), jnp.asarray(stiffness))
        zero, one = jnp.zeros((bars, bars)), jnp.eye(bars)
        matrix = time_ / steps / 2 * jnp.block([[zero, one], [-rates, zero]])
        left, right = jnp.eye(2 * bars) - matrix, jnp.eye(2 * bars) + matrix

        def turn(_, y):
            return jnp.linalg.solve(left, right @ y)

        return lax.fori_loop(0, steps, turn, state)

    arguments = 1.5, random.normal(size=2 * bars)
    compiled = kernel(jax.jacfwd(moved, (0, 1)))
    assert not compiled.unsupported_reason(*arguments)
    by_scale, by_state = compiled(*arguments)
    rates = np.block(
        [
            [np.zeros((bars, bars)), np.eye(bars)],
            [-1.5 * np.linalg.solve(mass, stiffness), np.zeros((bars, bars))],
        ]
    )
    half, one = time_ / steps / 2 * rates, np.eye(2 * bars)
    step = np.linalg.solve(one - half, one + half)
    np.testing.assert_allclose(by_state, np.linalg.matrix_power(step, steps), atol=1e-12)
    by_differences = (
        np.asarray(moved(1.5 + 1e-6, arguments[1]) - moved(1.5 - 1e-6, arguments[1])) / 2e-6
    )
    np.testing.assert_allclose(by_scale, by_differences, atol=1e-7)


def test_lanes_share_long_arguments_that_are_not_mapped():
    def sums(table, number):
        return jnp.sum(jnp.sin(table * number)), table[39] * number

    compiled = Kernel(sums, in_memory=True)
    tables, numbers = random.normal(size=(3, 40)), random.normal(size=(3, 5))
    one = jax.jit(jax.vmap(compiled, (None, 0)))
    text = one.lower(tables[0], numbers[0]).as_text()
    assert "5x40x" not in text
    assert "40x5x" not in text
    by_tables = jax.vmap(jax.vmap(compiled, (None, 0)))
    by_numbers = jax.vmap(jax.vmap(compiled, (None, 0)), (None, 0))
    for k in range(3):
        wanted = compiled.map(np.repeat(tables[k : k + 1], 5, 0), numbers[k])
        found = (
            one(tables[k], numbers[k]),
            [each[k] for each in by_tables(tables, numbers)],
            [each[k] for each in by_numbers(tables[k], numbers)],
        )
        for results in found:
            for result, exact in zip(results, wanted, strict=True):
                np.testing.assert_array_equal(result, exact)


def test_branches_return_arrays_that_a_loop_carries():
    def function(x, y):
        def turn(k, carried):
            x, y, rows = carried
            # Swapped, a part of another, computed, or the same.
            x, y = lax.cond(k % 2 == 0, lambda: (y, x), lambda: (x, y + x))
            row = lax.cond(k % 3 == 1, lambda: rows[1], lambda: x)
            rows = lax.cond(k % 3 == 0, lambda: jnp.stack([rows[1], row]), lambda: rows)
            x = lax.switch(k % 4, [lambda: x, lambda: row, lambda: y[::-1], lambda: 2 * x])
            return x, y, rows

        return lax.fori_loop(0, 11, turn, (x, y, jnp.stack([x, y])))

    compared(function, random.normal(size=(3, 9)), random.normal(size=(3, 9)))


def turned_rows(replace, keep):
    """Return a loop that changes some rows of a carried array."""

    def function(rows, numbers):
        def row_of(_, row):
            numbers, which = row
            # Each number is computed from others of the row.
            new = lax.cond(which, lambda: 0.5 * numbers[::-1] + 1, lambda: numbers)
            return None, replace(numbers, new)

        def turn(k, rows):
            changes = (numbers + k) % 3 == 0
            return lax.scan(row_of, None, (rows, changes))[1]

        def runs(k, rows):
            return lax.fori_loop(0, 3, turn, keep(rows))

        return lax.fori_loop(0, 2, runs, 2 * rows)

    return function


def test_rows_are_replaced_in_place():
    arguments = random.normal(size=(3, 5, 24)), np.tile(np.arange(5), (3, 1))
    inside = turned_rows(in_place_of, given_up)
    compared(inside, *arguments)
    plain = turned_rows(lambda old, new: new, lambda rows: rows)
    copies = [
        program(function, arguments).text.count(f"i64 {5 * 24 * 8}, i1 false")
        for function in (plain, inside)
    ]
    assert copies == [3, 0]
