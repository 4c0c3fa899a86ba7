"""The test function of grazing: the depth of the contact that exists on one side only.

The onset or end of an elastic contact between two points brackets a grazing. At those of
hard stops the branch has corners (`problems.grazing`).
"""

import numpy as np
import scipy  # loads submodules lazily: .interpolate takes 0.3 s

from ... import linalg
from ..tracing.test_functions import EvaluatedPoints, TestFunction

# Offsets of points before a grazing, where the gap changes smoothly: three of them far
# away, which reduces the effect of rounding, or all near.
_BEFORE = np.array([[1e-3, 1e-2, 2e-2, 3e-2], [1e-3, 2e-3, 3e-3, 4e-3]])
# Offsets, and their largest distance, relative to the chord, on a smooth branch.
_SIDES, _SMOOTH = np.array([-1e-3, 1e-3]), 0.05


def _changes(seen: EvaluatedPoints) -> np.ndarray:
    return (seen.elastic[1:] != seen.elastic[:-1]).any(-1)


def _depth(seen: EvaluatedPoints, first: EvaluatedPoints) -> np.ndarray:
    same = seen.solutions.contacts == first.solutions.contacts
    return np.where(same, -1, 1) * seen.solutions.grazing_margin


def _refined(search, chord: int, fraction: float, success: bool):
    touching = _touch(search, chord, fraction)
    smooth = touching is not None or (success and _splits(search, chord, fraction))
    return touching, smooth


def _touch(search, chord: int, fraction: float) -> np.ndarray | None:
    """Return the point of a grazing near a fraction of its chord, or None.

    The gap is extrapolated to 0 from the side without contact: on the other side, a
    contact counts only from some depth on, and the stiffness changes abruptly.
    """
    contacts, after = search.ends.contacts[chord]
    if search.problem.has_stops:
        ends = search.starts[chord] + [[0.0], [1.0]] * search.chords[chord]
        contacts, after = _elastic(search, ends, np.full(2, chord))[0]
    side = -1 if contacts < after else 1
    for before in _BEFORE:
        fractions = fraction + side * before
        same = np.full(len(fractions), chord)
        found = search.corrected(fractions, same)
        numbers, heights = _elastic(search, found.x, same)
        apart = numbers == min(contacts, after)
        if not (found.found.all() and apart.all() and (np.diff(heights) > 0).all()):
            continue
        at_zero = scipy.interpolate.BarycentricInterpolator(heights, fractions)(0.0)
        if abs(at_zero - fraction) > before[0]:
            continue
        touching = search.corrected(np.atleast_1d(at_zero), same[:1])
        if touching.found[0]:
            return touching.x[0]
    return None


def _elastic(search, x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of elastic contacts at points, and the smallest |depth| of turns.

    Neither rebounds nor turns of a body that comes to rest on a hard stop are certain.
    """
    if search.problem.has_stops:
        seen = search.problem.watched(search.branches[which], x)
        return seen.elastic.sum(-1), seen.height
    orbits = search.evaluated(x, which)
    return orbits.contacts, np.asarray(orbits.grazing_margin)


def _splits(search, chord: int, fraction: float) -> bool:
    """Return whether a contact splits in two there, so that the motion is smooth.

    If the motion jumps, the chord passes over a corner of the branch.
    """
    neighbours = search.corrected(fraction + _SIDES, np.full(2, chord))
    jump = linalg.norm(neighbours.x[1] - neighbours.x[0])
    smooth = jump < _SMOOTH * linalg.norm(search.chords[chord])
    if search.problem.has_stops:
        smooth &= len(set(_elastic(search, neighbours.x, np.full(2, chord))[0])) == 2
    return bool(neighbours.found.all() and smooth)


GRAZING_TEST = TestFunction(
    "grazing",
    _depth,
    lambda seen: seen.solutions.grazing_margin,
    tolerance=np.inf,
    accuracy=1e-6,
    changes=_changes,
    refine=_refined,
)
