"""Lowering of linear algebra: of small matrices unrolled, of others by emitted loops."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.assembler import LoweringError, Value
from .axes import along, columns_of, repeated, steps
from .memory_arrays import Index, difference, index_value, plus

# Elimination of n unknowns takes n^3/3 products and as many row selections, each an
# instruction: LAPACK is better at 1400 and more.
_MOST_UNKNOWNS = 16
# Rows of a matrix that named numbers solve in programs of long arrays: loops are shorter
# text, but take longer.
_FEW = 8


def _by_name_if_small(write: Callable) -> Callable:
    def chosen(lowering, equation, inputs):
        shape = equation.invars[0].aval.shape
        if not lowering.unrolls and max(shape) <= _FEW:
            return lowering.by_name(equation, inputs)
        matrix = len(shape) > 1
        if len(shape) > 2 or (matrix and lowering.unrolls and max(shape) > _MOST_UNKNOWNS):
            raise LoweringError(f"matrices of shape {shape} are solved by LAPACK")
        return write(lowering, equation, inputs)

    return chosen


def _factors(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower P A = L U with partial pivoting, as LAPACK's getrf."""
    a, matrix = lowering.assembler, lowering.copy(inputs[0])
    rows, columns = matrix.shape
    kind = np.dtype(equation.outvars[1].aval.dtype).name
    pivots = lowering.new((min(rows, columns),), kind)
    order = lowering.copy(lowering.array(np.arange(rows, dtype=kind)))
    for k in steps(lowering, 0, min(rows, columns)):
        pivot = _pivot(lowering, matrix, k, kind)
        pivots.write(a, [k], pivot)
        _swap(lowering, [matrix, order], k, pivot)
        following = plus(a, k, 1)
        for row in steps(lowering, following, rows):
            factor = a.divide(matrix.at(a, [row, k]), matrix.at(a, [k, k]))
            matrix.write(a, [row, k], factor)
            for column in along(lowering, following, columns):
                old, above = (matrix.at(a, [i, column]) for i in (row, k))
                factors = factor if lowering.unrolls else a.same(factor, a.width)
                product = a.multiply(factors, above)
                matrix.write(a, [row, column], a.subtract(old.plain(), product))
    return [matrix, pivots, order]


def _pivot(lowering: Any, matrix: Any, k: Any, kind: str) -> Value:
    """Return the row of the largest number of a column, from its diagonal on."""
    a = lowering.assembler
    after = plus(a, k, 1)

    def following(turn, totals):
        row = plus(a, turn, after)
        size = a.intrinsic("fabs", matrix.at(a, [row, k]))
        better = a.compare("gt", size, totals[0])
        place = a.convert(index_value(a, row), kind)
        return [a.select(better, size, totals[0]), a.select(better, place, totals[1])]

    first = [a.intrinsic("fabs", matrix.at(a, [k, k])), a.convert(index_value(a, k), kind)]
    rest = difference(a, matrix.shape[0], after)
    return repeated(lowering, first, rest, following)[1]


def _swap(lowering: Any, arrays: Sequence, k: Any, pivot: Value) -> None:
    """Swap the rows k and `pivot` of some arrays."""
    a = lowering.assembler
    if not lowering.unrolls:
        row = a.convert(pivot, "int64").name
        for array in arrays:
            columns = along(lowering, 0, array.shape[1]) if array.shape[1:] else [()]
            for column in columns:
                inner = [column] if array.shape[1:] else []
                left, right = (array.at(a, [i, *inner]) for i in (k, row))
                array.write(a, [k, *inner], right)
                array.write(a, [row, *inner], left)
        return
    for i in range(k + 1, arrays[0].shape[0]):
        chosen = a.compare("eq", pivot, a.constant(i, pivot.kind))
        for array in arrays:
            above, below = array.layout[k : k + 1], array.layout[i : i + 1]
            pairs = list(zip(above.flat, below.flat, strict=True))
            for one, (x, y) in enumerate(pairs):
                above.flat[one] = a.select(chosen, y, x)
            for one, (x, y) in enumerate(pairs):
                below.flat[one] = a.select(chosen, x, y)


