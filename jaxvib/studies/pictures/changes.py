"""Maps of changes between two runs over the same grid: regimes and peak force."""

from collections.abc import Sequence

import numpy as np

from ...drawing import colours
from ..store.finished_study import Run
from .picture import Chart, Classes, Picture, Scale, Share
from .regimes import sort_by_regime
from .swept_planes import planes

_CLASSES = Classes(
    ("same regime", "different regime", "failed in one"),
    (colours.SAME, colours.OTHER, colours.FAILED),
)
_MOST = 8.0  # the colour scale covers force ratios from 1/8 to 8


def change_maps(runs: Sequence[Run]) -> list[Picture]:
    """Return a map of changes from the first run to each other run over its grid."""
    return [
        _changes(runs, number)
        for number in range(1, len(runs))
        if _same_grid(runs[0], runs[number])
    ]


def _changes(runs: Sequence[Run], number: int) -> Picture:
    old, new = runs[0], runs[number]
    plane = planes(runs)[number]
    exact = sort_by_regime(runs).exact
    members = np.where(old.failed | new.failed, 2, exact[0] != exact[number])
    ratio = _force_ratio(old, new)
    label = f"peak force, {new.name} / {old.name}"
    scale = Scale(label, "balance", 1 / _MOST, _MOST, log=True)
    counts = np.bincount(members, minlength=3)
    shares = tuple(
        Share(name, colour, (int(count),))
        for name, colour, count in zip(
            _CLASSES.names, _CLASSES.colours, counts, strict=True
        )
        if count
    )
    classes = plane.cells(members.astype(float), _CLASSES, versus=0)
    return Picture(
        "changes" if len(runs) == 2 else f"changes_{number}",
        f"Changes from {old.name} to {new.name}",
        "Left: samples whose regime differs. Right: ratio of the peak contact "
        f"forces where both have contact, colour scale up to {_MOST:g} times.",
        f"{counts[1]} of {old.size} samples have a different regime.",
        (
            Chart(plane.x, plane.y, classes),
            Chart(plane.x, plane.y, plane.cells(ratio, scale, versus=0)),
        ),
        shares,
        plane.choice,
        plane.slices,
    )


def _same_grid(one: Run, other: Run) -> bool:
    return one.grid == other.grid and all(
        np.array_equal(one.field(path), other.field(path)) for path in one.paths
    )


def _force_ratio(old: Run, new: Run) -> np.ndarray:
    before, after = (run.field("max_contact_force") for run in (old, new))
    both = (before > 0) & (after > 0)
    ratio = np.divide(after, before, out=np.full(len(both), np.nan), where=both)
    return np.clip(ratio, 1 / _MOST, _MOST)
