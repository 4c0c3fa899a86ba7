"""Tracing of one branch in one direction: prediction, step size control, termination.

The step size follows from the prediction error and the curvature of the branch. If it
exceeds the largest distance of points, all points within a step are predicted and
corrected at once. Branches of orbits with hard stops have grazings and jumps, where an
impact passes the time of a state, which are passed by `problems.grazing`; no step is
accepted over which the number of impacts changes. Branches of cycles of bodies have
corners.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ... import linalg
from ...ensemble import Reason
from ..equations.corrector import Corrected

# Step size control aims at this relative length of the first Newton step...
CORRECTION = 3e-3
# ... and this angle between tangents; steps that exceed either by far are rejected.
ANGLE = np.radians(10.0)
_TOO_FAR = 10 * CORRECTION
_TURN = np.cos(2.5 * ANGLE)
RUNNING = -1  # not a reason code: the tracer is running
# Largest number of points per batch: a failed point invalidates those behind it.
_TOGETHER = 32
# If a branch has corners, steps shorter than this may turn by any angle.
_SHORT = 1e-3
# Relative distances beyond a corner or a jump, tried in order.
_REACHES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
# Places along a step at which margins of grazing are interpolated.
_PLACES = np.linspace(0.0, 1.0, 33)
# A vector reverses between two points if its norm falls below this part of that at one
# of them, after so many secants at most.
_NEARER, _SECANTS = 0.2, 4
# Relative distance of the halves of a motion below which they may coincide.
HALVES_APART = 1e-6


class BranchPoint(NamedTuple):
    """A point of a branch in scaled coordinates, with its prediction error `miss`.

    `corner`: whether the branch changes direction there; `grazing`: the one between it
    and the point before it, or None; `jumped`: whether the branch jumps between them.
    """

    x: np.ndarray
    tangent: np.ndarray
    miss: float
    corner: bool = False
    grazing: Any = None
    jumped: bool = False

    @property
    def apart(self) -> bool:
        """Whether the chord from the point before it is not smooth."""
        return self.jumped or self.corner or self.grazing is not None


def smooth_chords(points: Sequence[BranchPoint]) -> np.ndarray:
    """Return whether the branch is smooth between each point and the next one."""
    apart = np.array([point.apart for point in points], bool)
    corners = np.array([point.corner for point in points], bool)
    return ~(apart[1:] | corners[:-1])


class Place(NamedTuple):
    """A place on a branch at which it is not smooth: its point, and what follows.

    `beyond(reach)`: the predicted point at that distance from it.
    """

    x: np.ndarray
    beyond: Callable[[float], np.ndarray]


class Crossing(NamedTuple):
    """The way over a grazing, or a jump: points of the branch, the last one beyond it.

    `length`: the distance of the last two points, 0 if no orbit follows.
    """

    points: list[BranchPoint]
    grazing: Any
    length: float


class Watched(NamedTuple):
    """What orbits do at their stops, (points, stops).

    `onsets`: the number of impacts; `holds`: whether a stop stays closed; `margins`: the
    distance from grazing, m; `slopes`: its change along the branch.
    """

    onsets: np.ndarray
    holds: np.ndarray
    margins: np.ndarray
    slopes: np.ndarray

    def broken(self, chord: int, length: float) -> bool:
        """Return whether impacts begin or end along a chord, and do not just go on.

        The impacts by which a body comes to rest have no number of their own.
        """
        both = slice(chord, chord + 2)
        one, other = self.onsets[both]
        if ((one != other) & ~self.holds[both].all(0)).any():
            return True
        first, last = np.where(self.holds[both], np.nan, self.margins[both])
        rises = [length * slopes for slopes in self.slopes[both]]
        with np.errstate(invalid="ignore"):
            t = _PLACES[:, None]
            bend, twist = rises[0] - (last - first), (last - first) - rises[1]
            path = first + t * (last - first) + t * (1 - t) * ((1 - t) * bend + t * twist)
        return bool((path < 0).any())


class Limits(NamedTuple):
    """Scaled parameter bounds, step sizes and the largest number of points of a branch.

    `bounds`: one pair for each of the last unknowns; `exact`: the same, not scaled.
    """

    bounds: tuple[tuple[float, float], ...]
    exact: tuple[tuple[float, float], ...]
    first_step: float
    smallest_step: float
    largest_step: float
    most_points: int

    def restored(self, x: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the parameter values at points with exact bounds, not rounded ones."""
        count = len(self.bounds)
        columns = np.array(values).reshape(len(x), count)
        for axis, (scaled, exact) in enumerate(zip(self.bounds, self.exact, strict=True)):
            for bound, value in zip(scaled, exact, strict=True):
                columns[x[:, axis - count] == bound, axis] = value
        return columns.reshape(np.shape(values))


