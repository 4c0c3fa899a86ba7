"""Lines of branches: their styles and marks, places on them, and the limit of stability."""

import numpy as np

from .chart import Line

# Style and name of a line by the verdict on its points.
STYLES = {1: ("solid", "stable"), 0: ("dash", "unstable"), -1: ("dot", "undecided")}
SYMBOLS = {
    "fold": "triangle-up",
    "period_doubling": "circle",
    "neimark_sacker": "hexagon",
    "hopf": "diamond",
    "branch_point": "star",
    "grazing": "cross",
}


def unit_circle(*, legend: bool = True) -> Line:
    """Return the limit of stability in the plane of multipliers."""
    angle = np.linspace(0.0, 2 * np.pi, 181)
    return Line(np.cos(angle), np.sin(angle), "stability limit", 3, "dot", legend=legend)


def chord_verdicts(verdicts: np.ndarray) -> np.ndarray:
    """Return the verdict of each chord of a line: that of both ends, -1 if they differ."""
    return np.where(verdicts[1:] == verdicts[:-1], verdicts[1:], -1)


def position_on(points: np.ndarray, mark: np.ndarray) -> float:
    """Return the position of a mark on the line through points (points, n).

    2.25 is a quarter of the way from point 2 to point 3; -0.5 and len(points) - 0.5 are
    before the first and behind the last point.
    """
    if len(points) < 2:
        return -0.5
    size = np.ptp(points, axis=0)
    size = np.where(size > 0, size, np.maximum(np.abs(points).max(axis=0), 1e-300))
    start, along = points[:-1] / size, np.diff(points, axis=0) / size
    squares = np.maximum(np.sum(along**2, axis=1), 1e-300)
    shares = np.sum((mark / size - start) * along, axis=1) / squares
    nearest = start + np.clip(shares, 0.0, 1.0)[:, None] * along
    apart = np.nan_to_num(np.sum((mark / size - nearest) ** 2, axis=1), nan=np.inf)
    best = int(np.argmin(apart))
    last = len(points) - 2
    if (best == 0 and shares[0] < 0) or (best == last and shares[last] > 1):
        return -0.5 if best == 0 and shares[0] < 0 else last + 1.5
    return best + float(np.clip(shares[best], 0.0, 1.0))
