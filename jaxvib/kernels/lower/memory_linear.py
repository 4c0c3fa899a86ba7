"""Lowering of linear algebra for matrices in memory: loops over rows and columns."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.assembler import LoweringError, Value
from . import linear
from .control import Carried, counted
from .memory_arrays import Index, Stored, index_value, plus
from .memory_primitives import groups_of_vectors
from .primitives import boxed

# Rows of a matrix that named numbers solve: loops are shorter text, but take longer.
_FEW = 8
# Vectors of columns that one loop solves for, as many as hide the latency of one.
_VECTORS = 8


def _by_name_if_small(write: Callable) -> Callable:
    def chosen(lowering, equation, inputs):
        shape = equation.invars[0].aval.shape
        if max(shape) <= _FEW:
            return lowering.by_name(equation, inputs)
        if len(shape) > 2:
            raise LoweringError(f"matrices of shape {shape} are solved by LAPACK")
        return write(lowering, equation, inputs)

    return chosen


def _difference(a: Any, one: str | int, other: str | int) -> str | int:
    if isinstance(one, int) and isinstance(other, int):
        return one - other
    return a.assign(f"sub i64 {one}, {other}")


def _factors(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower P A = L U with partial pivoting, as LAPACK's getrf."""
    a, matrix = lowering.assembler, lowering.copy(inputs[0])
    rows, columns = matrix.shape
    kind = np.dtype(equation.outvars[1].aval.dtype).name
    pivots = lowering.new((min(rows, columns),), kind)
    order = lowering.copy(lowering.array(np.arange(rows, dtype=kind)))
    with counted(lowering, min(rows, columns)) as k:
        pivot = _pivot(lowering, matrix, k)
        pivots.write(a, [k], a.convert(Value(pivot, "int64"), kind))
        _swap(lowering, order, [(k,), (pivot,)], [()])
        for part in lowering.along(columns):
            with part as column:
                _swap(lowering, matrix, [(k,), (pivot,)], [(column,)])
        following = plus(a, k, 1)
        with counted(lowering, _difference(a, rows, following)) as turn:
            row = plus(a, turn, following)
            factor = a.divide(matrix.at(a, [row, k]), matrix.at(a, [k, k]))
            matrix.write(a, [row, k], factor)
            length = _difference(a, columns, following)
            for part in lowering.along(length, following):
                with part as column:
                    old, above = (matrix.at(a, [i, column]) for i in (row, k))
                    product = a.multiply(a.same(factor, a.width), above)
                    matrix.write(a, [row, column], a.subtract(old, product))
    return [matrix, pivots, order]


def _pivot(lowering: Any, matrix: Stored, k: str) -> str:
    """Return the row of the largest number of a column, from its diagonal on."""
    a = lowering.assembler
    first = a.intrinsic("fabs", matrix.at(a, [k, k]))
    carry: Any = Carried(lowering, [boxed(first), boxed(Value(k, "int64"))])
    following = plus(a, k, 1)
    with counted(lowering, _difference(a, matrix.shape[0], following), carry) as turn:
        row = plus(a, turn, following)
        largest, place = (value[()] for value in carry.values)
        size = a.intrinsic("fabs", matrix.at(a, [row, k]))
        better = a.compare("gt", size, largest)
        carry.following = [
            boxed(a.select(better, size, largest)),
            boxed(a.select(better, index_value(a, row), place)),
        ]
    return carry.values[1][()].name


def _swap(lowering: Any, array: Stored, pair: Sequence, places: Sequence) -> None:
    """Swap numbers at a pair of first indices."""
    a = lowering.assembler
    for place in places:
        one, other = ([*first, *place] for first in pair)
        left, right = array.at(a, one), array.at(a, other)
        array.write(a, one, right)
        array.write(a, other, left)


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
    with counted(lowering, solved.shape[0]) as row:
        for part in groups_of_vectors(lowering, solved.shape[1], _VECTORS):
            with part as columns:
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
    row: str,
    matrix: Stored,
    solved: Stored,
    columns: Sequence[Index],
) -> list[Value]:
    """Return numbers of some columns less the products of the solved unknowns."""
    a = lowering.assembler
    carry: Any = Carried(lowering, [boxed(value) for value in first])
    with counted(lowering, row, carry) as k:
        factor = matrix.at(a, [row, k])
        carry.following = [
            boxed(a.subtract(rest[()], a.multiply(factor, solved.at(a, [k, column]))))
            for rest, column in zip(carry.values, columns, strict=True)
        ]
    return [rest[()] for rest in carry.values]


def _cholesky(lowering: Any, equation: Any, inputs: Sequence) -> list:
    """Lower the Cholesky factor L of A = L L^T; NaN if A is not positive definite."""
    a, matrix = lowering.assembler, lowering.stored(inputs[0])
    size = matrix.shape[0]
    # Its rows are the columns of L: vectors of them are next to each other.
    upper = lowering.copy(lowering.array(np.zeros(matrix.shape, matrix.kind)))
    lower = matrix.view(matrix.layout.T)
    with counted(lowering, size) as j:
        of_column = upper.view(upper.layout.T)
        (first,) = _less(lowering, [matrix.at(a, [j, j])], j, of_column, upper, [j])
        root = a.intrinsic("sqrt", first)
        upper.write(a, [j, j], root)
        following = plus(a, j, 1)
        for part in lowering.along(_difference(a, size, following), following):
            with part as i:
                (rest,) = _less(lowering, [lower.at(a, [j, i])], j, of_column, upper, [i])
                upper.write(a, [j, i], a.divide(rest, a.same(root, a.width)))
    last = upper.at(a, [size - 1, size - 1])
    defined = a.compare("gt", last, a.constant(0, matrix.kind))
    with counted(lowering, size) as j:
        for part in lowering.along(_difference(a, size, j), j):
            with part as i:
                nan = a.constant(np.nan, matrix.kind)
                kept = a.select(a.same(defined, a.width), upper.at(a, [j, i]), nan)
                upper.write(a, [j, i], kept)
    return [upper.view(upper.layout.T)]


def _order_of_pivots(lowering: Any, equation: Any, inputs: Sequence) -> list:
    a, pivots = lowering.assembler, lowering.stored(inputs[0])
    aval = equation.outvars[0].aval
    order = lowering.copy(lowering.array(np.arange(aval.shape[0], dtype=aval.dtype)))
    with counted(lowering, pivots.shape[0]) as k:
        pivot = a.convert(pivots.at(a, [k]), "int64").name
        _swap(lowering, order, [(k,), (pivot,)], [()])
    return [order]


TABLE: dict[str, Callable] = {
    "lu": _by_name_if_small(_factors),
    "lu_pivots_to_permutation": _by_name_if_small(_order_of_pivots),
    "triangular_solve": _by_name_if_small(_triangular),
    "cholesky": _by_name_if_small(_cholesky),
    "custom_linear_solve": linear.TABLE["custom_linear_solve"],
}
