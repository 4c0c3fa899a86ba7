"""Conversion of charts to chosen units, based on the units in their labels."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..foundation.units import readings
from .chart import Axis, Chart, Scale

_LABEL = re.compile(r"(.*) \(([^()]*)\)")


def in_chosen_units(chart: Chart, chosen: Sequence[str]) -> Chart:
    """Return a chart with axes and colours in the first chosen unit of equal dimension.

    The unit of an axis is in parentheses at the end of its label. Axes without a unit,
    or with a dimension that no chosen unit has, are unchanged.
    """
    x, across = _axis(chart.x, chosen)
    y, up = _axis(chart.y, chosen)
    layers = tuple(_layer(layer, across, up, chosen) for layer in chart.layers)
    return dataclasses.replace(chart, x=x, y=y, layers=layers)


def chosen_unit(unit: str, chosen: Sequence[str]) -> tuple[str, float]:
    """Return the first chosen unit of equal dimension and the conversion factor to it.

    If there is none, return `unit` and 1.
    """
    try:
        own = readings(unit)[0]
    except ValueError:  # not a unit
        return unit, 1.0
    for other in chosen if unit else ():
        for dimension in readings(other):
            if dimension.powers == own.powers:
                return other, own.factor / dimension.factor
    return unit, 1.0


def quantity_text(
    chosen: Sequence[str],
    unit: str,
    *values: complex,
    digits: int = 5,
    joined: str = " to ",
    error: float | None = None,
) -> str:
    """Return values in SI, of a unit, in the chosen unit: `5.646 to 7.697 rad/s`.

    `error`: their error bar, `5.6 +- 0.2 rad/s`.
    """
    name, factor = chosen_unit(unit, chosen)
    numbers = joined.join(f"{factor * value:.{digits}g}" for value in values)
    bar = "" if error is None else f" +- {factor * error:.1g}"
    return f"{numbers}{bar} {name}".rstrip()


def _axis(axis: Axis, chosen: Sequence[str]) -> tuple[Axis, float]:
    label, factor = _relabelled(axis.label, chosen)
    low, high = (None if end is None else end * factor for end in (axis.low, axis.high))
    return dataclasses.replace(axis, label=label, low=low, high=high), factor


def _layer(layer, across: float, up: float, chosen: Sequence[str]):
    changes: dict[str, Any] = {}
    if across != 1.0:
        changes["x"] = np.asarray(layer.x) * across
    if up != 1.0:
        changes["y"] = np.asarray(layer.y) * up
    paint = getattr(layer, "paint", None)
    if isinstance(paint, Scale):
        label, factor = _relabelled(paint.label, chosen)
        changes["values"] = np.asarray(layer.values) * factor
        unit = paint.unit and chosen_unit(paint.unit, chosen)[0]
        changes["paint"] = dataclasses.replace(
            paint, label=label, low=paint.low * factor, high=paint.high * factor, unit=unit
        )
    return dataclasses.replace(layer, **changes)


def _relabelled(label: str, chosen: Sequence[str]) -> tuple[str, float]:
    """Return the label with a chosen unit, and the conversion factor."""
    found = _LABEL.fullmatch(label)
    if found is None:
        return label, 1.0
    unit, factor = chosen_unit(found[2], chosen)
    return f"{found[1]} ({unit})", factor
