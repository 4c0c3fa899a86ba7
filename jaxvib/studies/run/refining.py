"""Adaptive grids: samples are computed only where neighbouring samples differ.

A strip starts with every `coarsest`-th line in both directions. Cells whose corners
differ in class (reason code, verdict, numbers of periods and contacts) are halved in
both directions, down to single samples; elsewhere samples get the class of the corners.
A random subset of these is computed as well, to estimate the error rate of the filling.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..analyses.kinds import ANALYSES
from ..config import samples
from ..store.fields import Variable, joined
from .computing import compute_part
from .study import Study

FILLED, COMPUTED, RIGHT, WRONG = range(4)  # as the field `computed` stores them
HOW = "computed"  # the field with one of these four codes
ERROR = "filling_error"


def refined_part(
    study: Study, system: Any, part: slice, progress: Any
) -> dict[str, Variable]:
    """Return the results of whole lines of a grid, computed where they change.

    The bytes depend only on the study and the part. The field `computed` marks the
    computed samples. The others have the class of the surrounding corners, the kind's
    `smooth` fields interpolated between these, and NaN in all other fields.
    """
    columns = list(study.paths.values())[1].count()
    first, last = part.start // columns, part.stop // columns
    # The line after the strip is shared with the next one, to miss nothing in between.
    lines = min(last + 1, study.samples // columns) - first
    strip = _Strip(study, system, first, (lines, columns), progress)
    strip.refine()
    strip.check(part.start // study.run.chunk)
    fields = strip.fields(last - first)
    progress.advance(max(0, part.stop - part.start - strip.advanced))
    return fields


class _Strip:
    """Samples of some lines of a grid, by line and column, as far as computed."""

    def __init__(self, study: Study, system, first: int, shape: tuple[int, int], progress):
        self.advanced = 0
        self._study, self._system, self._progress = study, system, progress
        self._first, self._shape = first, shape
        self._smooth = ANALYSES[study.analysis.kind].smooth
        self._parts: list[dict[str, Variable]] = []
        self._row = np.full(shape, -1)  # row of the results, in order of computation
        self._class = np.full(shape, -1)
        self._classes: dict[bytes, int] = {}
        self._corners = np.zeros((*shape, 4), int)  # line, column; next line, column

    def advance(self, number: int) -> None:
        """Count completed samples, at most those of the strip."""
        number = min(number, self._shape[0] * self._shape[1] - self.advanced)
        self.advanced += number
        self._progress.advance(number)

    def message(self, line: str) -> None:
        """Forward a line."""
        self._progress.message(line)

    def refine(self) -> None:
        """Compute the samples needed to locate changes of class."""
        stride = samples.coarsest(self._study.sampling)
        lines, columns = (_every(stride, size) for size in self._shape)
        self._compute(np.array([(i, j) for i in lines for j in columns]))
        grid = [(i, j, k, m) for i, k in _pairs(lines) for j, m in _pairs(columns)]
        cells = [cell for cell in grid if self._is_mixed(cell)]
        uniform = [cell for cell in grid if not self._is_mixed(cell)]
        while cells:
            new = {place for cell in cells for place in _lattice(cell)}
            left = [place for place in sorted(new) if self._row[place] < 0]
            if left:
                self._compute(np.array(left))
            # Samples computed for a neighbour may lie on the edge of a uniform cell.
            uniform += [part for cell in cells for part in _parts(cell)]
            cells = [cell for cell in uniform if self._is_mixed(cell)]
            uniform = [cell for cell in uniform if not self._is_mixed(cell)]
        for i, j, k, m in uniform:
            self._corners[i : k + 1, j : m + 1] = (i, j, k, m)

    def check(self, number: int) -> None:
        """Compute a random subset of the skipped samples, drawn by the study's seed."""
        share = samples.checked(self._study.sampling) / self._study.samples
        drawn = np.random.default_rng([self._study.run.seed, number]).random(self._shape)
        places = np.argwhere((self._row < 0) & (drawn < share))
        self._computed = self._row >= 0
        if len(places):
            self._compute(places)

    def fields(self, lines: int) -> dict[str, Variable]:
        """Return the results of the first lines, with skipped samples filled."""
        count = lines * self._shape[1]
        row = self._row.ravel()[:count]
        line, column, below, right = self._corners.reshape(-1, 4)[:count].T
        corners = [
            self._row[i, j]
            for i, j in ((line, column), (line, right), (below, column), (below, right))
        ]
        here, there = np.unravel_index(np.arange(count), (lines, self._shape[1]))
        down = (here - line) / np.maximum(below - line, 1)
        across = (there - column) / np.maximum(right - column, 1)
        weights = [
            (1 - down) * (1 - across), (1 - down) * across, down * (1 - across),
            down * across,
        ]  # fmt: skip
        known = self._computed.ravel()[:count]
        found, errors = {}, np.full(count, np.nan)
        for name, field in joined(*self._parts).items():
            filled = self._filled(name, field, corners, weights)
            filled[known] = field.values[row[known]]
            seen = np.flatnonzero(~known & (row >= 0))
            if name in self._smooth:
                error = _relative(filled[seen], field.values[row[seen]])
                errors[seen] = np.fmax(errors[seen], error)
            filled[seen] = field.values[row[seen]]
            found[name] = dataclasses.replace(field, values=filled)
        like = self._class.ravel()[:count] == self._class[line, column]
        how = np.select([known, row < 0, like], [COMPUTED, FILLED, RIGHT], WRONG)
        errors[how != RIGHT] = np.nan
        return found | {
            HOW: Variable(
                ("sample",), how.astype(np.int8), "",
                "1 computed, 0 filled from the samples around; skipped and computed as "
                "a check: 2 filled correctly, 3 wrongly",
            ),
            ERROR: Variable(
                ("sample",), errors, "", "largest relative error of filling"
            ),
        }  # fmt: skip

    def _filled(self, name, field: Variable, corners, weights) -> np.ndarray:
        values = field.values
        if values.dtype.kind in "iub":
            return values[corners[0]]
        if name not in self._smooth:
            return np.full((len(corners[0]), *values.shape[1:]), np.nan, values.dtype)
        shape = (-1, *([1] * (values.ndim - 1)))
        parts = zip(weights, corners, strict=True)
        return sum(weight.reshape(shape) * values[corner] for weight, corner in parts)

    def _compute(self, places: np.ndarray) -> None:
        """Compute samples at these places, (number, 2)."""
        study = self._study
        values = [listed.listed() for listed in study.paths.values()]

        def draw(part: slice) -> Mapping[str, np.ndarray]:
            line, column = places[part].T
            columns = values[0][self._first + line], values[1][column]
            return dict(zip(study.paths, columns, strict=True))

        fields = compute_part(
            study, self._system, draw, slice(0, len(places)), self, among=len(places)
        )
        start = sum(len(part["result"].values) for part in self._parts)
        self._parts.append(fields)
        line, column = places.T
        self._row[line, column] = start + np.arange(len(places))
        self._class[line, column] = self._classes_of(fields)

    def _classes_of(self, fields: Mapping[str, Variable]) -> list[int]:
        codes = fields["result"].values
        integers = [
            field.values.reshape(len(codes), -1) * (codes == 0)[:, None]
            for field in fields.values()
            if field.values.dtype.kind in "iub"
        ]
        # The number of contacts of an aperiodic motion depends on the observation time.
        every = np.concatenate([codes[:, None], *integers], axis=1).astype(np.int64)
        keys = [row.tobytes() for row in every]
        return [self._classes.setdefault(key, len(self._classes)) for key in keys]

    def _is_mixed(self, cell: tuple[int, int, int, int]) -> bool:
        i, j, k, m = cell
        inside = self._class[i : k + 1, j : m + 1]
        known = inside[inside >= 0]
        return bool((known != known[0]).any())


