"""What is drawn of natural modes."""

import numpy as np

from ..drawing import Axis, Chart, Line

_MOST = 6  # modes that can be told apart in one picture


def shapes_chart(modes) -> Chart:
    """Return the shapes of the lowest modes, over degrees of freedom, largest part 1."""
    shapes, frequencies = np.asarray(modes.shapes), np.asarray(modes.frequencies)
    count = min(_MOST, shapes.shape[1])
    places = np.arange(shapes.shape[0])
    largest = np.abs(shapes).max(axis=0)
    lines = tuple(
        Line(places, column, f"{frequencies[mode]:.4g} rad/s", mode, marks=True)
        for mode, column in enumerate((shapes / largest).T[:count])
    )
    more = f", the lowest {count} of {shapes.shape[1]}" if count < shapes.shape[1] else ""
    across, up = Axis("degree of freedom"), Axis("mode shape, largest part 1")
    return Chart(across, up, lines, f"modes{more}")
