"""Search of what happens between neighbouring points of a branch.

Steps follow the states: between two points multipliers may turn by many revolutions, and
an instability may begin and end. Points are inserted until

- the trace of the monodromy matrix is that interpolated from its neighbours, so that no
  multiplier turns unseen;
- no factor of a test function may vanish within a chord without a change of its sign:
  the parabolas of its square through three neighbours have no minimum near zero there;
- the number of unstable eigenvalues changes by no more than the test functions' signs say.

Of the inserted points a branch keeps those between which something happens.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import linalg
from ..equations.corrector import Corrected
from .test_functions import EvaluatedPoints, changed, eigenvalues_of
from .tracer import BranchPoint, on_curve, smooth_chords

# Rounds of insertion: each halves a chord at least, or squares the distance from a minimum.
_ROUNDS = 12
# Rounds in which chords are halved that turn too far: 2 ** 7 turns of a radian.
_TURNS = 7
# Largest error of an interpolated trace, and relative to the least factor.
_TRACE, _OF_FACTOR = 0.1, 0.5
# A minimum of a squared factor is searched if it is below this part of both ends, or of
# four tenths of the parabola's bend along the chord: steps of one radian leave an error
# of 0.17 of the ends, and of 0.08 of the bend.
_DEEP, _OF_BEND = 0.25, 0.4
# Squared factors below this are 0: a double multiplier's error is the root of a flow's.
_ZERO = 1e-12
# A bracket is halved as often, and a bifurcation nearer to a point than this, relative to
# the chord, may be on either of its sides.
_HALVINGS, _AT_POINT, _HALF = 30, 1e-6, np.array([0.5])
# Minima are searched within this part of a chord, so that each point is a new one.
_WITHIN = 0.05


class Chords:
    """Chords between points of branches, and the points of the branches beside them."""

    def __init__(self, problem: Any, branches: Any, ends: Sequence[Sequence[BranchPoint]]):
        self.problem, self.branches = problem, np.asarray(branches)
        self.starts = np.array([first.x for first, _ in ends])
        self.chords = np.array([last.x - first.x for first, last in ends])
        self.tangents = [np.array([pair[end].tangent for pair in ends]) for end in (0, 1)]

    def corrected(self, fraction: np.ndarray, which: np.ndarray) -> Corrected:
        """Return points of the branches in planes at fractions of the chords `which`."""
        chords = self.chords[which]
        normals = chords / linalg.norm(chords)[..., None]
        ends = [tangents[which] for tangents in self.tangents]
        predicted = on_curve(self.starts[which], chords, ends, fraction[:, None])
        branches = self.branches[which]
        found = self.problem.correct(branches, predicted, normals, fine=True)
        alike = self.problem.alike(branches, self.starts[which], found.x)
        return found._replace(found=found.found & alike)


def searched(
    problem: Any, branches: Sequence[list[BranchPoint]], seen: Sequence[EvaluatedPoints]
) -> list[list[BranchPoint]]:
    """Return branches with points between which something happens that was not seen.

    `seen`: what the test functions use of the points of each.
    """
    lines = [_Line(problem, *each) for each in zip(branches, seen, strict=True)]
    for number in range(_ROUNDS):
        wanted = [line.wanted(number) for line in lines]
        sizes = [len(places.chord) for places in wanted]
        if not any(sizes):
            break
        ends = [
            line.points[chord : chord + 2]
            for line, places in zip(lines, wanted, strict=True)
            for chord in places.chord
        ]
        chords = Chords(problem, np.repeat(np.arange(len(lines)), sizes), ends)
        fractions = np.concatenate([places.fraction for places in wanted])
        found, last = chords.corrected(fractions, np.arange(len(ends))), np.cumsum(sizes)
        for line, places, size, end in zip(lines, wanted, sizes, last, strict=True):
            if size:
                part = found._make(leaf[end - size : end] for leaf in found)
                line.insert(places.chord, part)
    return [line.kept() for line in lines]


def unlisted(
    problem: Any, points: list[BranchPoint], seen: EvaluatedPoints, finds: Sequence[Any]
) -> list[int]:
    """Return the chords on which the number unstable changes without a bifurcation.

    They are halved until it is found, or listed with a reason. `finds`: the `LocatedZero`
    of the branch.
    """
    kinds = [test.kind for test in problem.tests if test.factors]
    if not kinds:
        return []
    numbers = problem.unstable(seen.eigenvalues)
    missed = (numbers[1:] != numbers[:-1]) & smooth_chords(points)
    for find in finds:
        if find.kind in (*kinds, "fold", "grazing") and len(missed):
            missed[_chords_at(points, find, problem.resolution)] = False
    return np.flatnonzero(missed).tolist()


def _chords_at(points: list[BranchPoint], find: Any, resolution: float) -> list[int]:
    """Return the chord of a find, and those that it may lie on as well.

    That beside it if it is at their common point, and those on which the parameter is
    constant, where folds have no place.
    """
    here, last = find.after, len(points) - 2
    first, second = (linalg.norm(find.x - point.x) for point in points[here : here + 2])
    near = _AT_POINT * (first + second)
    beside = [here - int(first < near), here, here + int(second < near)]
    same = np.abs([point.x[-1] - find.x[-1] for point in points]) <= resolution
    beside += np.flatnonzero(same[1:] & same[:-1]).tolist()
    return [chord for chord in beside if 0 <= chord <= last]


def bracketed(
    problem: Any, branch: int, points: list[BranchPoint], missed: list[int]
) -> list[BranchPoint]:
    """Return the points of a branch, and those nearest to where the number changes."""
    longer = list(points)
    for chord in reversed(missed):
        ends = outer = points[chord], points[chord + 1]
        low, high = (_number_unstable(problem, branch, end) for end in ends)
        for _ in range(_HALVINGS):
            middle = Chords(problem, [branch], [ends]).corrected(_HALF, np.array([0]))
            if not middle.found[0]:
                break
            x, tangent = np.array(middle.x[0]), np.array(middle.tangent[0])
            tangent *= np.sign(linalg.dot(tangent, ends[0].tangent))
            point = BranchPoint(x, tangent, float(middle.miss[0]))
            here = _number_unstable(problem, branch, point)
            ends = (point, ends[1]) if here == low else (ends[0], point)
            if here not in (low, high):
                break
        between = [end for end in ends if not any(end is one for one in outer)]
        longer[chord + 1 : chord + 1] = between
    return longer


def _number_unstable(problem, branch: int, point: BranchPoint) -> int:
    _, solutions = problem.evaluated([branch], point.x[None])
    seen = problem.seen(branch, [point], solutions)
    return int(problem.unstable(seen.eigenvalues)[0])


class _Places(NamedTuple):
    """Places for points: chords in increasing order, and fractions of them."""

    chord: np.ndarray
    fraction: np.ndarray


class _Line:
    """The points of a branch, those inserted between them, and their eigenvalues.

    `own`: whether a point is one of the branch; `open`: whether a chord is new.
    """

    def __init__(self, problem, points: list[BranchPoint], seen: EvaluatedPoints):
        self.problem, self.points = problem, list(points)
        self.tangents, self.eigenvalues = seen.tangents, seen.eigenvalues
        self.own = np.ones(len(points), bool)
        self.open = smooth_chords(points)
        self.rows = [test for test in problem.tests if test.factors is not None]

    def wanted(self, number: int) -> _Places:
        """Return the places for points of a round."""
        chords = np.flatnonzero(self.open)
        if not self.rows or not chords.size or not np.isfinite(self.eigenvalues).all():
            return _Places(np.zeros(0, int), np.zeros(0))
        steps = np.diff([point.x for point in self.points], axis=0)
        place = np.append(0.0, np.cumsum(linalg.norm(steps)))
        if not number and self.problem.places:
            parts = self.problem.places // len(chords)
            fractions = np.arange(1, parts) / parts
            several = np.repeat(chords, len(fractions))
            return _Places(several, np.tile(fractions, len(chords)))
        changes = self._changes()
        depth, fraction = np.full((2, len(self.open)), np.nan)
        least = np.full(len(self.points), np.inf)
        for row in self.rows:
            factors = np.abs(row.factors(self.eigenvalues))
            if not factors.size:
                continue
            least = np.fmin(least, factors.min(-1))
            squares = np.sort(factors**2, axis=-1)
            deeper = _minima(place, squares, changes[row.kind])
            better = np.fmin(deeper[0], depth) == deeper[0]
            depth = np.where(better, deeper[0], depth)
            fraction = np.where(better, deeper[1], fraction)
        halved = self._compound(changes)
        if number < _TURNS and not self.problem.places:
            halved |= _unresolved(place, self.eigenvalues.sum(-1).real, least)
        wanted = self.open & (halved | (depth < _DEEP))
        fraction = np.where(depth < _DEEP, fraction, 0.5)
        chords = np.flatnonzero(wanted)
        return _Places(chords, fraction[chords])

    def insert(self, chords: np.ndarray, found: Corrected) -> None:
        """Insert the points that were found; only chords beside them remain open."""
        good = found.found & np.isfinite(eigenvalues_of(found)).all(-1)
        self.open[:] = False
        chords, found = chords[good], found._make(leaf[good] for leaf in found)
        count = self.tangents.shape[-1]
        at = chords + 1
        ways = np.array([self.points[chord].tangent for chord in chords])
        signs = np.sign(linalg.dot(found.tangent, ways.reshape(found.tangent.shape)))
        tangents = found.tangent * signs[:, None]
        self.eigenvalues = np.insert(self.eigenvalues, at, eigenvalues_of(found), axis=0)
        self.tangents = np.insert(self.tangents, at, tangents[:, -count:], axis=0)
        self.own = np.insert(self.own, at, False)
        self.open = np.insert(self.open, chords, True)
        new = np.flatnonzero(~np.insert(np.ones(len(self.points), bool), at, False))
        self.open[new] = True
        misses = map(float, found.miss)
        inserted = map(BranchPoint, found.x, tangents, misses)
        for place, point in zip(new, inserted, strict=True):
            self.points.insert(place, point)

    def kept(self) -> list[BranchPoint]:
        """Return the points of the branch, and those between which something happens."""
        if self.own.all():
            return self.points
        number = self.problem.unstable(self.eigenvalues)
        keys = np.column_stack([number, np.sign(self.tangents[:, -1])])
        steps = (keys[1:] != keys[:-1]).any(-1)
        owner = np.cumsum(self.own)[:-1]
        several = (np.bincount(owner, steps) > 1)[owner] & steps
        keep = self.own.copy()
        keep[:-1] |= several
        keep[1:] |= several
        return [point for point, mine in zip(self.points, keep, strict=True) if mine]

    def _changes(self) -> dict[str, np.ndarray]:
        seen = EvaluatedPoints(self.tangents, self.eigenvalues, tuple)
        return {row.kind: changed(row, seen) for row in self.rows}

    def _compound(self, changes: dict[str, np.ndarray]) -> np.ndarray:
        """Return the chords on which more becomes unstable than the signs can say."""
        number = self.problem.unstable(self.eigenvalues)
        most = sum(np.where(changes[row.kind], row.number, 0) for row in self.rows)
        return np.abs(np.diff(number)) > most


def _minima(
    place: np.ndarray, squares: np.ndarray, crossed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least value within each chord, see `_DEEP`, and its place.

    Of the parabolas through three neighbours; NaN where there is no minimum. The least
    factors of a chord that is `crossed` are left out.
    """
    count, factors = squares.shape
    depth, fraction = np.full((2, count - 1, factors), np.nan)
    if count > 2:
        one, two, three = squares[:-2], squares[1:-1], squares[2:]
        first, second = np.diff(place)[:-1, None], np.diff(place)[1:, None]
        rise, more = (two - one) / first, (three - two) / second
        bend = (more - rise) / (first + second)
        with np.errstate(divide="ignore", invalid="ignore"):
            # One parabola per three points, within the chord before and behind the second.
            offset = first / 2 - rise / (2 * bend)
            low = one - bend * offset**2
        for chords, share, length in (
            (slice(None, -1), offset / first, first),
            (slice(1, None), (offset - first) / second, second),
        ):
            inside = (bend > 0) & (share > _WITHIN) & (share < 1 - _WITHIN)
            ends = np.minimum(squares[:-1][chords], squares[1:][chords])
            inside &= ends > _ZERO
            size = np.maximum(ends, _OF_BEND * bend * length**2)
            here = np.where(inside, low / np.where(inside, size, 1.0), np.nan)
            better = np.fmin(here, depth[chords]) == here
            depth[chords] = np.where(better, here, depth[chords])
            fraction[chords] = np.where(better, share, fraction[chords])
    depth[crossed, :1] = np.nan
    best = np.argmin(np.where(np.isnan(depth), np.inf, depth), axis=-1)[:, None]
    depth, fraction = (np.take_along_axis(x, best, -1)[:, 0] for x in (depth, fraction))
    return depth, fraction


def _unresolved(place: np.ndarray, trace: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return the chords beside points at which the trace is not that of its neighbours."""
    count = len(place)
    if count < 5:
        return np.ones(count - 1, bool)
    index = np.arange(count)
    first = np.clip(index - 2, 0, count - 5)
    near = first[:, None] + np.arange(5)
    near = near[near != index[:, None]].reshape(count, 4)
    x, here = place[near], place[:, None]
    guess = np.zeros(count)
    for i in range(4):
        others = np.delete(x, i, axis=1)
        weight = np.prod((here - others) / (x[:, i : i + 1] - others), axis=1)
        guess += weight * trace[near[:, i]]
    size = 1 + np.abs(trace[near]).max(-1)
    wrong = np.abs(guess - trace) > np.maximum(_TRACE * size, _OF_FACTOR * least)
    return wrong[1:] | wrong[:-1]
