"""Checked against: the store, whose orbits the page of its report computes again."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.reports.live.study import live_of
from jaxvib.reports.page import page
from jaxvib.reports.report import pictures_of
from jaxvib.studies.store.finished_study import read_run
from tests.reports.test_page_in_browser import CONTRASTS, READY, cell

from .test_live_page import evaluated, needs_node

LIVE = "liveStudy.live"
CONFIG = """
title = "Twelve orbits"
[system]
kind = "two_body_impact"
contact.stiffness = 3.504e7
[analysis]
kind = "periodic_orbit"
max_periods = 2
traces = 4
[sweep]
load.amplitude = [300.0, 400.0, 500.0]
load.frequency = [5.6, 5.7, 5.8, 6.5]
[output]
units = ["Hz"]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    config = folder / "orbits.toml"
    config.write_text(CONFIG)
    command = [sys.executable, "-m", "jaxvib", "run", str(config)]
    subprocess.run([*command, "--out", str(folder / "orbits")], check=True)
    return folder / "orbits"


@pytest.fixture
def window(browser, study):
    browser.open(study / "report.html")
    browser.wait(READY)
    browser.console()
    return browser


@needs_node
def test_stored_orbits_are_those_that_the_page_computes(study):
    proof = evaluated(
        study / "report.html",
        "((proof) => { while (!proof.finished()) proof.next(); return proof.result(); })"
        "(new Proof(motions, page.live.stored))",
    )
    run = read_run(study)
    decided = int((run.field("stable") >= 0).sum())
    assert proof["done"] == proof["number"] == 12
    assert proof["missed"] == 0
    assert proof["verdicts"] == proof["compared"] == decided == 12
    assert all(0 < each < 1e-9 for each in proof["worst"].values())


@needs_node
def test_the_cells_of_a_map_have_the_regimes_of_the_store(study):
    found = evaluated(
        study / "report.html",
        "Array.from(page.live.stored.periods, (_, i) => {"
        " const { paths, values } = page.live.stored; motions.setValues("
        "Object.fromEntries(paths.map((path, k) => [path, values[k][i]])));"
        " const { periods, contacts, peak } = regimeFromRest(motions);"
        " return [periods, contacts, peak]; })",
    )
    run = read_run(study)
    periods, contacts, peaks = np.array(found).T
    np.testing.assert_array_equal(periods, run.field("periods"))
    np.testing.assert_array_equal(contacts, run.field("contacts"))
    np.testing.assert_allclose(peaks, run.field("max_contact_force"), rtol=1e-8)


@needs_node
def test_motions_without_a_period_or_a_bound_are_not_given_one(study):
    # The second passes by an unstable orbit of period 1; it is chaotic by
    # `jv.orbits.regimes`. The third has period 2.
    changes = [
        {"main.damping_ratio": -0.5},
        {"load.amplitude": 1000.0, "load.frequency": 6.099999999999998},
        {"load.amplitude": 900.0, "load.frequency": 6.5},
    ]
    usual = {"main.damping_ratio": 0.036}
    found = evaluated(
        study / "report.html",
        f"{json.dumps([usual | change for change in changes])}.map((values) => {{ "
        "motions.setValues(values); const found = regimeFromRest(motions); "
        "const { periods, contacts, state } = found; return [periods, contacts, "
        "periods && motions.trace(state, periods).onsets]; })",
    )
    assert [periods for periods, _, _ in found] == [None, 0, 2]  # NaN in JSON
    contacts, seen = found[2][1:]
    assert contacts == seen == 2


@needs_node
def test_a_store_that_was_changed_does_not_pass(study):
    proof = evaluated(
        study / "report.html",
        "((stored) => { const proof = new Proof(motions, { ...stored, "
        "max_contact_force: stored.max_contact_force.map((f, i) => f * (i ? 1 : 1.01)), "
        "stable: stored.stable.map((s, i) => (i === 3 ? 1 - s : s)) }); "
        "while (!proof.finished()) proof.next(); return proof.result(); })"
        "(page.live.stored)",
    )
    assert proof["worst"]["force"] == pytest.approx(1 - 1 / 1.01, rel=1e-6)
    assert proof["verdicts"] == proof["compared"] - 1


