"""Checked against: where the linear motion grazes, in closed form, and stepped motions."""

import dataclasses
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.reports import write_report
from jaxvib.reports.report import pictures_of
from jaxvib.studies.analyses.kinds.continuation.stability_chart import (
    has_curves_for,
    with_boundaries,
)
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.pictures.picture import Cells, Line
from jaxvib.studies.run.study import load_text
from jaxvib.studies.store.fields import Variable
from jaxvib.studies.store.finished_study import read_run
from jaxvib.studies.store.store import Store

from .small_studies import ATTACHED, DAMPING, GAP, MAIN, MAIN_MASS, MASS_RATIO, config_of

MAPS = ("regimes", "stability", "peak_force", "contacts", "closed_share")
FREQUENCIES = np.linspace(4.5, 8.5, 161)  # rad/s, farther than the map on both sides


def grazing_load(frequency):
    """Return the load whose linear motion takes up the gap, N."""
    s = 1j * frequency
    coupling = 2 * DAMPING * ATTACHED * s + ATTACHED**2
    main = s**2 + 2 * DAMPING * MAIN * s + MAIN**2
    return GAP * MAIN_MASS * np.abs((1 + coupling / s**2) * main + MASS_RATIO * coupling)


@pytest.fixture
def curves(tmp_path):
    """Return a continuation with one curve, as its store has it."""
    directory = tmp_path / "curves"
    few = {path: np.array([1.0, 2.0]) for path in ("load.amplitude", "load.frequency")}
    tables = config_of(directory, "Grazing", few, True)
    tables["analysis"] = {
        "kind": "continuation", "path": "load.amplitude", "bounds": [50.0, 900.0],
        "second_path": "load.frequency", "second_bounds": [4.0, 9.0],
    }  # fmt: skip
    del tables["sweep"]
    tables["system"]["load"] = {"amplitude": 500.0, "frequency": 6.0, "phase": 0.0}
    tables = load_text(to_toml(tables), "curves").resolved()
    record = {
        "title": "Grazing", "analysis": "continuation", "system": "two_body_impact",
        "samples": 1, "chunk": 1, "grid": None, "coordinates": ["load.amplitude"],
        "axes": {}, "evidence": "checked", "config": tables, "git": None,
        "versions": {"jaxvib": "0.1.0"}, "fingerprint": {"device": "cpu"},
    }  # fmt: skip
    axes, values = ("curve", "curve_point"), grazing_load(FREQUENCIES)[None]
    none = {"meaning": ""}
    store = Store.create(directory, record, to_toml(tables))
    store.add_group("", {
        "curve.kind": Variable(("curve",), np.array([4], np.int8)),
        "curve.load.amplitude": Variable(axes, values, "N"),
        "curve.load.frequency": Variable(axes, FREQUENCIES[None], "rad/s"),
        "special.kind": Variable(("special",), np.zeros(0, np.int8), "", "kind", none),
        "special.curve": Variable(("special",), np.zeros(0, np.int32)),
        "special.load.amplitude": Variable(("special",), np.zeros(0), "N"),
        "special.load.frequency": Variable(("special",), np.zeros(0), "rad/s"),
        "result": Variable((), np.zeros((), np.int32)),
    })  # fmt: skip
    store.finish()
    return directory


def test_the_curve_lies_over_every_map_and_no_motion_beyond_it_is_without_contact(
    map_study, curves
):
    run, lent = read_run(map_study), read_run(curves)
    found = {each.name: each for each in with_boundaries(pictures_of([run]), [run], lent)}
    for name, picture in found.items():
        lines = [
            layer
            for chart in picture.charts
            for layer in chart.layers
            if isinstance(layer, Line) and layer.rim
        ]
        assert len(lines) == (name in MAPS), name
        assert (
            "grazing of motions of period 1, from the study curves" in picture.text
        ) == (name in MAPS)
    chart = found["contacts"].charts[0]
    line = chart.layers[-1]
    np.testing.assert_allclose(line.y, grazing_load(line.x), rtol=1e-14)
    assert (chart.x.low, chart.x.high) == pytest.approx((5 - 3 / 14, 8 + 3 / 14))
    assert (chart.y.low, chart.y.high) == pytest.approx((60.0, 540.0))
    rates = next(layer for layer in chart.layers if isinstance(layer, Cells))
    frequency, amplitude = np.meshgrid(rates.x, rates.y)
    free = rates.values == 0
    beyond = amplitude > np.interp(frequency, line.x, line.y)
    assert free.sum() > 3
    assert beyond.sum() > 3
    assert not np.any(free & beyond)


def test_a_report_with_curves_is_that_of_the_map(map_study, curves, tmp_path):
    folder = shutil.copytree(map_study, tmp_path / "map")
    done = CliRunner().invoke(cli.main, ["report", str(folder), str(curves)])
    assert done.exit_code == 0, done.output
    assert "from the study curves" in (folder / "report.html").read_text("utf-8")
    assert ",grazing,,5.0," in (folder / "pictures/regimes.csv").read_text("utf-8")
    write_report(folder)
    assert "from the study curves" not in (folder / "report.html").read_text("utf-8")


def test_curves_of_another_system_or_over_other_parameters_are_refused(
    map_study, sweep_study, random_study, curves
):
    run, line, lent = map(read_run, (map_study, sweep_study, curves))
    assert has_curves_for(lent, run)
    assert not has_curves_for(lent, lent)
    with pytest.raises(ValueError, match="no map"):
        with_boundaries(pictures_of([line]), [line], lent)
    with pytest.raises(ValueError, match="allowed: a grid of the same two"):
        with_boundaries([], [read_run(random_study)], lent)
    none = dataclasses.replace(
        lent, results=lent.results | {"curve.kind": Variable(("curve",), np.zeros(0))}
    )
    with pytest.raises(ValueError, match="curves has no bifurcation"):
        with_boundaries([], [run], none)
    lent.study["config"]["system"]["gap"] = 0.06
    with pytest.raises(ValueError, match=r"gap = 0.06 of curves, and 0.05 of first"):
        with_boundaries([], [run], lent)
