"""Pseudo-arclength continuation: steps along many branches at once, round their folds.

Each branch is walked from one orbit both ways, every walk with a step and an end of its
own; all that still go on are corrected together (`orbits.corrector`).
"""

from typing import NamedTuple

import jax
import numpy as np

from ..ensemble import Reason, map_samples
from .corrector import Course

# Steps are chosen so that the first Newton step is this long, per size of the branch...
CORRECTION = 3e-3
# ... and taken again where it is ten times that, or where the tangent turns by more.
_TOO_FAR = 10 * CORRECTION
_TURN = np.cos(np.radians(25.0))
_GOING = -1


class Place(NamedTuple):
    """A point of a branch in scaled coordinates, and how far its predictor missed it."""

    x: np.ndarray
    tangent: np.ndarray
    miss: float


class Limits(NamedTuple):
    """Where walks stop: scaled bounds of the parameter, steps, points of a branch."""

    bounds: tuple[float, float]
    first_step: float
    smallest_step: float
    largest_step: float
    most_points: int


def walk(correct, courses: Course, starts: np.ndarray, limits: Limits, tell):
    """Follow every branch both ways from its start until both walks have ended.

    `courses` and `starts` (branches, unknowns) have a leading axis of branches.
    **Returns:** for each branch its places in order and the reasons at both ends.
    """
    number = len(starts)
    found = map_samples(correct, (courses, starts, _last_axis(starts)))
    up = found.tangent * np.sign(found.tangent[:, -1:])
    walks = [
        _Walk(limits, Place(starts[i], way * up[i], 0.0), bool(found.found[i]))
        for way in (1, -1)
        for i in range(number)
    ]
    while True:
        going = [w for w, one in enumerate(walks) if one.code == _GOING]
        if not going:
            break
        lanes = np.array(going) % number
        plans = [walks[w].plan() for w in going]
        predicted, normals = (np.array(part) for part in zip(*plans, strict=True))
        some = jax.tree.map(lambda leaf, lanes=lanes: leaf[lanes], courses)
        results = map_samples(correct, (some, predicted, normals))
        for position, w in enumerate(going):
            result = jax.tree.map(lambda leaf, p=position: leaf[p], results)
            tell(walks[w].take(result))
        for i in range(number):
            _end_together(walks[i], walks[number + i], limits.most_points)
    return [_joined(walks[i], walks[number + i]) for i in range(number)]


def _last_axis(starts: np.ndarray) -> np.ndarray:
    normals = np.zeros_like(starts)
    normals[:, -1] = 1.0
    return normals


def _end_together(above: "_Walk", below: "_Walk", most: int) -> None:
    """End both walks of a branch where one has come round, or points are enough."""
    if Reason.CLOSED in (above.code, below.code):
        kept, other = (above, below) if above.code == Reason.CLOSED else (below, above)
        other.code, other.places = kept.code, []
    if 1 + len(above.places) + len(below.places) >= most:
        for one in (above, below):
            one.code = Reason.POINT_LIMIT if one.code == _GOING else one.code


def _joined(above: "_Walk", below: "_Walk"):
    start = above.start
    turned = [place._replace(tangent=-place.tangent) for place in below.places[::-1]]
    return [*turned, start, *above.places], (below.code, above.code)


class _Walk:
    """One way along one branch."""

    def __init__(self, limits: Limits, start: Place, found: bool):
        self.limits, self.start = limits, start
        self.places: list[Place] = []
        self.step = limits.first_step
        self.code = _GOING if found else Reason.DIVERGED
        self.beyond: np.ndarray | None = None
        way = np.sign(start.tangent[-1])
        on_bound = limits.bounds[0] if way < 0 else limits.bounds[1]
        if found and start.x[-1] == on_bound:
            self.code = Reason.PARAMETER_BOUND

    @property
    def here(self) -> Place:
        return self.places[-1] if self.places else self.start

    def plan(self):
        """Return the point predicted and the normal of the plane that it is sought in."""
        x, tangent, _ = self.here
        if self.beyond is None:
            return x + self.step * tangent, tangent
        bound = self._bound(self.beyond)
        share = (bound - x[-1]) / (self.beyond[-1] - x[-1])
        predicted = x + share * (self.beyond - x)
        predicted[-1] = bound
        return predicted, _last_axis(x[None])[0]

    def take(self, result) -> int:
        """Go on from what the corrector has made of the plan; return the points found."""
        if self.beyond is not None:
            return self._land(result, self._bound(self.beyond))
        low, high = self.limits.bounds
        miss, new = float(result.miss), Place(result.x, result.tangent, float(result.miss))
        fits = result.found and miss < _TOO_FAR
        if not fits or result.tangent @ self.here.tangent < _TURN:
            self.step /= 4
            if self.step < self.limits.smallest_step:
                self.code = Reason.DIVERGED
            return 0
        if not low < result.x[-1] < high:
            self.beyond = result.x
            return 0
        self.places.append(new)
        start = self.start
        near = np.linalg.norm(new.x - start.x) < self.step
        if len(self.places) > 2 and near and new.tangent @ start.tangent > _TURN:
            self.code = Reason.CLOSED
        growth = np.clip(np.sqrt(CORRECTION / max(miss, 1e-12)), 0.5, 2.0)
        self.step = min(self.step * growth, self.limits.largest_step)
        return 1

    def _land(self, result, bound: float) -> int:
        self.code = Reason.PARAMETER_BOUND
        if not result.found:
            return 0
        x = np.append(result.x[:-1], bound)
        tangent = result.tangent * np.sign(result.tangent @ self.here.tangent)
        self.places.append(Place(x, tangent, float(result.miss)))
        return 1

    def _bound(self, beyond: np.ndarray) -> float:
        low, high = self.limits.bounds
        return low if beyond[-1] <= low else high
