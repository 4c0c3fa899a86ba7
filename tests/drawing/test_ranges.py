"""Checked against: numbers that are drawn, written by hand."""

import numpy as np

from jaxvib.drawing.chart import Axis, Cells, Chart, Classes, Line, Scale


def test_a_chart_tells_the_smallest_and_largest_number_of_each_of_its_scales():
    x, force = np.arange(3.0), Scale("force (N)", "sea", 0.0, 9.0)
    values = np.array([[1.5, np.nan, 8.25]])
    layers = (
        Cells(x, x[:1], values, force),
        Cells(x, x[:1], np.full((1, 3), np.nan), Scale("nothing (m)", "sea", 0.0, 1.0)),
        Cells(x, x[:1], 0 * values, Classes(("rest",), ("#000000",))),
        Line(x, np.array([-2.0, np.nan, 3.0]), "one"),
        Line(x, np.array([0.0, 1e6, np.nan]), "other"),
    )
    chart = Chart(Axis("speed (Hz)"), Axis("gap (mm)"), layers)
    assert chart.ranges() == " force (N): 1.5 to 8.25. gap (mm): -2 to 1e+06."
