"""Pseudo-arclength continuation: steps along many branches at once, round their folds.

Each branch is walked from one orbit both ways, every walk with a step and an end of its
own; all that still go on are corrected together (`branches.corrector`). A course is what a
corrector needs to know of a branch, or of a curve (`branches.curve_equations`). With a hard
stop a branch has corners, where it goes on in another direction (`branches.corners`), and
jumps (`branches.jumps`).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np

from ..ensemble import Reason, map_samples
from .corners import Corner
from .jumps import Jump

# Steps are chosen so that the first Newton step is this long, per size of the branch...
CORRECTION = 3e-3
# ... and the tangent turns by this angle; taken again where either is far more.
ANGLE = np.radians(10.0)
_TOO_FAR = 10 * CORRECTION
_TURN = np.cos(2.5 * ANGLE)
GOING = -1
# A branch may turn by any angle in a step shorter than this, if it has corners.
_SHORT = 1e-3
# Distances beyond a corner or a jump that are tried, per size of the motion.
_REACHES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
# A jump is met within this many of the smallest steps.
_BEFORE = 8


class Place(NamedTuple):
    """A point of a branch in scaled coordinates, and how far its predictor missed it.

    `corner`: whether the branch goes on from it in another direction; `jumped`: whether
    it was come to by a jump.
    """

    x: np.ndarray
    tangent: np.ndarray
    miss: float
    corner: bool = False
    jumped: bool = False


class Limits(NamedTuple):
    """Where walks stop: scaled bounds of the parameters, steps, points of a branch.

    `bounds`: of the last unknowns, one pair each.
    """

    bounds: tuple[tuple[float, float], ...]
    first_step: float
    smallest_step: float
    largest_step: float
    most_points: int


def both_ways(correct, courses, starts: np.ndarray, arounds: Sequence["Surroundings"]):
    """Return the two walks, up and down the last parameter, from the start of each branch.

    `courses` and `starts` (branches, unknowns) have a leading axis of branches; `arounds`:
    the surroundings of each.
    """
    normals = np.tile(_axis(starts.shape[1], -1), (len(starts), 1))
    found = map_samples(correct, (courses, starts, normals))
    up = found.tangent * np.sign(found.tangent[:, -1:])
    pairs = []
    for i, (start, around) in enumerate(zip(starts, arounds, strict=True)):
        code = GOING if found.found[i] else Reason.DIVERGED
        x = np.append(found.x[i, :-1], start[-1])
        pairs.append([Walk(around, Place(x, way * up[i], 0.0), code) for way in (1, -1)])
    return pairs


def walk(correct, courses, pairs, most_points: int, tell):
    """Follow every pair of walks until both have ended.

    **Returns:** for each branch its places in order and the reasons at both ends.
    """
    while True:
        going = [
            (lane, one)
            for lane, pair in enumerate(pairs)
            for one in pair
            if one.code == GOING
        ]
        if not going:
            break
        plans = [one.plan() for _, one in going]
        predicted, normals = (np.array(part) for part in zip(*plans, strict=True))
        lanes = np.array([lane for lane, _ in going])
        some = jax.tree.map(lambda leaf, lanes=lanes: leaf[lanes], courses)
        results = map_samples(correct, (some, predicted, normals))
        for position, (_, one) in enumerate(going):
            tell(one.take(lane_of(results, position)))
        for pair in pairs:
            _end_together(*pair, most_points)
    return [_joined(*pair) for pair in pairs]


def lane_of(tree, lane: int):
    """Return one lane of a tree of arrays."""
    return jax.tree.map(lambda leaf: leaf[lane], tree)


def correct_some(correct, course, predicted: np.ndarray, normals: np.ndarray):
    """Return several predictions of one branch, corrected."""
    number = len(predicted)
    courses = jax.tree.map(lambda leaf: np.stack([leaf] * number), course)
    return map_samples(correct, (courses, predicted, normals))


def _axis(size: int, axis: int) -> np.ndarray:
    normal = np.zeros(size)
    normal[axis] = 1.0
    return normal


def _growth(miss: float, angle: float) -> float:
    """Return by what factor the next step may be longer; the predictor is quadratic."""
    wanted = min(np.cbrt(CORRECTION / max(miss, 1e-12)), ANGLE / max(angle, 1e-3))
    return float(np.clip(wanted, 0.5, 2.0))


def _end_together(above: "Walk", below: "Walk", most: int) -> None:
    """End both walks of a branch where one has come round, or points are enough."""
    if Reason.CLOSED in (above.code, below.code):
        kept, other = (above, below) if above.code == Reason.CLOSED else (below, above)
        other.code, other.places = kept.code, []
    if 1 + len(above.places) + len(below.places) >= most:
        for one in (above, below):
            one.code = Reason.POINT_LIMIT if one.code == GOING else one.code


def _joined(above: "Walk", below: "Walk"):
    start = above.start
    turned = [place._replace(tangent=-place.tangent) for place in below.places[::-1]]
    return [*turned, start, *above.places], (below.code, above.code)


class Surroundings(NamedTuple):
    """What all walks of a branch have in common.

    `correct`: from predictions and normals to points of the branch. `corner`: from a point
    to the corner near it; `jump`: from a point, its tangent and a reach to the jump within
    it. Both None where branches have none.
    """

    limits: Limits
    correct: Callable
    corner: Callable[[np.ndarray], Corner | None] | None = None
    jump: Callable[[np.ndarray, np.ndarray, float], Jump | None] | None = None


class Walk:
    """One way along one branch."""

    def __init__(self, around: Surroundings, start: Place, code=GOING):
        self.limits, self.correct, self.corner, self.jump = around
        self.start = start
        self.places: list[Place] = []
        self.step = self.limits.first_step
        self.code = code
        self.beyond: np.ndarray | None = None
        count = len(self.limits.bounds)
        self.low, self.high = np.array(self.limits.bounds).T
        values, ways = start.x[-count:], start.tangent[-count:]
        leaves = np.where(ways < 0, values == self.low, values == self.high)
        if code == GOING and leaves.any():
            self.code = Reason.PARAMETER_BOUND

    @property
    def here(self) -> Place:
        """The last point."""
        return self.places[-1] if self.places else self.start

    def plan(self):
        """Return the point predicted and the normal of the plane that it is sought in."""
        x, tangent = self.here.x, self.here.tangent
        if self.beyond is None:
            bent = self.step * self._bend()
            normal = tangent + bent
            return x + self.step * (tangent + bent / 2), normal / np.linalg.norm(normal)
        axis, bound, share = self._bound()
        predicted = x + share * (self.beyond - x)
        predicted[axis] = bound
        return predicted, _axis(len(x), axis)

    def take(self, result) -> int:
        """Go on from what the corrector has made of the plan; return the points found."""
        if self.beyond is not None:
            return self._land(result)
        miss, new = float(result.miss), Place(result.x, result.tangent, float(result.miss))
        fits = result.found and miss < _TOO_FAR
        cosine = result.tangent @ self.here.tangent
        sharp, angle = cosine < _TURN, np.arccos(min(cosine, 1.0))
        if fits and sharp and self.corner and self.step < _SHORT:
            return self._turn(result, self.corner(result.x))
        if not fits or sharp:
            self.step /= 4
            return self._stop() if self.step < self.limits.smallest_step else 0
        values = result.x[-len(self.low) :]
        if not ((self.low < values) & (values < self.high)).all():
            self.beyond = result.x
            return 0
        self.places.append(new)
        start = self.start
        near = np.linalg.norm(new.x - start.x) < self.step
        if len(self.places) > 2 and near and new.tangent @ start.tangent > _TURN:
            self.code = Reason.CLOSED
        self.step = min(self.step * _growth(miss, angle), self.limits.largest_step)
        return 1

    def _bend(self) -> np.ndarray:
        """Return how the tangent changes per length, from the last two points."""
        near = [self.start, *self.places][-2:]
        if len(near) < 2 or any(place.corner or place.jumped for place in near):
            return np.zeros_like(self.start.x)
        before, here = near
        return (here.tangent - before.tangent) / np.linalg.norm(here.x - before.x)

    def _turn(self, result, corner: Corner | None) -> int:
        """Go on at a sharp turn, which is a corner that an impact has ended at."""
        if corner is None:
            self.step /= 4
            return 0 if self.step > self.limits.smallest_step else self._pass(None)
        away = np.sign(result.tangent @ (result.x - corner.x))
        before = self.here.tangent
        self.places.append(Place(corner.x, before, 0.0, True))
        self.places.append(Place(result.x, away * result.tangent, float(result.miss)))
        return 2

    def _stop(self) -> int:
        """Go on where no step is short enough, beyond a jump or a corner; or end."""
        here = self.here
        if self.jump and not here.jumped:
            jump = self.jump(here.x, here.tangent, _BEFORE * self.limits.smallest_step)
            beyond = jump and self._beyond(jump.x, jump.beyond)
            if beyond:
                self.places.append(beyond._replace(jumped=True))
                return 1
        corner = self.corner(here.x) if self.corner and not here.corner else None
        return self._pass(corner)

    def _pass(self, corner: Corner | None) -> int:
        """Go on beyond a corner that the walk has come to, on the side with an impact."""
        beyond = corner and self._beyond(corner.x, corner.beyond)
        if corner is None or beyond is None:
            self.code = Reason.DIVERGED
            return 0
        self.places += [Place(corner.x, self.here.tangent, 0.0, True), beyond]
        return 2

    def _beyond(self, start: np.ndarray, points: Callable) -> Place | None:
        """Return the farthest place found beyond a start, and take its distance as step."""
        beyond = np.array([points(reach) for reach in _REACHES])
        ways = beyond - start
        lengths = np.linalg.norm(ways, axis=-1)
        found = self.correct(beyond, ways / lengths[:, None])
        strayed = np.linalg.norm(found.x - beyond, axis=-1)
        good = np.flatnonzero(found.found & (strayed < 0.1 * lengths))
        if not good.size:
            return None
        best = good[0]
        self.step = lengths[best]
        return Place(found.x[best], found.tangent[best], strayed[best])

    def _land(self, result) -> int:
        self.code = Reason.PARAMETER_BOUND
        if not result.found:
            return 0
        axis, bound, _ = self._bound()
        x = np.array(result.x)
        x[axis] = bound
        tangent = result.tangent * np.sign(result.tangent @ self.here.tangent)
        self.places.append(Place(x, tangent, float(result.miss)))
        return 1

    def _bound(self) -> tuple[int, float, float]:
        """Return the bound met first: its axis, its value, the part of the way to it."""
        assert self.beyond is not None
        count = len(self.low)
        values, beyond = self.here.x[-count:], self.beyond[-count:]
        bounds = np.where(beyond <= self.low, self.low, self.high)
        out = (beyond <= self.low) | (beyond >= self.high)
        shares = np.full(count, np.inf)
        shares[out] = (bounds - values)[out] / (beyond - values)[out]
        axis = int(np.argmin(shares))
        return axis - count, bounds[axis], shares[axis]