class Reversal(NamedTuple):
    """An end of branches at which vectors at the points of a branch reverse.

    `vectors`: maps points (points, unknowns) to the vectors there, which are longer than
    `least` on both sides; `beside`: of the two lengths, that beside which the vector is
    almost 0 between.
    """

    vectors: Callable[[np.ndarray], np.ndarray]
    least: float = 0.0
    beside: Callable[..., float] = min


class TracerContext(NamedTuple):
    """Shared context of the tracers of a branch.

    `correct`: maps predictions and normals to points of the branch. `corner`: maps a
    point to the corner near it; `crossing`: maps a point, a step, and whether impacts
    begin or end within it, to the way over a grazing or a jump there; `watch`: maps points
    and tangents to what orbits do at their stops; `why`: maps the last point to the reason
    why no step is short enough. All are None if branches have none. `reversals`: by
    reason; beyond them the same solutions follow again, shifted by half of their period.
    `sides`: maps points (points, unknowns) to the side of a grazing on which each lies, or
    None.
    """

    limits: Limits
    correct: Callable
    corner: Callable[[np.ndarray], Place | None] | None = None
    crossing: Callable[[BranchPoint, float, bool], Crossing | None] | None = None
    watch: Callable[[np.ndarray, np.ndarray], Watched] | None = None
    why: Callable[[np.ndarray], Reason] | None = None
    reversals: Mapping[Reason, Reversal] = MappingProxyType({})
    sides: Callable[[np.ndarray], np.ndarray] | None = None


