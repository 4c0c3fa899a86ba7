"""The data of a picture as CSV: one row per mark, cell or point of a line."""

import csv
import io
from collections.abc import Iterator

import numpy as np

from ..studies.pictures.picture import Cells, Chart, Classes, Picture

_HEAD = ("x is", "y is", "what", "setting", "x", "y", "value", "sample")


def numbers_of(picture: Picture) -> str:
    """Return the data of a picture as CSV with a header.

    Columns: labels of x and y with units, the layer, the slider's option, the position,
    the value or class shown by colour, the sample.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_HEAD)
    for chart in picture.charts:
        for layer in chart.layers:
            option = getattr(layer, "option", None)
            moved = picture.choice is not None and option is not None
            setting = picture.choice.options[option] if moved else ""
            table.writerows(_rows(chart, layer, setting))
    return text.getvalue()


def _rows(chart: Chart, layer, setting: str) -> Iterator[tuple]:
    named = (_tick(chart.x), _tick(chart.y))
    x, y = np.asarray(layer.x, float), np.asarray(layer.y, float)
    if isinstance(layer, Cells):
        x, y = np.meshgrid(x, y)
    paint = getattr(layer, "paint", None)
    values = getattr(layer, "values", None)
    samples = getattr(layer, "samples", None)
    texts = getattr(layer, "texts", None)
    what = paint.label if hasattr(paint, "label") else getattr(layer, "name", "class")
    for i, (across, up) in enumerate(zip(x.ravel(), y.ravel(), strict=True)):
        value = "" if values is None else values.ravel()[i]
        if np.isnan(up) or (values is not None and np.isnan(value)):
            continue
        if isinstance(paint, Classes):
            value = paint.names[int(value)]
        elif texts is not None:
            value = texts[i]
        yield (
            chart.x.label,
            chart.y.label,
            what,
            setting,
            named[0](across),
            named[1](up),
            value,
            "" if samples is None else samples.ravel()[i],
        )


def _tick(axis):
    """Return a function that formats a position on an axis, by its tick name if any."""

    def written(place: float):
        return axis.ticks[int(place)] if axis.ticks else repr(float(place))

    return written
