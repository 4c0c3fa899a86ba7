"""Checked against: the extents that matplotlib measures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxvib.drawing import Axis, Chart, Line, draw

MM = 1 / 25.4  # inches
BODIES = ["main", "attached", "rotor", "housing of the rotor"]
VERDICTS = ["stable", "unstable", "undecided", "fold", "period doubling", "grazing"]


@pytest.mark.parametrize("width", [60, 84, 90, 120, 190])
@pytest.mark.parametrize("names", [BODIES[:2], VERDICTS[:3], BODIES + VERDICTS[:2],
                                   BODIES + VERDICTS])  # fmt: skip
def test_a_legend_leaves_half_of_the_axes_free_or_stands_above_them(width, names):
    figure, axes = plt.subplots(figsize=(width * MM, 0.7 * width * MM))
    x = np.linspace(0.0, 1.0, 5)
    lines = tuple(Line(x, x * i, name, i) for i, name in enumerate(names))
    draw(Chart(Axis("x"), Axis("y"), lines), axes)
    legend = axes.get_legend()
    taken, room = legend.get_window_extent(), axes.get_window_extent()
    inside = taken.width <= 0.5 * room.width and taken.height <= 0.5 * room.height
    assert inside or taken.y0 >= room.y1
    assert [text.get_text() for text in legend.get_texts()] == names
    assert min(text.get_fontsize() for text in legend.get_texts()) >= 6
    plt.close(figure)
