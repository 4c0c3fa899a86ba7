"""Charts of any result: its declared fields, one chart for each unit."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from .chart import Axis, Chart, Line, Notes
from .fields import Variable
from .labels import with_unit

_MOST_LINES = 6  # of one field


def field_charts(
    fields: Mapping[str, Variable],
    chosen: Collection[str],
    names: Callable[[str], Sequence[str]],
) -> list[Chart]:
    """Return charts of the chosen labelled arrays, those along an axis before numbers.

    Arrays of two axes or more are drawn along the one with a coordinate, a field that
    ascends along it, else along one with names, else over positions along the first.
    Complex numbers are drawn by their modulus; reason codes and texts are left out.
    `names`: of the places along an axis.
    """
    shown = {name: _real(one) for name, one in fields.items() if _is_drawn(name, one)}
    over = _coordinates(shown)
    along: dict[tuple[str, str], list[Line]] = {}
    single: dict[str, dict[str, float]] = {}
    for name, one in shown.items():
        if name not in chosen:
            continue
        if not one.axes:
            single.setdefault(one.unit, {})[name] = float(one.values)
        elif name not in over.values():
            known_axes = [a for a in one.axes if a in over] + [
                a for a in one.axes if names(a)
            ]
            axis = (known_axes or one.axes)[0]
            known = along.setdefault((axis, one.unit), [])
            x = shown[over[axis]].values if axis in over else None
            known += _lines(name, one, axis, x, names, len(known))
    charts = [
        Chart(
            _across(axis, shown.get(over.get(axis, "")), names(axis)),
            _up(lines, unit),
            tuple(lines),
        )
        for (axis, unit), lines in along.items()
    ]
    return charts + [
        Chart(
            Axis("", ticks=tuple(values)),
            Axis(with_unit("value", unit)),
            (Notes(np.arange(float(len(values))), np.array([*values.values()]),
                   tuple(values), "value", "circle"),),
        )
        for unit, values in single.items()
    ] or [Chart(Axis(""), Axis(""), ())]  # fmt: skip


def _is_drawn(name: str, one: Variable) -> bool:
    return one.values.dtype.kind in "fciub" and name.rpartition(".")[2] != "result"


def _real(one: Variable) -> Variable:
    values = np.abs(one.values) if one.values.dtype.kind == "c" else one.values
    return Variable(one.axes, np.asarray(values, float), one.unit, one.description)


def _coordinates(fields: Mapping[str, Variable]) -> dict[str, str]:
    """Return the first field that ascends along each axis, if others share the axis."""
    shared = Counter(axis for one in fields.values() for axis in one.axes)
    found: dict[str, str] = {}
    for name, one in fields.items():
        ascends = one.values.size > 1 and np.ndim(one.values) == 1
        if ascends and shared[one.axes[0]] > 1 and (np.diff(one.values) > 0).all():
            found.setdefault(one.axes[0], name)
    return found


def _lines(name: str, one: Variable, axis: str, x, names, colour: int) -> list[Line]:
    place = one.axes.index(axis)
    values = np.moveaxis(one.values, place, 0)
    others = [a for a in one.axes if a != axis]
    marks = x is None
    x = np.arange(float(len(values))) if marks else x
    lines = []
    for at in list(np.ndindex(values.shape[1:]))[:_MOST_LINES]:
        words = [_named(names(a), i) for a, i in zip(others, at, strict=True)]
        label = " ".join([name.replace("_", " "), *words])
        y = values[(slice(None), *at)]
        lines.append(Line(x, y, label, colour + len(lines), marks=marks))
    return lines


def _named(names: Sequence[str], place: int) -> str:
    return names[place] if place < len(names) else str(place)


def _across(axis: str, coordinate: Variable | None, names: Sequence[str]) -> Axis:
    if coordinate is None:
        return Axis(axis.replace("_", " "), ticks=tuple(names))
    words = with_unit(coordinate.description, coordinate.unit)
    return Axis(words, log=is_logarithmic(coordinate.values))


def is_logarithmic(values: np.ndarray) -> bool:
    """Return whether values are logarithmically spaced over a decade or more."""
    distinct = np.unique(values[np.isfinite(values)])
    if len(distinct) < 4 or distinct[0] <= 0 or distinct[-1] < 10 * distinct[0]:
        return False
    steps = np.diff(np.log(distinct))
    return bool(np.ptp(steps) < 0.01 * steps.mean())


def _up(lines: Sequence[Line], unit: str) -> Axis:
    return Axis(with_unit(lines[0].name if len(lines) == 1 else "value", unit))
