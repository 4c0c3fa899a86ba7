"""Many branches followed at once, each with its own steps, ends and bifurcations."""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from ..ensemble import map_samples
from .arclength import Limits, both_ways, lane_of, walk
from .bifurcation import BifurcationPoint
from .branch import Branch, branch_of
from .corners import corner_near, has_corners
from .corrector import Course, corrector, looker, spreader, system_of
from .crossings import crossings_of, locate
from .shooting import scales


class Frame(NamedTuple):
    """What branches have in common: the static part of their systems and the path."""

    static: Any
    path: str
    courses: Course

    def corrector(self):
        """Return the function of a lane that brings a prediction onto its branch."""
        return corrector(self.static, self.path)

    def has_corners(self) -> bool:
        """Return whether the branches can have corners."""
        return has_corners(system_of(lane_of(self.courses, 0), self.static))

    def corner(self):
        """Return the function of a course and a point that gives the corner nearby."""
        return functools.partial(corner_near, self.static, self.path)

    def looker(self):
        """Return the function of a lane that examines a point of its branch."""
        return looker(self.static, self.path)


def frame_of(lanes, static, path, span, periods, rtol, factor, segments) -> Frame:
    """Return the frame of branches from lanes (leaves, states) of their systems."""

    def units_of(lane):
        leaves, state = lane
        return scales(eqx.combine(leaves, static), state)

    each = np.asarray(jax.vmap(units_of)(lanes))
    number = len(each)
    units = np.column_stack([*[each] * segments, np.full(number, span)])
    whole = np.full(number, periods, np.int32)
    rtols = np.full(number, rtol, float)
    course = Course(lanes[0], units, whole, rtols, rtols * factor, 30 * rtols)
    return Frame(static, path, course)


def arcs(frame: Frame, states, values, limits, segments, tell) -> list[Branch]:
    """Follow the branch of each orbit by its arc length."""
    starts = map_samples(
        spreader(frame.static, frame.path, segments), (frame.courses, states, values)
    )
    corner = frame.corner() if frame.has_corners() else None
    pairs = both_ways(frame.corrector(), frame.courses, starts, limits, corner)
    return walked(frame, pairs, limits, tell)


def walked(frame: Frame, pairs, limits: Limits, tell) -> list[Branch]:
    """Return the branches that pairs of walks follow, every point examined."""
    found_ways = walk(frame.corrector(), frame.courses, pairs, limits.most_points, tell)
    branches = [places for places, _ in found_ways]
    owners = np.repeat(np.arange(len(branches)), [len(places) for places in branches])
    courses = jax.tree.map(lambda leaf: leaf[owners], frame.courses)
    x = np.array([place.x for places in branches for place in places])
    found, _, every = map_samples(frame.looker(), (courses, x))
    # The bounds come back from scaled coordinates with the rounding of a division.
    for bound in limits.bounds[0]:
        found[x[:, -1] == bound] = bound * (frame.courses.units[0, -1])
    orbits = [
        jax.tree.map(lambda leaf, b=b: leaf[owners == b], every)
        for b in range(len(branches))
    ]
    points = crossed(frame, branches, orbits)
    return [
        branch_of(
            frame.path,
            found[owners == b],
            orbits[b],
            [place.miss for place in places],
            ends,
            points[b],
        )
        for b, (places, ends) in enumerate(found_ways)
    ]


def crossed(frame: Frame, branches, orbits) -> list[list[BifurcationPoint]]:
    """Return the bifurcations of each branch of places, along it."""
    crossings = []
    for b, (places, own) in enumerate(zip(branches, orbits, strict=True)):
        tangents = np.array([place.tangent[-1] for place in places])
        multipliers = np.asarray(own.floquet_multipliers)
        corners = np.array([place.corner for place in places])
        contacts = None if frame.has_corners() else np.asarray(own.contacts)
        crossings += crossings_of(b, tangents, multipliers, contacts, corners)
    crossings.sort(key=lambda crossing: crossing[:2])
    points = locate(
        frame.corrector(), frame.looker(), frame.courses, branches, crossings, frame.path
    )
    found: list[list[BifurcationPoint]] = [[] for _ in branches]
    for crossing, point in zip(crossings, points, strict=True):
        if point is not None:
            found[crossing.branch].append(point)
    return found