class Tracer:
    """Traces one branch in one direction."""

    def __init__(self, around: TracerContext, start: BranchPoint, code=RUNNING):
        self.limits, self.correct = around.limits, around.correct
        self.corner, self.crossing = around.corner, around.crossing
        self.watch, self.why = around.watch, around.why
        self.grazing: Any = None  # at which the branch ended
        self.reversals, self.sides = around.reversals, around.sides
        self.start = start
        self.points: list[BranchPoint] = []
        self.step = min(self.limits.first_step, _TOGETHER * self.limits.largest_step)
        self.code = code
        self.beyond: np.ndarray | None = None
        self.chord: tuple[np.ndarray, np.ndarray] | None = None  # of a reversal
        count = len(self.limits.bounds)
        self.low, self.high = np.array(self.limits.bounds).T
        values, tangents = start.x[-count:], start.tangent[-count:]
        leaves = np.where(tangents < 0, values == self.low, values == self.high)
        if code == RUNNING and leaves.any():
            self.code = Reason.PARAMETER_BOUND

    @property
    def here(self) -> BranchPoint:
        """The last point."""
        return self.points[-1] if self.points else self.start

    def plan(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return at most `most` predicted points and the normals of their planes.

        **Returns:** predictions and normals, each of shape (points, unknowns).
        """
        x, tangent = self.here.x, self.here.tangent
        if self.beyond is None:
            apart = min(self.step, self.limits.largest_step)
            count = int(self.step / apart * (1 + 1e-9))
            reach = apart * np.arange(1, 1 + min(count, most))[:, None]
            bent = reach * self._curvature()
            normals = tangent + bent
            lengths = np.sqrt((normals**2).sum(-1, keepdims=True))
            return x + reach * (tangent + bent / 2), normals / lengths
        axis, bound, share = self._bound()
        predicted = x + share * (self.beyond - x)
        predicted[axis] = bound
        return predicted[None], axis_of(len(x), axis)[None]

    def accept(self, found: Corrected) -> int:
        """Accept corrected points, adapt the step; return the number accepted."""
        here, before = self.here, len(self.points)
        count = (
            self._accept_points(found) if self.beyond is None else self._end_on_bound(found)
        )
        return (
            count if len(self.points) == before else self._end(found, here, before, count)
        )

    def _end(self, found, here: BranchPoint, before: int, count: int) -> int:
        """End the branch at the first reversal, or where segments are not resolved.

        **Returns:** the number of points that are kept of `count`.
        """
        path = [here, *self.points[before:]]
        lost = np.flatnonzero(~(found.unresolved[: len(path) - 1] < 1))
        ends = {Reason.TOO_FEW_SEGMENTS: int(lost[0]) if lost.size else None}
        for code, reversal in self.reversals.items():
            ends[code] = turning(path, *reversal)
        numbers = {code: number for code, number in ends.items() if number is not None}
        if not numbers:
            return count
        self.code = min(numbers, key=numbers.__getitem__)  # the first, also among equals
        number = numbers[self.code]
        self.chord = path[number].x, path[number + 1].x
        self.points = self.points[: before + number]
        return number

    def _accept_points(self, found) -> int:
        here = self.here
        tangents = np.vstack([here.tangent, found.tangent])
        chords = np.diff(np.vstack([here.x, found.x]), axis=0)
        lengths = np.sqrt((chords**2).sum(-1))
        fits = found.found & (found.miss < _TOO_FAR)
        sharp = (tangents[1:] * tangents[:-1]).sum(-1) < _TURN
        # A point of another part of the branch is not in the direction of the tangents.
        aside = (chords * tangents[:-1]).sum(-1) < _TURN * lengths
        aside |= (chords * tangents[1:]).sum(-1) < _TURN * lengths
        if self.sides and min(self.step, self.limits.largest_step) < _SHORT:
            sides = self.sides(np.vstack([here.x, found.x]))
            aside |= sides[1:] * sides[:-1] < 0
        values = found.x[:, -len(self.low) :]
        inside = ((self.low < values) & (values < self.high)).all(-1)
        good = fits & ~sharp & ~aside & inside
        count = len(good) if good.all() else int(np.argmin(good))
        whole = self._unbroken(found, lengths, count)
        broken, count = whole < count, whole
        for lane in range(count):
            new = BranchPoint(found.x[lane], found.tangent[lane], float(found.miss[lane]))
            self.points.append(new)
            if self._closes(new, lengths[lane]):
                self.code = Reason.CLOSED
                return lane + 1
        apart = min(self.step, self.limits.largest_step)
        if count == len(good):
            angle = np.arccos(min(linalg.dot(here.tangent, found.tangent[-1]), 1.0))
            target = count * apart * _growth(float(found.miss[-1]), float(angle))
            self.step = min(target, _TOGETHER * self.limits.largest_step)
        elif not broken and fits[count] and not sharp[count] and not aside[count]:
            self.beyond = found.x[count]
        elif count:
            self.step = count * apart
        else:
            self.step = apart
            turned = fits[0] and sharp[0] and self.corner and apart < _SHORT
            if turned:
                return self._pass_sharp_turn(found)
            return self._cross_or_shorten(broken)
        return count

    def _unbroken(self, found, lengths: np.ndarray, count: int) -> int:
        """Return the number of points up to which the impacts just go on."""
        if self.watch is None or not count:
            return count
        here = self.here
        x = np.vstack([here.x, found.x[:count]])
        seen = self.watch(x, np.vstack([here.tangent, found.tangent[:count]]))
        for chord in range(count):
            if seen.broken(chord, float(lengths[chord])):
                same = (seen.onsets[chord] == seen.onsets[chord + 1]).all()
                if not same or lengths[chord] > _SHORT:
                    return chord
        return count

    def _cross_or_shorten(self, broken: bool) -> int:
        """Continue beyond a grazing within the step, or with a shorter step."""
        shortest = self.step < 4 * self.limits.smallest_step
        passed = None
        if self.crossing is not None:
            passed = self.crossing(self.here, self.step, bool(broken or shortest))
        if passed is not None:
            self.points += passed.points
            self.beyond = None
            if passed.length:
                self.step = passed.length
            else:
                self.code, self.grazing = Reason.GRAZING, passed.grazing
            return len(passed.points)
        self.step /= 2 if broken else 4
        return 0 if self.step > self.limits.smallest_step else self._pass_or_end()

    def _closes(self, new: BranchPoint, length: float) -> bool:
        """Return whether the branch has closed at its start."""
        start = self.start
        near = len(self.points) > 2 and linalg.norm(new.x - start.x) < length
        return bool(near and linalg.dot(new.tangent, start.tangent) > _TURN)

    def _curvature(self) -> np.ndarray:
        """Return the change of the tangent per length, from the last two points."""
        near = [self.start, *self.points[-2:]][-2:]
        if len(near) < 2 or any(point.apart for point in near):
            return np.zeros_like(self.start.x)
        before, here = near
        chord = here.x - before.x
        return (here.tangent - before.tangent) / linalg.norm(chord)

    def _pass_sharp_turn(self, found) -> int:
        """Continue at a sharp turn: a corner at which an impact has vanished."""
        assert self.corner is not None
        x, tangent = found.x[0], found.tangent[0]
        corner = self.corner(x)
        if corner is None:
            self.step /= 4
            return 0 if self.step > self.limits.smallest_step else self._pass_corner(None)
        away = np.sign(linalg.dot(tangent, x - corner.x))
        before = self.here.tangent
        self.points.append(BranchPoint(corner.x, before, 0.0, True))
        self.points.append(BranchPoint(x, away * tangent, float(found.miss[0])))
        return 2

    def _pass_or_end(self) -> int:
        """Continue beyond a corner if no step is short enough, or end."""
        here = self.here
        corner = self.corner(here.x) if self.corner and not here.corner else None
        return self._pass_corner(corner)

    def _pass_corner(self, corner: Place | None) -> int:
        """Continue beyond a corner, on the side with an impact, or end."""
        beyond = corner and self._beyond(corner.x, corner.beyond)
        if corner is None or beyond is None:
            self.code = self.why(self.here.x) if self.why else Reason.DIVERGED
            return 0
        self.points += [BranchPoint(corner.x, self.here.tangent, 0.0, True), beyond]
        return 2

    def _beyond(self, start: np.ndarray, points: Callable) -> BranchPoint | None:
        """Return the farthest point beyond a start; its distance becomes the step."""
        beyond = np.array([points(reach) for reach in _REACHES])
        chords = beyond - start
        lengths = linalg.norm(chords)
        found = self.correct(beyond, chords / lengths[:, None])
        strayed = linalg.norm(found.x - beyond)
        good = np.flatnonzero(found.found & (strayed < 0.1 * lengths))
        if not good.size:
            return None
        best = good[0]
        self.step = lengths[best]
        return BranchPoint(found.x[best], found.tangent[best], strayed[best])

    def _end_on_bound(self, found) -> int:
        self.code = Reason.PARAMETER_BOUND
        if self.watch:
            length = linalg.norm(found.x[0] - self.here.x)
            ended = found.found[0] and self._unbroken(found, np.array([length]), 1)
            if not ended:
                self.code, self.beyond, self.step = RUNNING, None, float(length)
                return self._cross_or_shorten(broken=True)
        if not found.found[0]:
            return 0
        axis, bound, _ = self._bound()
        x, tangent = np.array(found.x[0]), found.tangent[0]
        x[axis] = bound
        tangent = tangent * np.sign(linalg.dot(tangent, self.here.tangent))
        self.points.append(BranchPoint(x, tangent, float(found.miss[0])))
        return 1

    def _bound(self) -> tuple[int, float, float]:
        """Return the first bound reached: axis, value, fraction of the step."""
        assert self.beyond is not None
        count = len(self.low)
        values, beyond = self.here.x[-count:], self.beyond[-count:]
        bounds = np.where(beyond <= self.low, self.low, self.high)
        out = (beyond <= self.low) | (beyond >= self.high)
        shares = np.full(count, np.inf)
        shares[out] = (bounds - values)[out] / (beyond - values)[out]
        axis = int(np.argmin(shares))
        return axis - count, bounds[axis], shares[axis]


def turning(
    path: Sequence[BranchPoint], vectors: Callable, least: float, beside: Callable
) -> int | None:
    """Return the index of the first chord of a path with a `Reversal`, or None."""
    every = vectors(np.array([point.x for point in path]))
    for number, (one, other) in enumerate(itertools.pairwise(every)):
        lengths = linalg.norm(one), linalg.norm(other)
        if linalg.dot(one, other) >= 0 or min(lengths) <= least:
            continue
        start, end = path[number : number + 2]
        ends, low, high = (start.tangent, end.tangent), 0.0, 1.0
        for _ in range(_SECANTS):
            change = one - other
            share = low + linalg.dot(one, change) / linalg.dot(change, change) * (
                high - low
            )
            between = vectors(on_curve(start.x, end.x - start.x, ends, share)[None])[0]
            if linalg.norm(between) < _NEARER * beside(lengths):
                return number
            if linalg.dot(between, change) > 0:
                low, one = share, between
            else:
                high, other = share, between
    return None


def on_curve(start: np.ndarray, chord: np.ndarray, ends: Sequence, fraction: Any):
    """Return points on the cubic Hermite curves of chords; `ends`: unit tangents."""
    first, last = (linalg.norm(chord)[..., None] * tangent for tangent in ends)
    bend, twist = first - chord, last - chord
    rest = fraction * (1 - fraction) * ((1 - fraction) * bend - fraction * twist)
    return start + fraction * chord + rest


def axis_of(size: int, axis: int) -> np.ndarray:
    """Return the unit vector along an axis."""
    normal = np.zeros(size)
    normal[axis] = 1.0
    return normal


def _growth(miss: float, angle: float) -> float:
    """Return the growth factor of the step size, for a quadratic predictor."""
    growth = min(np.cbrt(CORRECTION / max(miss, 1e-12)), ANGLE / max(angle, 1e-3))
    return float(np.clip(growth, 0.5, 2.0))
