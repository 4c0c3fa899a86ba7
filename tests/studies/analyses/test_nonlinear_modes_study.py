"""Checked against: the library's own call, and the linear frequency of the same bodies."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.drawing.chart import Line, Notes
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from jaxvib.studies.store.finished_study import read_run
from tests.studies.configs import run

PATH = builtin_studies.folder() / "backbone.toml"


@pytest.mark.slow
def test_a_backbone_is_stored_told_and_drawn(tmp_path):
    told = run(PATH, tmp_path / "out")
    assert told.exit_code == 0, told.output
    assert "frequency  24.9597 rad/s" in told.output
    assert "period doubling at 3623.08 J" in told.output
    stored, study = read_run(tmp_path / "out"), load(PATH)
    found = jv.nonlinear_modes(build(study), 0, 2e4)
    np.testing.assert_allclose(stored.field("energy"), found.parameter, rtol=1e-13)
    np.testing.assert_array_equal(stored.field("frequency"), found.orbits.frequency)
    (picture,) = ANALYSES["nonlinear_modes"].pictures([stored])
    layers = picture.charts[0].layers
    lines = [layer.y for layer in layers if isinstance(layer, Line) and len(layer.y) > 1]
    lowest = min(map(np.nanmin, lines))
    linear = jv.natural_frequencies(build(study).linear)[0]
    np.testing.assert_allclose(lowest, linear, rtol=1e-9)
    (marks,) = (layer for layer in layers if isinstance(layer, Notes))
    assert marks.name == "period doubling"
    assert marks.x.size == len(found.bifurcations)