def _triangular(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower the solution of A X = B or X A = B with triangular A."""
    a, parameters = lowering.assembler, equation.params
    matrix, right = (lowering.stored(array) for array in inputs)
    result = lowering.new(right.shape, right.kind)
    lower = parameters["lower"] != parameters["transpose_a"]
    layout = matrix.layout.T if parameters["transpose_a"] else matrix.layout
    sides = [right.layout, result.layout]
    if not parameters["left_side"]:  # X A = B is A^T X^T = B^T
        layout, lower, sides = layout.T, not lower, [side.T for side in sides]
    if not lower:  # from the last unknown to the first
        layout, sides = layout[::-1, ::-1], [side[::-1] for side in sides]
    matrix, right, solved = matrix.view(layout), right.view(sides[0]), result.view(sides[1])
    for row in steps(lowering, 0, solved.shape[0]):
        for columns in columns_of(lowering, solved.shape[1]):
            first = [right.at(a, [row, column]) for column in columns]
            rests = _less(lowering, first, row, matrix, solved, columns)
            for column, rest in zip(columns, rests, strict=True):
                if not parameters["unit_diagonal"]:
                    rest = a.divide(rest, matrix.at(a, [row, row]))
                solved.write(a, [row, column], rest)
    return [result]


def _less(
    lowering: Any,
    first: Sequence[Value],
    row: Any,
    matrix: Any,
    solved: Any,
    columns: Sequence[Index],
) -> list[Value]:
    """Return numbers of some columns less the products of the solved unknowns."""
    a = lowering.assembler

    def following(k, rests):
        factor = matrix.at(a, [row, k])
        return [
            a.subtract(rest, a.multiply(factor, solved.at(a, [k, column])))
            for rest, column in zip(rests, columns, strict=True)
        ]

    return repeated(lowering, [value.plain() for value in first], row, following)


def _cholesky(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower the Cholesky factor L of A = L L^T; NaN if A is not positive definite."""
    a, matrix = lowering.assembler, lowering.stored(inputs[0])
    size = matrix.shape[0]
    # Its rows are the columns of L: vectors of them are next to each other.
    upper = lowering.copy(lowering.array(np.zeros(matrix.shape, matrix.kind)))
    of_column = upper.view(upper.layout.T)
    # XLA symmetrises the matrix first, as for eigenvalues.
    lower = matrix.view(matrix.layout.T)
    for j in steps(lowering, 0, size):
        (first,) = _less(lowering, [matrix.at(a, [j, j])], j, of_column, upper, [j])
        root = a.intrinsic("sqrt", first)
        upper.write(a, [j, j], root)
        for i in along(lowering, plus(a, j, 1), size):
            (rest,) = _less(lowering, [lower.at(a, [j, i])], j, of_column, upper, [i])
            by = root if lowering.unrolls else a.same(root, a.width)
            upper.write(a, [j, i], a.divide(rest, by))
    last = upper.at(a, [size - 1, size - 1])
    defined, nan = a.compare("gt", last, a.constant(0, matrix.kind)), np.nan
    for j in steps(lowering, 0, size):
        for i in along(lowering, j, size):
            here = defined if lowering.unrolls else a.same(defined, a.width)
            kept = a.select(here, upper.at(a, [j, i]), a.constant(nan, matrix.kind))
            upper.write(a, [j, i], kept)
    return [of_column]


def _solution(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower the solution of a linear system, ignoring its derivative rule."""
    lengths = equation.params["const_lengths"]
    first = lengths.matvec + lengths.vecmat
    right_hand_sides = inputs[first : first + lengths.solve]
    right = inputs[first + lengths.solve + (lengths.transpose_solve or 0) :]
    return lowering.closed(equation.params["jaxprs"].solve, [*right_hand_sides, *right])


def _order_of_pivots(lowering: Any, equation: Any, inputs: Sequence) -> list:
    a, pivots = lowering.assembler, lowering.stored(inputs[0])
    aval = equation.outvars[0].aval
    numbers = np.arange(aval.shape[0], dtype=aval.dtype)
    order = lowering.copy(lowering.array(numbers))
    for k in steps(lowering, 0, pivots.shape[0]):
        _swap(lowering, [order], k, pivots.at(a, [k]))
    return [order]


TABLE: dict[str, Callable] = {
    "lu": _by_name_if_small(_factors),
    "lu_pivots_to_permutation": _by_name_if_small(_order_of_pivots),
    "triangular_solve": _by_name_if_small(_triangular),
    "cholesky": _by_name_if_small(_cholesky),
    "custom_linear_solve": _solution,
}
