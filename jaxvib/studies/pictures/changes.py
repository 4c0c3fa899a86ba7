"""What changed from one run to another over the same grid: regimes and peak force."""

from collections.abc import Sequence

import numpy as np

from ...drawing import colours
from ..store.finished import Run
from .picture import Chart, Classes, Picture, Scale, Share
from .regimes import sort_by_regime
from .swept_planes import planes

_CLASSES = Classes(
    ("same regime", "another regime", "failed in one"),
    (colours.SAME, colours.OTHER, colours.FAILED),
)
_MOST = 8.0  # a ratio of forces beyond this, or its inverse, has the scale's last colour


def change_maps(runs: Sequence[Run]) -> list[Picture]:
    """Return the map of changes between two runs; none unless their grids are the same."""
    if len(runs) < 2 or not _same_grid(*runs):
        return []
    before, after = (run.name for run in runs)
    plane = planes(runs)[1]
    old, new = sort_by_regime(runs).exact
    failed = runs[0].failed | runs[1].failed
    members = np.where(failed, 2, old != new)
    ratio = _force_ratio(runs)
    scale = Scale(f"peak force, {after} / {before}", "balance", 1 / _MOST, _MOST, log=True)
    counts = np.bincount(members, minlength=3)
    shares = tuple(
        Share(name, colour, (int(count),))
        for name, colour, count in zip(
            _CLASSES.names, _CLASSES.colours, counts, strict=True
        )
        if count
    )
    return [
        Picture(
            "changes",
            f"What changed from {before} to {after}",
            "Left: where the regime is another one. Right: the ratio of the peak contact "
            f"forces where both have contact, in colour up to {_MOST:g} times.",
            f"{counts[1]} of {runs[0].size} samples changed their regime.",
            (
                Chart(
                    plane.x, plane.y, plane.cells(members.astype(float), _CLASSES, versus=0)
                ),
                Chart(plane.x, plane.y, plane.cells(ratio, scale, versus=0)),
            ),
            shares,
            plane.choice,
        )
    ]


def _same_grid(one: Run, other: Run) -> bool:
    return one.grid == other.grid and all(
        np.array_equal(one.field(path), other.field(path)) for path in one.paths
    )


def _force_ratio(runs: Sequence[Run]) -> np.ndarray:
    before, after = (run.field("max_contact_force") for run in runs)
    both = (before > 0) & (after > 0)
    ratio = np.divide(after, before, out=np.full(len(both), np.nan), where=both)
    return np.clip(ratio, 1 / _MOST, _MOST)
