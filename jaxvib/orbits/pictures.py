"""Charts of attractors: basins of attraction and bifurcation diagrams."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..drawing import Axis, Cells, Chart, Classes, Notes, Points, colours
from ..drawing.labels import with_unit
from ..ensemble import Reason
from ..foundation.quantity import Range, check_range

Basins = BifurcationDiagram = Any  # their modules import this one
_SYMBOLS = ("diamond", "star", "triangle-up", "hexagon", "square", "circle")


def moved_components(basins: Basins) -> list[int]:
    """Return the components in which initial states differ."""
    return np.flatnonzero(np.ptp(basins.starts, axis=0)).tolist()


def basins_chart(basins: Basins, components: tuple[int, int] | None) -> Chart:
    """Return the chart of `Basins`, see `Basins.plot`."""
    starts = basins.starts
    if components is None:
        found = moved_components(basins)
        if len(found) != 2:
            raise ValueError(
                f"components = None where {len(found)} of them differ; allowed: two, each "
                f"in [0, {starts.shape[1] - 1}]"
            )
        components = found[0], found[1]
    inside = Range(at_least=0, at_most=starts.shape[1] - 1)
    check_range("components", list(components), "", inside)
    across, up = components
    names = basins.attractors.names
    paint = basin_classes(names)
    members = np.where(basins.label < 0, len(names), basins.label).astype(float)
    layers = [_field(starts[:, across], starts[:, up], members, paint)]
    for i, name in enumerate(names):
        points = basins.attractors.points[i]
        layers.append(attractor_marks(points, (across, up), i, name, name))
    x, y = (Axis(_at_start(basins.labels, component)) for component in components)
    return Chart(x, y, tuple(layers))


def basin_classes(names: Sequence[str]) -> Classes:
    """Return the colours of the basins of named attractors, and of undecided states."""
    palette = colours.LINES["light"]
    hues = [palette[i % len(palette)] for i in range(len(names))]
    return Classes((*names, "undecided"), (*hues, colours.UNDECIDED))


def attractor_marks(
    points: np.ndarray,
    components: tuple[int, int],
    number: int,
    text: str,
    name: str,
    most: int | None = None,
) -> Notes:
    """Return marks at the states of an attractor, (points, n), at most some of them."""
    known = points[np.isfinite(points).all(axis=1)][:most]
    x, y = (known[:, component] for component in components)
    return Notes(x, y, (text,) * len(known), name, _SYMBOLS[number % len(_SYMBOLS)])


def _field(x, y, members, paint) -> Cells | Points:
    """Return states as cells if they fill a grid, as marks otherwise."""
    across, column = np.unique(x, return_inverse=True)
    up, row = np.unique(y, return_inverse=True)
    cells = np.full((len(up), len(across)), np.nan)
    cells[row, column] = members
    if len(members) == cells.size and np.isfinite(cells).all() and min(cells.shape) > 1:
        return Cells(across, up, cells, paint)
    return Points(x, y, members, paint)


def diagram_chart(diagram: BifurcationDiagram, component: int) -> Chart:
    """Return the chart of a `BifurcationDiagram`, see its `plot`."""
    last = diagram.states.shape[2] - 1
    check_range("component", component, "", Range(at_least=0, at_most=last))
    states = diagram.states[:, :, component]
    value, point = np.nonzero(np.isfinite(states))
    kinds = [
        (0, periods) if periods else (1, code)
        for periods, code in zip(
            diagram.periods.tolist(), diagram.result.tolist(), strict=True
        )
    ]
    order = sorted(set(kinds))
    members = np.array([order.index(kind) for kind in kinds], float)
    names, hues = zip(*(_motion(*kind) for kind in order), strict=True)
    marks = Points(
        diagram.parameter[value],
        states[value, point],
        members[value],
        Classes(names, hues),
    )
    x = Axis(with_unit(diagram.path or "parameter", diagram.unit), diagram.path)
    y = Axis(_at_start(diagram.orbits.labels, component, diagram.where))
    return Chart(x, y, (marks,))


def _motion(kind: int, number: int) -> tuple[str, str]:
    """Return the name of a motion, and its colour."""
    if kind == 0:
        return f"period {number}", colours.period_colour(number)
    code = Reason(number)
    if code == Reason.EQUILIBRIUM:
        return "equilibrium", colours.period_colour(1)
    if not code.motion:
        return "failed", colours.FAILED
    return code.motion, colours.motion_colour(code.name)


def _at_start(labels, component: int, where: str = "at t = 0") -> str:
    return with_unit(f"{labels.name(component)} {where}", labels.unit(component))
