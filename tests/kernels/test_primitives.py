"""Checked against: XLA's compilation of the same functions, to the last bits, and numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax

from jaxvib.kernels import kernel

LANES = 21  # not a multiple of any width
random = np.random.default_rng(1)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.5, 1e300, -3.5])


def floats(*shape):
    values = random.normal(size=(LANES, *shape))
    mask = random.random(values.shape) < 0.3
    return np.where(mask, random.choice(SPECIAL, values.shape), values)


def plain(*shape):
    return random.normal(size=(LANES, *shape))


def whole(*shape, kind=np.int64, low=-9, high=9):
    return random.integers(low, high, (LANES, *shape)).astype(kind)


def truths(*shape):
    return random.random((LANES, *shape)) < 0.5


def quarters(a, b):
    # Sums of products round once here, and twice with XLA: these are exact in both.
    return np.round(a * 8) / 8, np.round(b * 8) / 8


SQUARES = quarters(plain(3, 4), plain(4, 2))
BATCHES = quarters(plain(2, 3, 4), plain(2, 4))
PLACES = np.array([2, 0])
COMPARISONS = (lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge)
CASES_OF_THREE = [floats(3) for _ in range(3)]
WINDOW = lax.GatherDimensionNumbers((0,), (), (0,))
INDEX = whole(low=-2, high=8, kind=np.int32)
CASES = {
    "add": (lax.add, floats(3), floats(3)),
    "add int": (lax.add, whole(3), whole(3)),
    "sub": (lax.sub, floats(3), floats(3)),
    "mul": (lax.mul, floats(3), floats(3)),
    "div": (lax.div, floats(3), floats(3)),
    "div int": (lax.div, whole(8), whole(8)),
    "div least int": (lax.div, np.full(LANES, np.iinfo(np.int64).min), np.full(LANES, -1)),
    "rem int": (lax.rem, whole(8), whole(8)),
    "rem unsigned": (lax.rem, *[whole(8, kind=np.uint32, low=0) for _ in range(2)]),
    "rem": (lax.rem, floats(3), floats(3)),
    "neg": (lax.neg, floats(3)),
    "neg int": (lax.neg, whole(3)),
    "square": (lax.square, floats(3)),
    "cube": (lambda x: lax.integer_pow(x, 3), floats(3)),
    "power -2": (lambda x: lax.integer_pow(x, -2), floats(3)),
    "power 0": (lambda x: lax.integer_pow(x, 0), floats(3)),
    "sqrt": (lax.sqrt, floats(3)),
    "abs": (lax.abs, floats(3)),
    "abs int": (lax.abs, whole(3)),
    "sign": (lax.sign, floats(3)),
    "sign int": (lax.sign, whole(3)),
    "max": (lax.max, floats(20), floats(20)),
    "min": (lax.min, floats(20), floats(20)),
    "max int": (lax.max, whole(3), whole(3)),
    "clamp": (lax.clamp, np.full((LANES, 3), -0.5), plain(3), np.full((LANES, 3), 0.5)),
    "clamp to anything": (lax.clamp, floats(20), floats(20), floats(20)),
    "floor": (lax.floor, floats(3)),
    "ceil": (lax.ceil, floats(3)),
    "round away": (lambda x: lax.round(x), floats(3)),
    "round to even": (jnp.round, floats(3)),
    "next float": (lax.nextafter, floats(9), floats(9)),
    "is finite": (lax.is_finite, floats(3)),
    "compare": (lambda x, y: [f(x, y) for f in COMPARISONS], floats(9), floats(9)),
    "compare int": (lambda x, y: [lax.lt(x, y), lax.eq(x, y)], whole(9), whole(9)),
    "compare bool": (lambda x, y: [lax.lt(x, y), lax.eq(x, y)], truths(9), truths(9)),
    "total order": (lambda x, y: [jnp.searchsorted(jnp.sort(x), y, side)
                                  for side in ("left", "right")], floats(6), floats(4)),
    "total order of zeros": (lambda x, y: [lax.eq_to_p.bind(x, y), lax.le_to_p.bind(x, y),
                                           lax.lt_to_p.bind(x, y)], floats(20), floats(20)),
    "total order of others": (lambda x, y, p, q: [lax.lt_to_p.bind(x, y),
                                                  lax.eq_to_p.bind(p, q)],
                              whole(9), whole(9), truths(9), truths(9)),
    "logic": (lambda x, y: [x & y, x | y, x ^ y, ~x], truths(3), truths(3)),
    "bits": (lambda x, y: [x & y, x | y, x ^ y, ~x], whole(3), whole(3)),
    "shifts": (lambda x, y: [lax.shift_left(x, y), lax.shift_right_logical(x, y),
                             lax.shift_right_arithmetic(x, y)],
               whole(9, low=-(2**40), high=2**40), whole(9, low=0, high=80)),
    "where": (jnp.where, truths(3), floats(3), floats(3)),
    "select by number": (lambda w, x, y, z: lax.select_n(w, x, y, z),
                         whole(3, low=0, high=3, kind=np.int32), *CASES_OF_THREE),
    "to int": (lambda x: x.astype(jnp.int32), plain(3) * 1e3),
    "to int, out of range": (lambda x: lax.convert_element_type(x, jnp.int32), floats(9)),
    "to unsigned": (lambda x: x.astype(jnp.uint8), abs(plain(3)) * 9),
    "to float": (lambda x: x.astype(float), whole(3)),
    "to bool": (lambda x: x.astype(bool), whole(9, low=-1, high=2)),
    "to float32 and back": (lambda x: x.astype(jnp.float32).astype(float), floats(9)),
    "bits of a float": (lambda x: lax.bitcast_convert_type(x, jnp.int64), plain(3)),
    "broadcast": (lambda x: jnp.broadcast_to(x[:, None], (3, 2)) + x[0], plain(3)),
    "reshape": (lambda x: x.reshape(3, 2).T.ravel(), floats(2, 3)),
    "concatenate": (lambda x, y: jnp.concatenate([x, y[::-1], x[1:]]), floats(3), plain(3)),
    "stack": (lambda x, y: jnp.stack([x, y], axis=1), floats(3), floats(3)),
    "slice": (lambda x: x[1:4:2, ::2], floats(5, 4)),
    "pad": (lambda x: lax.pad(x, 7.0, [(1, 2, 1), (-1, 1, 0)]), floats(3, 4)),
    "split": (lambda x: jnp.split(x, 3), floats(6)),
    "iota": (lambda x: x + lax.broadcasted_iota(float, (2, 3), 1), floats(2, 3)),
    "sum": (lambda x: jnp.sum(x, axis=(0, 2)), np.round(plain(2, 3, 4) * 8) / 8),
    "sum of nothing": (lambda x: jnp.sum(x[:0]), floats(3)),
    "product": (jnp.prod, np.round(plain(3) * 8) / 8),
    "reduce max": (lambda x: jnp.max(x, axis=1), floats(3, 4)),
    "reduce min": (jnp.min, floats(3, 4)),
    "all, any": (lambda x: [jnp.all(x, axis=0), jnp.any(x)], truths(3, 2)),
    "argmax": (lambda x: [jnp.argmax(x), jnp.argmin(x)], floats(9)),
    "cumsum": (lambda x: [jnp.cumsum(x), lax.cumsum(x, reverse=True)],
               np.round(plain(5) * 8) / 8),
    "cummax": (lax.cummax, plain(5)),
    "matrix product": (jnp.matmul, *SQUARES),
    "product in batches": (lambda x, y: jnp.einsum("bij,bj->bi", x, y), *BATCHES),
    "product of truths": (jnp.matmul, truths(3, 4), truths(4, 2)),
    "product of narrow ints": (lambda x, y: jnp.matmul(x, y, preferred_element_type=int),
                               *[whole(3, 3, kind=np.int8, low=-128, high=128)] * 2),
    "product of singles": (lambda x, y: jnp.matmul(x, y, preferred_element_type=float),
                           *[array.astype(np.float32) for array in SQUARES]),
    "sort": (jnp.sort, floats(6)),
    "sort rows and columns": (lambda x: [jnp.sort(x, axis=0), jnp.sort(x, axis=1),
                                         jnp.argsort(x, axis=0)], floats(4, 3)),
    "sort along rows": (lambda x, v: jax.jvp(lambda y: jnp.sort(y, axis=1), (x,), (v,)),
                        floats(4, 3), floats(4, 3)),
    "sort by two": (lambda x, y: lax.sort((x, y), dimension=0, num_keys=2),
                    whole(4, 2, low=0, high=2), floats(4, 2)),
    "median": (lambda x: jnp.median(x, axis=0), plain(3, 2)),
    "sort beside": (lambda x, y: lax.sort((x, y), num_keys=1), whole(6), floats(6)),
    "indexing": (lambda x, i: [x[jnp.array([2, 0])], x[i], x.at[i].get(mode="fill"),
                               x.at[i].get(mode="clip"), jnp.take(x, i)], floats(6), INDEX),
    "indexing of matrices": (lambda x, i: [x[i], x[:, i], x[jnp.array([0, 1]), PLACES],
                                           jnp.diagonal(x), jnp.trace(x)],
                             np.round(plain(3, 3) * 8) / 8, INDEX),
    "a branch's slope": (lambda x, y: jax.linearize(jnp.diag, x)[1](y),
                         plain(3, 3), plain(3, 3)),
    "putting": (lambda x, i: [x.at[1].set(3.0), x.at[i].add(2.0), x[::2].at[0].mul(3.0),
                              x.at[i].set(1.0, mode="clip"), x.at[PLACES * 0].add(1.0)],
                floats(6), INDEX),
    "putting the least": (lambda x, y, i: [x.at[i].min(y), x.at[i].max(y),
                                           x.at[1].subtract(y)],
                          floats(6), floats(), INDEX),
    "putting rows": (lambda x, y, i: [x.at[i].set(y), x.T.at[1:3, 0].set(0.0)],
                     floats(4, 3), floats(3), INDEX),
    "narrow places": (lambda x, i: [lax.dynamic_index_in_dim(x, i), *[
        lax.gather(x, i[None], WINDOW, (3,), mode=mode) for mode in ("clip", "fill")]],
                      floats(200), whole(low=-128, high=128, kind=np.int8)),
    "dynamic slice": (lambda x, i: lax.dynamic_slice(x, (i, jnp.int32(1)), (2, 2)),
                      floats(5, 3), INDEX),
    "dynamic update": (lambda x, y, i: lax.dynamic_update_slice(x, y, (i,)),
                       floats(6), floats(2), INDEX),
    "index": (lambda x, i: lax.dynamic_index_in_dim(x, i), floats(6), INDEX),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_primitive_equals_that_of_xla(name):
    function, *arguments = CASES[name]
    compiled = kernel(lambda *x: function(*x))
    assert not compiled.unsupported_reason(*(a[0] for a in arguments))
    found = jax.tree.leaves(compiled.map(*arguments))
    wanted = jax.tree.leaves(jax.jit(jax.vmap(lambda *x: function(*x)))(*arguments))
    for one, other in zip(found, wanted, strict=True):
        other = np.asarray(other)
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_array_equal(one, other)
        if other.dtype == float:
            numbers = ~np.isnan(other)
            np.testing.assert_array_equal(
                np.signbit(one[numbers]), np.signbit(other[numbers])
            )


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_smallest_numbers_are_those_of_numpy(kind):
    # XLA takes them for 0.
    limits = np.finfo(kind)
    least = np.array([0, limits.smallest_subnormal, limits.tiny / 4, limits.tiny, 1], kind)
    x, y = (grid.ravel() for grid in np.meshgrid(*[np.concatenate([least, -least])] * 2))
    pairs = [
        (lax.add, np.add), (lax.sub, np.subtract), (lax.mul, np.multiply),
        (lax.div, np.divide), (lax.rem, np.fmod), (lax.nextafter, np.nextafter),
        (lax.lt, np.less), (lax.eq, np.equal), (jnp.sign, np.sign),
        (jnp.floor, np.floor), (jnp.ceil, np.ceil), (jnp.abs, np.abs),
        (lambda x: x.astype(bool), lambda x: x.astype(bool)),
    ]  # fmt: skip
    for ours, theirs in pairs:
        arguments = (x, y) if getattr(theirs, "nin", 1) == 2 else (x,)
        with np.errstate(all="ignore"):
            wanted = theirs(*arguments)
        found = kernel(lambda *x, ours=ours: ours(*x)).map(*arguments)
        np.testing.assert_array_equal(found, wanted)


def well_conditioned(size):
    turned = np.linalg.qr(random.normal(size=(LANES, size, size)))[0]
    spread = np.linspace(1, 3, size)
    return turned @ (spread[:, None] * np.linalg.qr(random.normal(size=turned.shape))[0])


def test_systems_of_equations_are_solved_as_lapack_does():
    matrix, right = well_conditioned(5), plain(5)
    definite = matrix @ matrix.transpose(0, 2, 1)

    def all_of_them(a, s, b):
        return (
            jnp.linalg.solve(a, b),
            jnp.linalg.inv(a),
            jnp.linalg.det(a),
            jnp.linalg.slogdet(a)[1],
            jnp.linalg.cholesky(s),
            jax.scipy.linalg.solve(s, b, assume_a="pos"),
        )

    found = kernel(all_of_them).map(matrix, definite, right)
    wanted = (
        np.linalg.solve(matrix, right[..., None])[..., 0],
        np.linalg.inv(matrix),
        np.linalg.det(matrix),
        np.linalg.slogdet(matrix)[1],
        np.linalg.cholesky(definite),
        np.linalg.solve(definite, right[..., None])[..., 0],
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def test_a_matrix_that_is_not_definite_has_no_triangle():
    root = kernel(jnp.linalg.cholesky).map(np.array([[[1.0, 2.0], [2.0, 1.0]]]))
    assert np.isnan(root[0, 1, 1])


def test_the_inverse_root_is_exact_to_the_last_place():
    values = abs(plain()) + 0.1
    found = kernel(lambda x: lax.rsqrt(x)).map(values)
    np.testing.assert_allclose(found, 1 / np.sqrt(values), rtol=2.3e-16)


@given(x=st.floats(), y=st.floats(), z=st.floats())
def test_a_product_in_a_sum_is_rounded_once(x, y, z):
    found = FUSED.map(*(np.full(2, v) for v in (x, y, z)))
    with np.errstate(all="ignore"):
        exact = np.longdouble(x) * np.longdouble(y) + np.longdouble(z)
        plain = np.float64(x) * np.float64(y) + np.float64(z)
    if not np.isfinite(exact):
        assert np.isnan(found[0]) == np.isnan(plain) or not np.isfinite(found[0])
    elif abs(exact) < 1e300 and abs(exact) > 1e-290:
        # Eleven bits more than a double are no proof, but tell once from twice.
        assert abs(found[0] - exact) <= 0.51 * np.spacing(abs(np.float64(exact)))


def test_fractional_parts_are_those_of_the_rounded_product():
    # Of 0.7 * 10 the double is 7, and the exact product of the two doubles less.
    tenths = np.arange(1, 99) / 10
    x, y = (grid.ravel() for grid in np.meshgrid(tenths, tenths))

    def parts(x, y):
        z = x * y
        whole = z.astype(int).astype(float)
        return z - jnp.floor(z), z - jnp.ceil(z), jnp.modf(-z)[0], z - whole

    part, above, behind, cut = kernel(parts).map(x, y)
    z = x * y
    np.testing.assert_array_equal(part, z - np.floor(z))
    np.testing.assert_array_equal(above, z - np.ceil(z))
    np.testing.assert_array_equal(behind, np.modf(-z)[0])
    np.testing.assert_array_equal(cut, z - np.floor(z))


def test_a_product_less_itself_is_nothing():
    x, y = plain(), plain()
    differences = kernel(lambda x, y: [x * y - x * y, x * y - y * x, x * x - lax.square(x)])
    np.testing.assert_array_equal(differences.map(x, y), np.zeros((3, LANES)))
    vector = plain(3)
    itself = kernel(lambda v: jnp.cross(v, v)).map(vector)
    np.testing.assert_array_equal(itself, np.zeros((LANES, 3)))


FUSED = kernel(lambda x, y, z: x * y + z)


def test_functions_that_cannot_be_lowered_to_llvm_are_computed_by_xla():
    @kernel
    def modulus(matrix):
        return jnp.max(jnp.abs(jnp.linalg.eigvalsh(matrix)))

    matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    reason = modulus.unsupported_reason(matrix)
    line = modulus.__wrapped__.__code__.co_firstlineno + 2
    assert reason.endswith(f"is not supported ({__file__}:{line})")
    np.testing.assert_allclose(modulus(matrix), 3.0, rtol=1e-14)
    with pytest.raises(
        ValueError, match=r"modulus cannot be lowered to LLVM: JAX's .* is not supported"
    ):
        modulus.map(matrix[None])


def test_large_matrices_are_left_to_lapack():
    large = np.eye(17)
    assert "(17, 17)" in kernel(jnp.linalg.inv).unsupported_reason(large)


def test_complex_numbers_go_by_xla():
    assert "complex128" in kernel(lambda x: jnp.abs(lax.complex(x, x))).unsupported_reason(
        1.0
    )


def test_bits_of_several_numbers_and_random_keys_go_by_xla():
    assert "bitcast of float64" in kernel(
        lambda x: lax.bitcast_convert_type(x, jnp.uint32)
    ).unsupported_reason(1.0)

    @kernel
    def scattered(x):
        return x + jax.random.uniform(jax.random.key(3))

    assert "key" in scattered.unsupported_reason(1.0)
    assert scattered(1.0) == 1.0 + jax.random.uniform(jax.random.key(3))


def test_single_precision_stays_single():
    root = kernel(lambda x: jnp.sqrt(x) + jnp.sin(x))
    values = np.linspace(0, 9, 33, dtype=np.float32)
    found = root.map(values)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.sqrt(values) + np.sin(values), rtol=3e-7)


def test_reductions_of_nothing_are_those_of_xla():
    def reduced(x):
        nothing, none = jnp.zeros((0, 2)) * x, jnp.zeros((0, 2), jnp.int32)
        reductions = (lax.reduce_max, lax.reduce_min, lax.reduce_sum, lax.reduce_prod)
        found = [each(array, axes=(0,)) for each in reductions for array in (nothing, none)]
        truth = nothing > x
        return [*found, jnp.all(truth, axis=0), jnp.any(truth, axis=0), jnp.sum(x)]

    for ours, theirs in zip(
        kernel(reduced).map(np.ones(3)), jax.vmap(reduced)(np.ones(3)), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