def words(read: Callable) -> str:
    """Return the number of computed samples, and the error rate of the filling."""
    counts = np.bincount(read(HOW), minlength=4)
    total, done = counts.sum(), counts[COMPUTED]
    text = f"refined    {done} of {total} samples computed ({done / total:.1%})"
    checked = counts[RIGHT] + counts[WRONG]
    if not checked:
        return f"{text}; the others were not checked"
    low, high = _bounds(int(counts[WRONG]), int(checked))
    error = read(ERROR)
    error = error[np.isfinite(error)]
    numbers = (
        f", numbers by {np.median(error):.1%} (95th percentile "
        f"{np.quantile(error, 0.95):.1%})"
        if error.size
        else ""
    )
    return (
        f"{text}; of {checked} checked others {counts[WRONG] / checked:.2%} "
        f"differ in class ({low:.2%} to {high:.2%}){numbers}"
    )


def _relative(values: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return the relative error of each row's worst component, (rows,)."""
    error = np.abs(values - exact)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(error == 0, 0.0, error / np.abs(exact))
    return np.fmax.reduce(error, axis=tuple(range(1, error.ndim)))


def _bounds(wrong: int, number: int) -> tuple[float, float]:
    """Return Wilson's 95 % confidence interval of a proportion."""
    z = 1.96
    share, more = wrong / number, z**2 / number
    half = np.sqrt(share * (1 - share) * more + more**2 / 4)
    middle, total = share + more / 2, 1 + more
    return max(0.0, (middle - half) / total), (middle + half) / total


def _every(stride: int, size: int) -> list[int]:
    """Return every n-th line, and the last one."""
    return sorted({*range(0, size, stride), size - 1})


def _pairs(lines: list[int]) -> Iterator[tuple[int, int]]:
    return itertools.pairwise(lines) if len(lines) > 1 else iter([(0, 0)])


def _halves(first: int, last: int) -> list[tuple[int, int]]:
    middle = (first + last) // 2
    return [(first, last)] if last - first < 2 else [(first, middle), (middle, last)]


def _parts(cell: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """Return the quarters of a cell (halves of a narrow one) that can be divided."""
    i, j, k, m = cell
    quarters = [(a, c, b, d) for a, b in _halves(i, k) for c, d in _halves(j, m)]
    return [part for part in quarters if part != cell]


def _lattice(cell: tuple[int, int, int, int]) -> list[tuple[int, int]]:
    """Return the corners of all parts of a cell."""
    i, j, k, m = cell
    lines, columns = {i, (i + k) // 2, k}, {j, (j + m) // 2, m}
    return [(line, column) for line in lines for column in columns]
