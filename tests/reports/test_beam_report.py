"""Checked against: values and shapes in the store, and what a headless Chromium draws."""

import re

import numpy as np
import pytest

from jaxvib.studies.analyses.kinds import beam_eigenvalues as beam
from jaxvib.studies.store.finished_study import Run, read_run

from .test_scenes import PLACES, READY, check_player, run_ready, scrub

FORCES = np.geomspace(1.0, 100.0, 9)


def crossing_run(method="grid"):
    """One value grows as the root of a stiffness, one stays: they cross at 6^2 = 36."""
    import xarray

    rising, level = 1j * np.sqrt(FORCES), np.full(len(FORCES), 6j)
    values = np.stack([rising, level], axis=1) - 0.05
    slopes = np.stack([0.5j / np.sqrt(FORCES), 0 * level], axis=1)
    order = np.argsort(np.abs(values), axis=1)
    fields = {
        "values": (("sample", "value"), np.take_along_axis(values, order, 1)),
        "slopes.k": (("sample", "value"), np.take_along_axis(slopes, order, 1)),
    }
    fields["result"] = ("sample", np.zeros(len(FORCES), int))
    stored = xarray.Dataset(fields, {"k": ("sample", FORCES, {"units": "N/m"})})
    study = {
        "analysis": "beam_eigenvalues", "system": "beam_with_bodies", "title": "Crossing",
        "coordinates": ["k"], "axes": {}, "grid": {"k": 9} if method == "grid" else None,
        "config": {"sweep": {"method": method}},
    }  # fmt: skip
    return Run("crossing", stored, None, study, {}, "")


def test_bars_join_the_links_of_one_rigid_body_and_masses_differ_from_the_ground():
    both = [[1.0, -0.2], [1.0, 0.2], [0.0, 0.0], [0.0, 0.0]]
    table = {
        "link_map": both,
        "link_stiffness": [3.0, 4.0, 0.0, 7.0],
        "link_damping": [0.0] * 4,
        "link_inertance": [0.0, 0.0, 0.5, 0.0],
    }
    assert beam._links(table) == ["body", "body", "mass", "ground"]
    assert beam._bars(np.array([[1.0, -0.2], [1.0, -0.2], [0.0, 0.0]])) == [[0, 1]]


@pytest.fixture(scope="session")
def beam_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "beam"
    return run_ready(
        "beam_with_bodies", directory, "analysis.count=5", "analysis.shapes=3",
        "sweep.link_stiffness.0={logspace=[1.0,1e3,31]}",
    )  # fmt: skip


@pytest.mark.slow
def test_a_damped_mode_is_played_and_curves_are_drawn(browser, beam_study):
    browser.console()
    browser.open(beam_study / "report.html")
    browser.wait(READY)
    check_player(browser)
    # the fifth mode of the last sample, at its start and a quarter of a cycle on
    browser.run(
        """const [mode, sample] = document.querySelectorAll(".scene .pick");
        mode.value = 4; sample.value = 2;
        for (const each of [mode, sample]) each.dispatchEvent(new Event("change"));"""
    )
    stored = read_run(beam_study).mode_shapes
    shape, links = (stored[n].values[2, 4] for n in ("shapes", "links"))
    moving = np.concatenate([shape, links])
    moving = moving / moving[np.argmax(np.abs(moving))]
    up = 46.0  # pixels of the largest motion
    for part, expected in ((0.0, moving.real), (0.25, -moving.imag)):
        scrub(browser, part)
        path = browser.run(
            "return document.querySelector('.scene .beams').getAttribute('d')"
        )
        numbers = [float(x) for x in re.findall(r"-?[\d.]+", path)]
        heights = np.reshape(numbers, (-1, 2))[:, 1]
        np.testing.assert_allclose((196 - heights) / up, expected[: len(shape)], atol=1e-3)
        tops = [
            float(re.findall(r"-?[\d.]+", t)[1]) for t in browser.run(f"return {PLACES}")
        ]
        np.testing.assert_allclose((84 - np.array(tops)) / up, expected[-3:], atol=1e-3)
    words = browser.run("return document.querySelector('.scene output').textContent")
    assert words.endswith("i 1/s, 90° of its cycle")
    lines = "(chart) => chart.querySelectorAll('.scatterlayer .trace').length"
    drawn = browser.run(f"return [...document.querySelectorAll('.chart')].map({lines})")
    assert all(drawn)
    assert browser.console() == []
    pictures = {file.name for file in (beam_study / "pictures").iterdir()}
    assert {"eigenvalues.svg", "root_locus.svg", "mode_shapes.svg"} <= pictures


def test_curves_that_cross_are_marked_where_they_do(monkeypatch):
    monkeypatch.setattr(beam, "_shapes", lambda run: [])
    over, *loci = beam.pictures([crossing_run()])
    assert "1 crossings, 0 veerings" in over.text
    assert [picture.name for picture in loci] == ["root_locus", "root_locus_of_one"]
    (cloud,) = beam.pictures([crossing_run("random")])
    assert cloud.name == "root_locus"
    assert len(cloud.charts[0].layers[0].x) == 2 * len(FORCES)


def test_the_values_of_one_design_are_drawn_without_colours(monkeypatch):
    import dataclasses

    monkeypatch.setattr(beam, "_shapes", lambda run: [])
    run = crossing_run()
    stored = run.results.isel(sample=[3]).drop_vars(["k", "slopes.k"])
    study = run.study | {"coordinates": [], "grid": None, "config": {"sweep": {}}}
    (cloud,) = beam.pictures([dataclasses.replace(run, results=stored, study=study)])
    ((line,),) = (chart.layers for chart in cloud.charts)
    drawn = line.x[np.isfinite(line.x)] + 1j * line.y[np.isfinite(line.y)]
    np.testing.assert_array_equal(drawn, stored["values"].values[0])
