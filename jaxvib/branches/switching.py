"""Branch switching at bifurcations of periodic orbits."""

import jax
import numpy as np

from .. import linalg
from ..ensemble import Reason
from ..foundation.arrays import partition_arrays
from .arclength import correct_some, lane_of
from .bifurcation_results import BifurcationPoint
from .settings import ContinuationSettings
from .tracer import RUNNING, BranchPoint, Limits, Tracer, TracerContext
from .tracing import Frame, frame_of

# Relative distances of the first point from the bifurcation, tried in order.
_REACHES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
FROM = {"period_doubling": 2, "branch_point": 1}


def frame_at(
    system, point: BifurcationPoint, span: float, settings: ContinuationSettings
) -> Frame:
    """Return the frame of the branch that emanates from a bifurcation."""
    leaves, static = partition_arrays(system)
    nothing = np.zeros(point.state.size // 2)
    one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], (leaves, point.state, nothing))
    periods = FROM[point.kind] * point.periods
    return frame_of(one, static, point.path, span, periods, settings)


def pair_at(frame: Frame, point: BifurcationPoint, limits: Limits, way: int):
    r"""Return tracers from a bifurcation along the eigenvector $M q = \pm q$.

    **Raises:** `ValueError` if no orbit is found nearby.
    """
    problem = lane_of(frame.problems, 0)
    x = np.append(point.state, point.parameter) / problem.units
    axis = np.zeros_like(x)
    axis[-1] = 1.0
    # The monodromy matrix of the original orbit, before its period is doubled.
    once = problem._replace(periods=np.asarray(point.periods))
    matrix = correct_some(frame.corrector(), once, x[None], axis[None]).monodromy[0]
    scaled = matrix * problem.units[None, :-1] / problem.units[:-1, None]
    target = -1.0 if point.kind == "period_doubling" else 1.0
    direction = linalg.eigenvector_near(scaled, target).real
    away = np.append(direction / linalg.norm(direction), 0.0)
    around = frame.around(0, limits)
    start = first_point_off(around, x, way * np.sign(away[np.argmax(np.abs(away))]) * away)
    if start is None:
        raise ValueError(f"{point.kind} at {float(point.parameter):g}: no branch is found")
    return [Tracer(around, start, RUNNING), Tracer(around, start, Reason.BRANCHED)]


def first_point_off(around: TracerContext, x, away) -> BranchPoint | None:
    """Return the first point of the branch that emanates along a direction, or None."""
    predicted = np.array([x + reach * away for reach in _REACHES])
    found = around.correct(predicted, np.array([away] * len(_REACHES)))
    strayed = linalg.norm(found.x - predicted)
    good = np.flatnonzero(found.found & (strayed < 0.5 * np.array(_REACHES)))
    if not good.size:
        return None
    best = good[0]
    outward = np.sign(linalg.dot(found.tangent[best], found.x[best] - x))
    return BranchPoint(found.x[best], outward * found.tangent[best], float(strayed[best]))
