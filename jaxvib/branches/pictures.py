"""Charts of branches and of bifurcation curves."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import linalg
from ..drawing import Axis, Chart, Line, Notes
from ..drawing.labels import shared, with_unit

_STYLES = {1: ("solid", "stable"), 0: ("dash", "unstable"), -1: ("dot", "undecided")}
_SYMBOLS = {
    "fold": "triangle-up",
    "period_doubling": "circle",
    "neimark_sacker": "hexagon",
    "hopf": "hexagon",
    "branch_point": "star",
    "grazing": "cross",
}


def branch_chart(branch: Any) -> Chart:
    """Return a chart of amplitudes of orbits, or states of equilibria."""
    labels, moving = branch.found.labels, hasattr(branch.found, "amplitude")
    columns = np.asarray(branch.found.amplitude if moving else branch.states).T
    names = (labels.freedoms if moving else labels.names) or tuple(
        map(labels.name, range(len(columns)))
    )
    units = labels.freedom_units if moving else labels.units
    axis = Axis(shared("amplitude, (max - min)/2" if moving else "state", units))
    layers: list[Line | Notes] = []
    for colour, (name, column) in enumerate(zip(names, columns, strict=True)):
        layers += _by_verdict(branch, name, column, colour)
    layers += _marks(branch, columns)
    x = Axis(with_unit(branch.path, branch.unit), branch.path)
    return Chart(x, axis, tuple(layers))


def curve_chart(curve: Any) -> Chart:
    """Return a chart of a bifurcation curve in the plane of its parameters."""
    x, y = np.asarray(curve.parameters).T
    kind = curve.kind.replace("_", " ")
    layers: list[Line | Notes] = [Line(x, y, kind, 0)]
    points = curve.codimension_two
    if points:
        places = np.array([point.parameters for point in points])
        words = tuple(point.kind for point in points)
        layers.append(Notes(places[:, 0], places[:, 1], words, "codimension 2", "star"))
    named = zip(curve.paths, curve.units, strict=True)
    across, up = (Axis(with_unit(*each), each[0]) for each in named)
    return Chart(across, up, tuple(layers), kind)


def _by_verdict(branch, name: str, values, colour: int) -> Iterator[Line]:
    """Return one line per stability; neighbouring lines share a point to avoid gaps."""
    x, verdicts = np.asarray(branch.parameter), np.asarray(branch.stable)
    for verdict, (style, word) in _STYLES.items():
        own = verdicts == verdict
        if own.any():
            own[1:] |= verdicts[:-1] == verdict
            yield Line(x, np.where(own, values, np.nan), f"{name}, {word}", colour, style)


def _marks(branch, columns) -> Iterator[Notes]:
    """Return markers of bifurcations, at the height of the nearest point's state."""
    states = np.asarray(branch.states)
    size = np.maximum(np.abs(states).max(axis=0), np.finfo(float).tiny)
    for kind in sorted({point.kind for point in branch.bifurcations}):
        own = [point for point in branch.bifurcations if point.kind == kind]
        apart = [(np.asarray(point.state) - states) / size for point in own]
        nearest = [linalg.norm(each).argmin() for each in apart]
        places = np.array([float(point.parameter) for point in own])
        words = kind.replace("_", " ")
        texts = (words,) * len(own)
        yield Notes(
            places, columns[0][nearest], texts, words, _SYMBOLS.get(kind, "diamond")
        )
