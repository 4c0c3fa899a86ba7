"""Checked against: pictures that are written down by hand, read back by Python's csv."""

import csv

import numpy as np

from jaxvib.reports.files import numbers_of
from jaxvib.studies.pictures.picture import (
    Axis,
    Cells,
    Chart,
    Choice,
    Classes,
    Line,
    Notes,
    Picture,
    Scale,
)

X, Y = Axis("frequency (Hz)"), Axis("force (N)")


def rows(*layers, x=X, choice=None):
    charts = (Chart(x, Y, layers),)
    text = numbers_of(Picture("name", "Title", "text", "alt", charts, choice=choice))
    return list(csv.DictReader(text.splitlines()))


def test_each_cell_has_a_line_with_its_number_and_sample():
    values = np.array([[1.5, np.nan, 2.0], [3.0, 4.0, 0.1]])
    numbers = np.arange(6).reshape(2, 3)
    scale = Scale("peak (N)", "sea", 0.0, 4.0)
    found = rows(Cells(np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0]), values, scale,
                       numbers))  # fmt: skip
    assert len(found) == 5  # the open cell is none
    assert found[-1] == {
        "x is": "frequency (Hz)", "y is": "force (N)", "what": "peak (N)", "setting": "",
        "x": "3.0", "y": "7.0", "value": "0.1", "sample": "5",
    }  # fmt: skip


def test_classes_lines_and_notes_are_named():
    member = Cells(
        np.array([1.0]),
        np.array([2.0]),
        np.array([[1.0]]),
        Classes(("a", "b, c"), ("", "")),
    )
    line = Line(np.array([0.0, 1.0]), np.array([np.nan, 1 / 3]), "main", option=1)
    note = Notes(np.array([4.0]), np.array([5.0]), ("fold",), "folds")
    found = rows(member, line, note, choice=Choice("load", ("low", "high")))
    assert [row["value"] for row in found] == ["b, c", "", "fold"]
    assert [row["what"] for row in found] == ["class", "main", "folds"]
    assert [row["setting"] for row in found] == ["", "high", ""]
    assert float(found[1]["y"]) == 1 / 3


def test_places_that_have_names_are_written_by_them():
    line = Line(np.array([0.0, 1.0]), np.array([2.0, 3.0]), "share")
    found = rows(line, x=Axis("parameter", ticks=("mass", "gap")))
    assert [row["x"] for row in found] == ["mass", "gap"]
