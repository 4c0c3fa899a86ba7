"""Charts of natural modes."""

import numpy as np

from ..drawing import Axis, Chart, Line
from ..foundation.types import AnyArray

_MOST = 6  # modes that are distinguishable in one picture


def shapes_chart(shapes: AnyArray, frequencies: AnyArray) -> Chart:
    """Return a chart of the lowest mode shapes, scaled to a maximum of 1."""
    shapes, frequencies = np.asarray(shapes), np.asarray(frequencies)
    count = min(_MOST, shapes.shape[1])
    places = np.arange(shapes.shape[0])
    largest = np.abs(shapes).max(axis=0)
    lines = tuple(
        Line(places, column, f"{frequencies[mode]:.4g} rad/s", mode, marks=True)
        for mode, column in enumerate((shapes / largest).T[:count])
    )
    more = f", the lowest {count} of {shapes.shape[1]}" if count < shapes.shape[1] else ""
    across, up = Axis("degree of freedom"), Axis("mode shape, maximum 1")
    return Chart(across, up, lines, f"modes{more}")
