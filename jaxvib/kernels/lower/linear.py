"""Lowering of linear algebra for small matrices, fully unrolled."""

from collections.abc import Callable

import numpy as np

from ..ir.assembler import LoweringError, Value

# Elimination of n unknowns takes n^3/3 products and as many row selections, each an
# instruction: LAPACK is better at 1400 and more.
_MOST_UNKNOWNS = 16


def _factors(lowering, equation, inputs):
    """Lower P A = L U with partial pivoting, as LAPACK's getrf."""
    a, matrix = lowering.assembler, inputs[0].copy()
    rows, columns = _checked(matrix)
    kind = np.dtype(equation.outvars[1].aval.dtype).name
    pivots = np.empty(min(rows, columns), object)
    order = lowering.array(np.arange(rows, dtype=kind))
    for k in range(min(rows, columns)):
        largest = a.intrinsic("fabs", matrix[k, k])
        pivots[k] = a.constant(k, kind)
        for i in range(k + 1, rows):
            size = a.intrinsic("fabs", matrix[i, k])
            better = a.compare("gt", size, largest)
            largest = a.select(better, size, largest)
            pivots[k] = a.select(better, a.constant(i, kind), pivots[k])
        for i in range(k + 1, rows):
            chosen = a.compare("eq", pivots[k], a.constant(i, kind))
            _swap(a, chosen, matrix, k, i)
            _swap(a, chosen, order, k, i)
        for i in range(k + 1, rows):
            factor = a.divide(matrix[i, k], matrix[k, k])
            matrix[i, k] = factor
            for j in range(k + 1, columns):
                product = a.multiply(factor, matrix[k, j])
                matrix[i, j] = a.subtract(matrix[i, j].plain(), product)
    return [matrix, pivots, order]


def _swap(a, chosen: Value, rows: np.ndarray, one: int, other: int) -> None:
    pairs = list(
        zip(np.ravel(rows[one : one + 1]), np.ravel(rows[other : other + 1]), strict=True)
    )
    first = [a.select(chosen, y, x) for x, y in pairs]
    second = [a.select(chosen, x, y) for x, y in pairs]
    for place, values in ((one, first), (other, second)):
        if rows.ndim == 1:
            rows[place] = values[0]
        else:
            for k, value in enumerate(values):
                rows[place, k] = value


def _triangular(lowering, equation, inputs):
    """Lower the solution of A X = B or X A = B with triangular A."""
    a, parameters, (matrix, right) = lowering.assembler, equation.params, inputs
    _checked(matrix)
    left_side, lower = parameters["left_side"], parameters["lower"]
    if parameters["transpose_a"]:
        matrix, lower = matrix.T, not lower
    if not left_side:  # X A = B is A^T X^T = B^T
        matrix, lower, right = matrix.T, not lower, right.T
    size = matrix.shape[0]
    result = np.empty(right.shape, object)
    done: list[int] = []
    for i in range(size) if lower else reversed(range(size)):
        for j in range(right.shape[1]):
            rest = right[i, j].plain()
            for k in done:
                rest = a.subtract(rest, a.multiply(matrix[i, k], result[k, j]))
            unit = parameters["unit_diagonal"]
            result[i, j] = rest if unit else a.divide(rest, matrix[i, i])
        done.append(i)
    return [result if left_side else result.T]


def _cholesky(lowering, equation, inputs):
    """Lower the Cholesky factor L of A = L L^T; NaN if A is not positive definite."""
    a, (matrix,) = lowering.assembler, inputs
    size, _ = _checked(matrix)
    result = lowering.array(np.zeros(matrix.shape, equation.outvars[0].aval.dtype))
    for j in range(size):
        for i in range(j, size):
            # XLA symmetrises the matrix first, as for eigenvalues.
            rest = matrix[i, j].plain()
            for k in range(j):
                rest = a.subtract(rest, a.multiply(result[i, k], result[j, k]))
            if i == j:
                result[i, j] = a.intrinsic("sqrt", rest)
            else:
                result[i, j] = a.divide(rest, result[j, j])
    defined = a.compare("gt", result[size - 1, size - 1], a.constant(0, result[0, 0].kind))
    nan = a.constant(np.nan, result[0, 0].kind)
    for i, j in zip(*np.tril_indices(size), strict=True):
        result[i, j] = a.select(defined, result[i, j], nan)
    return [result]


def _solution(lowering, equation, inputs):
    """Lower the solution of a linear system, ignoring its derivative rule."""
    lengths = equation.params["const_lengths"]
    first = lengths.matvec + lengths.vecmat
    right_hand_sides = inputs[first : first + lengths.solve]
    right = inputs[first + lengths.solve + (lengths.transpose_solve or 0) :]
    return lowering.closed(equation.params["jaxprs"].solve, [*right_hand_sides, *right])


def _order_of_pivots(lowering, equation, inputs):
    a, (pivots,) = lowering.assembler, inputs
    shape = equation.outvars[0].aval.shape
    order = lowering.array(np.arange(shape[0], dtype=equation.outvars[0].aval.dtype))
    for k, pivot in enumerate(pivots):
        for i in range(k + 1, shape[0]):
            _swap(a, a.compare("eq", pivot, a.constant(i, pivot.kind)), order, k, i)
    return [order]


def _checked(matrix: np.ndarray) -> tuple[int, int]:
    if matrix.ndim != 2 or max(matrix.shape) > _MOST_UNKNOWNS:
        raise LoweringError(f"matrices of shape {matrix.shape} are solved by LAPACK")
    return matrix.shape[0], matrix.shape[1]


TABLE: dict[str, Callable] = {
    "lu": _factors,
    "lu_pivots_to_permutation": _order_of_pivots,
    "triangular_solve": _triangular,
    "cholesky": _cholesky,
    "custom_linear_solve": _solution,
}
