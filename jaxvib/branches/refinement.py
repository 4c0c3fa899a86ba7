"""Refinement of branch segments that skip a corner.

Near grazing a branch can turn sharply, with folds in a part far shorter than the
neighbouring steps. The predictor then skips that part and lands on the branch beyond
it.
"""

from .. import linalg
from .tracer import RUNNING, BranchPoint, Tracer, TracerContext

# Steps per chord, and the largest number of steps along the skipped part.
_PARTS = 16
_MOST = 8 * _PARTS


def in_small_steps(
    around: TracerContext, first: BranchPoint, last: BranchPoint
) -> list[BranchPoint]:
    """Return points between two neighbours; none if the last is not reached."""
    length = float(linalg.norm(last.x - first.x)) / _PARTS
    limits = around.limits._replace(first_step=length, largest_step=length)
    tracer = Tracer(around._replace(limits=limits), first)
    while tracer.code == RUNNING and len(tracer.points) < _MOST:
        before = len(tracer.points)
        tracer.accept(around.correct(*tracer.plan(_MOST - before)))
        for number, point in enumerate(tracer.points[before:], before):
            chord = point.x - last.x
            if linalg.dot(chord, last.tangent) >= 0 and linalg.norm(chord) < 1.5 * length:
                return tracer.points[:number]
    return []
