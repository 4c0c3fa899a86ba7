"""Tracking of eigenvalues over neighbouring designs: curves, crossings and veerings.

Eigenvalues sorted by modulus are matched between neighbouring designs by their
derivatives: a value changes by the mean slope of both designs times the step, with a
third-order error.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np
import scipy  # loads submodules lazily: .optimize takes 0.3 s
from jaxtyping import Complex, Float, Int

_LOOSE = 0.5  # largest prediction error of a match, relative to the step's length
_NEAR = 1e-3  # prediction error, relative to the modulus, that is always accepted
_SURE = 0.1  # largest doubt of a crossing, relative to the change of the distance
_NARROW = 0.2  # largest gap of a veering, relative to the modulus
# Curves are smooth: among equally good matches, the smaller change of slope wins. The
# penalty is small, since curves may bend and then the fit must decide.
_TURN = 1e-3  # penalty of a match, relative to the change of slope
_TIE = 1e-6  # difference of equal fits, relative to the change of slope
# A minimum counts if the gap widens by this factor on both sides; the gap of parallel
# curves fluctuates less.
_OPENS = 1.5  # times the narrowest gap


@dataclasses.dataclass(frozen=True)
class Meeting:
    """A crossing or veering of two curves, or an undecided encounter.

    **Fields:** `kind`: `"crossing"`, `"veering"` or `"undecided"`; `curves`: their
    indices; `place`: fractional index of the point, from 0; `modulus` there; `apart`:
    their distance in the complex plane there.
    """

    kind: str
    curves: tuple[int, int]
    place: float
    modulus: float
    apart: float


@dataclasses.dataclass(frozen=True)
class Curves:
    """Values of each curve at each point, NaN where the curve has no computed value.

    `doubts` (curve, point): distance of a value from its neighbour's prediction.
    """

    values: Complex[np.ndarray, "curve point"]
    doubts: Float[np.ndarray, "curve point"]


def eigenvalue_curves(
    steps: Float[np.ndarray, "path step"],
    values: Complex[np.ndarray, "point value"],
    slopes: Complex[np.ndarray, "path point value"],
) -> Curves:
    """Return curves through the eigenvalues of a sequence of designs.

    **Arguments:** `steps`: changes of each swept parameter from point to point;
    `slopes`: derivatives with respect to each, NaN if undefined.
    """
    points, count = values.shape
    curves, doubts = [values[0].copy()], [np.zeros(count)]
    last = np.arange(count)  # curve index of each value of the previous point
    for point in range(1, points):
        step = steps[:, point - 1]
        before = np.einsum("p,pv->v", step, slopes[:, point - 1])
        after = np.einsum("p,pv->v", step, slopes[:, point])
        found, off = _partners(values[point - 1], values[point], before, after)
        row = np.full(len(curves[-1]), np.nan + 0j)
        doubt = np.zeros(len(row))
        here = np.full(count, -1)
        for old, new in enumerate(found):
            if new >= 0:
                row[last[old]], doubt[last[old]] = values[point, new], off[old]
                here[new] = last[old]
        unmatched = np.flatnonzero((here < 0) & np.isfinite(values[point]))
        here[unmatched] = len(row) + np.arange(len(unmatched))
        here[here < 0] = len(row) + len(unmatched) - 1 if len(unmatched) else 0
        curves.append(np.append(row, values[point, unmatched]))
        doubts.append(np.append(doubt, np.zeros(len(unmatched))))
        last = here
    width = len(curves[-1])
    return Curves(
        np.array(
            [np.pad(r, (0, width - len(r)), constant_values=np.nan) for r in curves]
        ).T,
        np.array([np.pad(r, (0, width - len(r))) for r in doubts]).T,
    )


def _partners(old, new, before, after):
    """Return the index of each old value's match (-1: none) and its prediction error.

    The error is infinite if another match fits better, but only with a sudden change of
    slope: a narrow veering, or a crossing, within one step.
    """
    usable = np.isfinite(old)[:, None] & np.isfinite(new)
    known = np.stack([np.broadcast_to(before[:, None], usable.shape),
                      np.broadcast_to(after[None, :], usable.shape)])  # fmt: skip
    number = np.isfinite(known).sum(0)
    moved = np.where(np.isfinite(known), known, 0.0).sum(0) / np.maximum(number, 1)
    off = np.where(usable, np.abs(new - old[:, None] - moved), 1e300)
    # if two curves cross midway, swapping them fits equally well
    turned = np.where(number == 2, np.abs(known[1] - known[0]), 0.0)
    rows, columns = scipy.optimize.linear_sum_assignment(off + _TURN * turned)
    nearest = scipy.optimize.linear_sum_assignment(off)[1]
    found = np.full(len(old), -1)
    found[rows] = columns
    every = np.arange(len(old))
    worse = off[every, found] - off[every, nearest] > _TIE * turned[every, nearest]
    off = off[every, found]
    length = np.abs(moved[every, found]) + np.abs(new[found] - old)
    found[~(off <= _LOOSE * length + _NEAR * np.abs(old))] = -1
    return found, np.where(worse, np.inf, off)


def meetings(curves: Curves) -> list[Meeting]:
    """Return the crossings and veerings of the moduli of all pairs of curves.

    A crossing is certain if the doubts of both curves are far below the change of their
    distance; a veering is a gap that narrows and widens without a crossing.
    """
    moduli = np.abs(curves.values)
    found = []
    for one in range(len(moduli)):
        for other in range(one + 1, len(moduli)):
            gap = moduli[one] - moduli[other]
            found += _crossings(curves, one, other, gap)
            found += _veerings(curves, one, other, gap, moduli)
    return sorted(found, key=lambda meeting: meeting.place)


def _crossings(curves: Curves, one: int, other: int, gap):
    signs = np.sign(gap)
    for point in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        part = gap[point] / (gap[point] - gap[point + 1])
        pair = curves.values[[one, other]]
        here = (1 - part) * pair[:, point] + part * pair[:, point + 1]
        change = np.abs((pair[0] - pair[1])[point + 1] - (pair[0] - pair[1])[point])
        doubt = curves.doubts[[one, other], point + 1].max()
        sure = doubt < max(_SURE * change, 0.5 * np.abs(here[0] - here[1]))
        kind = "crossing" if sure else "undecided"
        yield _meeting(kind, (one, other), point + part, here)


def _veerings(curves: Curves, one: int, other: int, gap, moduli):
    size = np.where(np.isfinite(gap), np.abs(gap), np.inf)
    crosses = np.append(gap[:-1] * gap[1:] < 0, False)
    for point in range(1, len(size) - 1):
        least = size[point]
        narrowest = size[point - 1] > least <= size[point + 1]
        if not narrowest or not least < _NARROW * moduli[one, point]:
            continue
        if _between(moduli, one, other, point):
            continue
        left, right = (_opens(size, crosses, point, least, step) for step in (-1, 1))
        if left and right:
            here = curves.values[[one, other], point]
            yield _meeting("veering", (one, other), float(point), here)


def _between(moduli, one, other, point) -> bool:
    low, high = sorted(moduli[[one, other], point])
    return bool(np.any((moduli[:, point] > low) & (moduli[:, point] < high)))


def _opens(size, crosses, point, least, step) -> bool:
    while 0 <= point + step < len(size) and np.isfinite(size[point + step]):
        if crosses[min(point, point + step)] or size[point + step] < size[point]:
            return False
        point += step
        if size[point] > _OPENS * least:
            return True
    return False


def _meeting(kind, curves, place, values) -> Meeting:
    apart = float(np.abs(values[0] - values[1]))
    return Meeting(kind, curves, float(place), float(np.abs(values).mean()), apart)


def order_of(curves: Curves) -> Int[np.ndarray, " curve"]:
    """Return the curve indices sorted by first point, then by modulus there."""
    first = np.argmax(np.isfinite(curves.values), axis=1)
    return np.lexsort((np.abs(curves.values[np.arange(len(first)), first]), first))


def rows_of_curves(
    columns: Mapping[str, np.ndarray],
    grid: Mapping[str, int] | None,
    values: np.ndarray,
    slopes: Mapping[str, np.ndarray],
) -> list[tuple[np.ndarray, Curves]]:
    """Return each row of neighbouring samples and the curves along it.

    **Arguments:** `columns`: path to its value in each sample; `grid`: path to number
    of values, whose longest axis gives the rows, or `None` if the samples are a single
    row; `values` (sample, value); `slopes`: path to derivatives, like `values`.
    **Returns:** pairs of sample indices and `Curves`.
    """
    numbers = np.arange(len(values))
    rows = numbers[None]
    if grid:
        longest = max(range(len(grid)), key=list(grid.values()).__getitem__)
        unfolded = np.moveaxis(numbers.reshape(tuple(grid.values())), longest, -1)
        rows = unfolded.reshape(-1, unfolded.shape[-1])
    found = []
    for row in rows:
        steps = np.stack([np.diff(column[row]) for column in columns.values()])
        here = np.stack([slopes[path][row] for path in columns])
        found.append((row, eigenvalue_curves(steps, values[row], here)))
    return found
