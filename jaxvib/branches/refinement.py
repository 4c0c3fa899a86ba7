"""Chords of a branch that lead over a corner, followed again in smaller steps.

Beside a grazing a branch can turn sharply, with folds in a part far shorter than the steps
beside it. A predictor then misses that part and comes to the branch beyond it.
"""

from .. import linalg
from .tracer import GOING, BranchPoint, Surroundings, Tracer

# Steps that a chord is cut into, and how many it may take round what was left out.
_PARTS = 16
_MOST = 8 * _PARTS


def in_small_steps(
    around: Surroundings, first: BranchPoint, last: BranchPoint
) -> list[BranchPoint]:
    """Return points between two neighbours; none where the last is not come to."""
    length = float(linalg.norm(last.x - first.x)) / _PARTS
    limits = around.limits._replace(first_step=length, largest_step=length)
    tracer = Tracer(around._replace(limits=limits), first)
    while tracer.code == GOING and len(tracer.points) < _MOST:
        before = len(tracer.points)
        tracer.take(around.correct(*tracer.plan(_MOST - before)))
        for number, point in enumerate(tracer.points[before:], before):
            way = point.x - last.x
            if linalg.dot(way, last.tangent) >= 0 and linalg.norm(way) < 1.5 * length:
                return tracer.points[:number]
    return []
