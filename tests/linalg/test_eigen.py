"""Checked against: matrices with known eigenvalues, LAPACK, and 40 digits of mpmath."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxvib import linalg
from jaxvib.kernels.cpu.machine_code import Native
from jaxvib.kernels.lower.lowering import lower_lanes, trace
from jaxvib.linalg.eigen import eigensystem as one_eigensystem

ROUNDING = np.finfo(float).eps
SIZES = (1, 2, 3, 4, 6)


def complex_of(parts):
    return parts.real + 1j * parts.imag


def random_matrices(size, count=64, spread=0.0):
    """Return matrices, the second half with components in units that differ by far."""
    draw = np.random.default_rng(size)
    matrices = draw.normal(size=(count, size, size))
    units = np.exp(spread * draw.normal(size=(count, size)))
    units[: count // 2] = 1.0
    return matrices * units[:, None] / units[:, :, None]


@pytest.mark.parametrize("size", SIZES)
def test_eigenvalues_are_lapacks_within_their_condition(size):
    matrices = random_matrices(size)
    found = linalg.eigensystem(matrices)
    values, right, left = map(complex_of, found)
    expected = np.linalg.eigvals(matrices).astype(complex)
    order = linalg.order_of(expected.real, expected.imag)
    expected = np.take_along_axis(expected, order, axis=-1)
    condition = np.linalg.norm(left, axis=-1)
    size_of = np.linalg.norm(matrices, axis=(-2, -1))[:, None]
    assert np.all(np.abs(values - expected) <= 40 * ROUNDING * condition * size_of)
    np.testing.assert_array_equal(values, linalg.eigenvalues(matrices))
    residual = matrices @ right - right * values[:, None]
    assert np.abs(residual).max() <= 40 * ROUNDING * size_of.max()
    identity = np.broadcast_to(np.eye(size), left.shape)
    np.testing.assert_allclose(left @ right, identity, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(right, axis=-2), 1.0, rtol=1e-14)


@pytest.mark.parametrize("size", [3, 4])
def test_components_may_be_measured_in_any_units(size):
    alike, scaled = random_matrices(size), random_matrices(size, spread=8.0)
    np.testing.assert_array_equal(alike[:32], scaled[:32])
    for matrix in scaled[32:36]:
        with mpmath.workdps(40):
            exact = mpmath.eig(mpmath.matrix(matrix.tolist()), left=False, right=False)
            exact = np.array([complex(value) for value in exact])
        exact = exact[linalg.order_of(exact.real, exact.imag)]
        # By the condition of the balanced matrix, which is that of an ordinary one.
        found = linalg.eigenvalues(matrix)
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * abs(exact[0]))


CYCLE = np.eye(4)[[1, 2, 3, 0]]  # of which all shifts are alike
JORDAN = np.diag(np.ones(3), 1) + 2 * np.eye(4)
TURNS = np.kron(np.eye(2), [[0.0, 1.0], [-1.0, 0.0]])


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (CYCLE, [1.0, 1j, -1j, -1.0]),
        (JORDAN, [2.0, 2.0, 2.0, 2.0]),
        (TURNS, [1j, 1j, -1j, -1j]),
        (np.zeros((4, 4)), np.zeros(4)),
        (np.diag([1.0, -3.0, 2.0, -0.5]), [-3.0, 2.0, 1.0, -0.5]),
        (1e300 * CYCLE, 1e300 * np.array([1.0, 1j, -1j, -1.0])),
        (1e-300 * CYCLE, 1e-300 * np.array([1.0, 1j, -1j, -1.0])),
        (np.full((4, 4), np.nan), np.full(4, np.nan)),
        (np.full((4, 4), np.inf), np.full(4, np.nan)),
    ],
)
def test_special_matrices_have_their_eigenvalues_in_order(matrix, expected):
    size = np.max(np.abs(expected))
    found = linalg.eigenvalues(np.asarray(matrix, float))
    np.testing.assert_allclose(found, np.asarray(expected) + 0j, atol=4e-16 * size)


@settings(max_examples=50)
@given(
    values=st.lists(
        st.sampled_from([0.0, 0.5, 1.0, -1.0, 0.3 + 0.4j, -0.3 + 0.4j, 0.5j, 1e-7]),
        min_size=1, max_size=3,
    ),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_the_order_is_that_of_the_exact_values_whatever_rounding_does(values, seed):
    blocks = [
        np.array([[value.real, -value.imag], [value.imag, value.real]])
        if isinstance(value, complex)
        else np.array([[value]])
        for value in values
    ]
    size = sum(map(len, blocks))
    whole, first = np.zeros((size, size)), 0
    for block in blocks:
        whole[first : first + len(block), first : first + len(block)] = block
        first += len(block)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]
    exact = np.concatenate([np.linalg.eigvals(block) for block in blocks]).astype(complex)
    key = [(-abs(v).round(9), -v.real.round(9), -v.imag.round(9)) for v in exact]
    expected = exact[sorted(range(size), key=key.__getitem__)]
    found = linalg.eigenvalues(turn @ whole @ turn.T)
    np.testing.assert_allclose(found, expected, atol=1e-7)  # zeros may be a double one
    values, _ = linalg.eigenvectors(turn @ whole @ turn.T, "smallest")
    np.testing.assert_allclose(np.abs(values), np.sort(np.abs(exact)), atol=1e-7)


def test_every_width_has_the_same_bits():
    matrices = random_matrices(4, 24, spread=5.0)
    matrices[0], matrices[1], matrices[2] = CYCLE, JORDAN, np.nan
    closed, _ = trace(one_eigensystem, [jnp.zeros((4, 4))])
    lanes = [matrices.transpose(1, 2, 0)]
    wanted, *others = (
        Native(lower_lanes(closed, width))(lanes, 1) for width in (1, 2, 4, 8)
    )
    for other in others:
        for one, array in zip(wanted, other, strict=True):
            np.testing.assert_array_equal(one, array)


def test_traced_they_have_the_same_bits_and_first_derivatives():
    matrices = random_matrices(4, 8)
    traced = jax.jit(jax.vmap(linalg.eigenvalues))(matrices)
    np.testing.assert_array_equal(traced, linalg.eigenvalues(matrices))
    matrix, change = matrices[:2]
    _, slope = jax.jvp(linalg.eigenvalues, (matrix,), (change,))
    h = 1e-6
    above, below = (linalg.eigenvalues(matrix + s * h * change) for s in (1, -1))
    np.testing.assert_allclose(slope, (above - below) / (2 * h), rtol=1e-7, atol=1e-8)
    with pytest.raises(TypeError, match="second derivatives of eigenvalues"):
        jax.jacfwd(jax.jacfwd(lambda m: linalg.eigenvalues(m).real))(matrix)


def test_large_matrices_are_left_to_lapack_in_the_same_order():
    matrix = random_matrices(linalg.MOST_ROWS + 1, 2)[0]
    expected = np.linalg.eigvals(matrix)
    expected = expected[linalg.order_of(expected.real, expected.imag)]
    np.testing.assert_array_equal(linalg.eigenvalues(matrix), expected)
    values, right, left = map(complex_of, linalg.eigensystem(matrix))
    np.testing.assert_allclose(matrix @ right, right * values[None], atol=1e-12)
    np.testing.assert_allclose(left @ right, np.eye(len(matrix)), atol=1e-12)
