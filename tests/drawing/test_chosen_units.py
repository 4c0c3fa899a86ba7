"""Checked against: the same numbers converted by hand."""

import math

import numpy as np

from jaxvib.drawing import Axis, Cells, Chart, Line, Scale
from jaxvib.drawing.chosen_units import in_chosen_units

scale = Scale("peak contact force (N)", "sea", 0.0, 2e3)
cells = Cells(np.array([5.0, 6.0]), np.array([0.1, 0.2]), np.array([[1e3, 2e3]] * 2), scale)
line = Line(np.array([5.0, 6.0]), np.array([0.1, 0.2]), "main")
chart = Chart(
    Axis("load.frequency (rad/s)", "load.frequency", low=5.0, high=6.0),
    Axis("amplitude, half peak to peak (m)"),
    (cells, line),
)


def test_axes_layers_and_colours_are_in_the_chosen_units():
    found = in_chosen_units(chart, ["Hz", "mm", "kN"])
    assert found.x.label == "load.frequency (Hz)"
    assert found.y.label == "amplitude, half peak to peak (mm)"
    field, course = found.layers
    np.testing.assert_allclose(course.x, line.x / (2 * math.pi), rtol=1e-15)
    np.testing.assert_allclose(field.x, course.x, rtol=0)
    np.testing.assert_allclose(field.y, [100.0, 200.0], rtol=1e-15)
    np.testing.assert_allclose(field.values, [[1.0, 2.0]] * 2, rtol=1e-15)
    assert (field.paint.label, field.paint.high) == ("peak contact force (kN)", 2.0)
    np.testing.assert_allclose([found.x.low, found.x.high], course.x, rtol=1e-15)


def test_values_without_a_matching_chosen_unit_keep_theirs():
    assert in_chosen_units(chart, []).x == chart.x
    words = Chart(Axis("time (long)"), Axis("largest |Floquet multiplier|"), ())
    assert in_chosen_units(words, ["mm", "s"]) == words