def test_the_worker_starts_when_asked_for_and_opens_the_sample(window):
    assert not window.run(
        "return document.querySelector('.live-study .opened').checkVisibility()"
    )
    assert not window.run(f"return 'worker' in {LIVE}")
    window.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    window.run("document.querySelector('.to-live').click()")
    window.wait(f"liveStudy.running && {LIVE}.answer?.settled")
    run = window.run(
        "return page.runs[0].paths.map(({ path, values }) => [path, values[state.sample]])"
    )
    values = window.run(f"return {LIVE}.controls.values()")
    assert {path: values[path] for path, _ in run} == pytest.approx(dict(run))
    assert window.console() == []


def test_a_sample_that_is_clicked_moves_the_sliders(browser, map_report):
    browser.open(map_report)
    browser.wait(READY)
    browser.evaluate("liveStudy.start()")
    chart = "#regimes .chart"
    browser.point(*cell(browser, chart, 2, 4), click=True)
    browser.wait(f"!{LIVE}.busy && !{LIVE}.wanted")
    found = browser.run(f"return {LIVE}.controls.values()")
    assert found["load.frequency"] == pytest.approx(np.linspace(5, 8, 8)[2])
    assert found["load.amplitude"] == pytest.approx(np.linspace(100, 500, 6)[4])


def test_a_point_of_a_chart_without_samples_moves_the_sliders(window):
    window.evaluate("liveStudy.start()")
    window.run(
        "const chart = document.querySelector('#regimes .chart').chart;"
        "liveStudy.openAt(chart, { x: 1.1, y: 250 })"
    )
    window.wait(f"!{LIVE}.busy && !{LIVE}.wanted")
    found = window.run(f"return {LIVE}.controls.values()")
    assert found["load.frequency"] == pytest.approx(2 * np.pi * 1.1)  # the axis is in Hz
    assert found["load.amplitude"] == pytest.approx(250.0)


def test_values_outside_the_study_are_marked(window):
    window.evaluate("liveStudy.start()")
    marked = (
        "return [...document.querySelectorAll('.outside')].filter((e) => !e.hidden)"
        ".map((e) => e.closest('.control').querySelector('.name').textContent)"
    )
    assert window.run(marked) == []
    window.run(f"{LIVE}.controls.set({{'load.amplitude': 501, 'main.mass': 5000}})")
    assert window.run(marked) == ["load amplitude F₀"]


def test_the_page_reports_its_proof(window):
    window.evaluate("liveStudy.start()")
    window.run("document.querySelector('.prove').click()")
    told = "document.querySelector('.proof output').textContent"
    window.wait(f"{told}.includes('verdicts')")
    words = window.run(f"return {told}")
    assert words.startswith("12 of 12 orbits recomputed; largest differences")
    assert float(re.search(r"\|multiplier\| (\S+),", words)[1]) < 1e-9


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(window, colours):
    scheme = {"name": "prefers-color-scheme", "value": colours}
    window.command("Emulation.setEmulatedMedia", features=[scheme])
    window.evaluate("liveStudy.start()")
    found = window.run(CONTRASTS)
    window.command("Emulation.setEmulatedMedia", features=[])
    assert found == {}


def test_the_live_panel_adds_less_than_half_a_megabyte(study, monkeypatch):
    run = read_run(study)
    found = pictures_of([run])
    whole = len(page(found, [run]).html)
    monkeypatch.setattr("jaxvib.reports.page.live_of", lambda run: None)
    added = whole - len(page(found, [run]).html)
    assert 50_000 < added < 200_000  # with 12 orbits; 1000 of them have 100 kB


def test_studies_without_periodic_motions_have_no_live_panel(tmp_path):
    config = tmp_path / "modes.toml"
    config.write_text(
        '[system]\nkind = "assembly"\n[system.modules.ground-cart]\n'
        'module = "translation_translation"\nmass = 2.0\nstiffness = 8.0\n'
        '[analysis]\nkind = "natural_modes"\n'
    )
    command = ["run", str(config), "--out", str(tmp_path / "modes")]
    assert CliRunner().invoke(cli.main, command).exit_code == 0
    assert live_of(read_run(tmp_path / "modes")) is None
    html = (tmp_path / "modes" / "report.html").read_text("utf-8")
    assert "id='live'" not in html
    assert "id='worker'" not in html


def test_the_sliders_have_the_units_of_the_report_and_the_bounds_of_the_study(study):
    found = live_of(read_run(study))
    swept = {each["path"]: each for each in found["controls"] if each["swept"]}
    assert swept["load.frequency"]["unit"] == "Hz"
    assert swept["load.frequency"]["swept"] == [5.6, 6.5]
    assert swept["load.amplitude"]["swept"] == [300.0, 500.0]
    assert len(swept) == 2
