"""Checked against: the store, SciPy's integration of equations written here."""

import re
import shutil
import struct

import jax
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib import cli
from jaxvib.reports.live.study import live_of
from jaxvib.reports.report import written_report
from jaxvib.studies.store.finished_study import read_run
from tests.reports.test_page_in_browser import CONTRASTS, READY

from .test_live_page import evaluated, needs_node

LIVE = "liveStudy.live"
MASS, STIFFNESS, DAMPING, GAP, STOP = 50.0, 2e4, 60.0, 0.004, 4e5
DURATION = 3.0
TIMES = np.linspace(0.0, 2.0, 41)
GROUND = np.random.default_rng(3).normal(size=41) * np.sin(np.pi * TIMES / 2)  # m/s^2
CONFIG = f"""
title = "A machine on a ground that moves"
[system]
kind = "impact_assembly"
variables.peak = 1.0
[system.linear.modules]
ground-machine.module = "translation_translation"
ground-machine.mass = {MASS}
ground-machine.stiffness = {STIFFNESS}
ground-machine.damping = {DAMPING}
[system.contacts]
buffer = {{ contact = "linear", at = "machine", gap = {GAP}, law.stiffness = {STOP} }}
[system.loads.quake]
base = "record_acceleration"
at = "machine"
motion.data = "ground.csv"
motion.time = "time"
motion.value = "ground"
motion.unit = "m/s^2"
motion.scale = "peak"
[analysis]
kind = "response"
duration = {DURATION}
points = 61
[sweep]
variables.peak = [0.5, 1.0, 4.0]
[output]
units = ["mm"]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("response")
    rows = [f"{t!r},{a!r}" for t, a in zip(TIMES.tolist(), GROUND.tolist(), strict=True)]
    (folder / "ground.csv").write_text("\n".join(["time,ground", *rows]) + "\n")
    (folder / "shaken.toml").write_text(CONFIG)
    command = ["run", str(folder / "shaken.toml"), "--out", str(folder / "shaken")]
    assert CliRunner().invoke(cli.main, command).exit_code == 0
    return folder / "shaken"


@pytest.fixture
def window(browser, study):
    browser.open(study / "report.html")
    browser.wait(READY)
    browser.console()
    browser.evaluate("liveStudy.start()")
    return browser


def moved(peak, at=()):
    """Return times, some of them given, displacements and contact forces."""

    def rates(t, state):
        x, v = state
        force = STIFFNESS * x + DAMPING * v + STOP * max(x - GAP, 0.0)
        return [v, -force / MASS - peak * np.interp(t, TIMES, GROUND, right=0.0)]

    found = solve_ivp(rates, (0.0, DURATION), [0.0, 0.0], "DOP853", rtol=1e-10,
                      atol=1e-13, max_step=2e-3, dense_output=True)  # fmt: skip
    times = np.union1d(np.linspace(0.0, DURATION, 60_001), at)
    places = found.sol(times)[0]
    return times, places, STOP * np.maximum(places - GAP, 0.0)


@needs_node
def test_a_response_is_that_of_another_integration(study):
    found = evaluated(
        study / "report.html",
        "(motions.setValues({ 'variables.peak': 4.0 }), ((motion) => ({ ...motion, "
        "times: [...motion.times], states: [...motion.states], "
        "forces: [...motion.forces] }))"
        f"(motions.response({DURATION})))",
    )
    times, places, forces = moved(4.0, found["times"])
    drawn = np.array(found["states"]).reshape(-1, 2)[:, 0]
    size = np.abs(places).max()
    expected = places[np.searchsorted(times, found["times"])]
    np.testing.assert_allclose(drawn / size, expected / size, rtol=0, atol=1e-6)
    (peak, time), (force,) = found["extremes"][0], found["peaks"]
    assert peak == pytest.approx(size, rel=1e-6)
    assert time == pytest.approx(times[np.abs(places).argmax()], abs=1e-4)
    assert force == pytest.approx(forces.max(), rel=1e-4)
    assert found["onsets"] == np.sum(np.diff(forces > 0) & (forces > 0)[1:]) > 1
    assert max(found["forces"]) == pytest.approx(force, rel=1e-9)  # drawn to its peak


@needs_node
def test_a_coarse_response_has_the_same_peaks(study):
    fine, coarse = evaluated(
        study / "report.html",
        "(motions.setValues({ 'variables.peak': 4.0 }), [false, true].map((coarse) => "
        "(({ times, forces, extremes, peaks, onsets }) => ({ extremes, peaks, onsets, "
        "samples: times.length, drawn: Math.max(...forces) }))"
        f"(motions.response({DURATION}, coarse))))",
    )
    assert coarse["samples"] < 0.4 * fine["samples"]
    for name in ("extremes", "peaks", "drawn"):
        np.testing.assert_allclose(coarse[name], fine[name], rtol=1e-8)
    assert coarse["onsets"] == fine["onsets"]


@needs_node
def test_stored_responses_are_those_that_the_page_computes(study):
    script = (
        "((stored) => { const proof = "
        "new ResponseProof(motions, stored, page.live.duration); "
        "while (!proof.finished()) proof.next(); return proof.result(); })"
    )
    proof = evaluated(study / "report.html", f"{script}(page.live.stored)")
    assert proof["done"] == proof["number"] == 3
    assert 0 < proof["worst"]["peak"] < 1e-6
    assert 0 < proof["worst"]["force"] < 1e-6
    other = "{ ...page.live.stored, peak: page.live.stored.peak.map((x) => 1.01 * x) }"
    proof = evaluated(study / "report.html", f"{script}({other})")
    assert proof["worst"]["peak"] == pytest.approx(1 - 1 / 1.01, rel=1e-4)


def test_a_record_of_any_length_is_data_of_the_page_not_of_its_program(study):
    content = live_of(read_run(study))
    assert list(content["modules"]) == ["segment"]
    code = content["modules"]["segment"]["code"].tobytes()
    assert code.count(struct.pack("<d", GROUND[7])) == 0
    assert len(code) < 60_000
    record = content["records"]["quake"]
    starts = record["rows"].values @ [1.0, -0.025]  # half the 50 ms of a piece
    np.testing.assert_allclose(starts, GROUND[:-1], rtol=0, atol=1e-14)


def test_a_slider_moves_the_peaks_and_the_stored_ones_are_proved(window):
    before = window.run(f"{LIVE}.play(false); return {LIVE}.id")
    window.run(
        f"{LIVE}.controls.set({{ 'variables.peak': 4.0 }}); {LIVE}.controls.changed()"
    )
    window.wait(f"{LIVE}.id > {before} && !{LIVE}.busy")
    facts = window.run(
        "return [...document.querySelectorAll('.facts div')].map((fact) => "
        "[...fact.children].map((each) => each.textContent))"
    )
    few = window.run(f"return {LIVE}.answer.motion.times.length")
    assert few < 800 < len(TIMES) + 1600
    window.wait(f"{LIVE}.answer.motion.times.length > 1600")  # once no slider moves
    told, _ = dict(facts)["peak of machine"].split(" mm at ")
    assert float(told) == pytest.approx(1e3 * np.abs(moved(4.0)[1]).max(), rel=1e-3)
    window.run("document.querySelector('.prove').click()")
    proof = "document.querySelector('.proof output').textContent"
    window.wait(f"{proof}.includes('differences')")
    words = window.run(f"return {proof}")
    assert words.startswith("3 of 3 motions recomputed")
    assert float(re.search(r"displacement (\S+) of it", words)[1]) < 1e-6
    assert window.run(CONTRASTS) == {}
    assert window.console() == []
    nodes = window.command("Accessibility.getFullAXTree")["nodes"]
    named = [node for node in nodes if node.get("role", {}).get("value") == "slider"]
    assert all(node["name"]["value"] for node in named if not node["ignored"])


def test_motions_of_as_many_samples_as_a_long_record_are_shown(window):
    window.wait(f"{LIVE}.answer?.motion.times.length > 1600")  # no other answer follows
    window.run(
        f"{LIVE}.play(false); const answer = {LIVE}.answer, {{ motion }} = answer, n = 3e5;"
        "const long = (values) => Float64Array.from({ length: n * values.length / "
        "motion.times.length }, (_, k) => values[k % values.length]);"
        "const [states, forces, loads] = [motion.states, motion.forces, motion.loads]"
        ".map(long);"
        "const times = Float64Array.from({ length: n }, (_, k) => k * 1e-3);"
        "const drawn = { ...motion, times, states, forces, loads };"
        f"{LIVE}.show({{ ...answer, motion: drawn }});"
        "document.querySelector('.nearer').click()"
    )
    assert window.run(f"return {LIVE}.duration") == 299.999
    assert window.console() == []


def test_a_click_on_a_sample_opens_its_response(window):
    window.run("liveStudy.openSample(page.runs[0], 2)")
    window.wait(f"!{LIVE}.busy && !{LIVE}.wanted")
    assert window.run(f"return {LIVE}.controls.values()['variables.peak']") == 4.0
    assert "contacts in 3 s" in window.run(
        "return document.querySelector('.regime').textContent"
    )


@needs_node
def test_a_page_of_a_system_with_a_duration_needs_no_common_period(tmp_path):
    push = jv.AppliedLoad([1.0], jv.StepLoad(1.0))
    system = jv.ImpactSystem(jv.LinearSystem([[1.0]], [[0.0]], [[4.0]]), (), (push,))
    page = jv.live_page(system, tmp_path / "step.html", duration=7.0)
    found = evaluated(
        page, "(({ extremes, states }) => [...extremes[0], ...states.slice(-2)])"
        "(motions.response(page.live.duration))",
    )  # fmt: skip
    expected = [0.5, np.pi / 2, 0.25 - 0.25 * np.cos(14.0), 0.5 * np.sin(14.0)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


@needs_node
@pytest.mark.parametrize("periodic", [False, True])
def test_pieces_of_a_record_are_chosen_as_by_the_engine(tmp_path, periodic):
    times = np.array([0.3, 0.7, 1.4, 2.0, 2.9])
    law = jv.RecordLoad(times, [1.0, -2.0, 3.0, 0.5, 1.0], periodic, "cubic", scale=2.5)
    push = jv.AppliedLoad([1.0], law, "push")
    system = jv.ImpactSystem(jv.LinearSystem([[1.0]], [[0.3]], [[4.0]]), (), (push,))
    page = jv.live_page(system, tmp_path / "record.html", duration=6.0)
    found = evaluated(
        page,
        "((motion) => [[...motion.times], [...motion.loads], [...motion.states.slice(-2)]])"
        "(motions.response(6.0))",
    )
    there = np.array(found[0])
    forces = np.asarray(jax.vmap(law.force)(there))
    between = ~np.isin(there.round(9), (times + 2.6 * np.arange(-1, 3)[:, None]).round(9))
    np.testing.assert_allclose(np.array(found[1])[between], forces[between], atol=1e-12)
    end = jv.flow(system, system.rest(), 0.0, 6.0, rtol=1e-10)
    np.testing.assert_allclose(found[2], end, rtol=0, atol=1e-9)


def test_a_record_that_repeats_too_often_is_refused(tmp_path):
    push = jv.AppliedLoad([1.0], jv.RecordLoad([0.0, 1e-6, 2e-6], [0.0, 1.0, 0.0], True))
    system = jv.ImpactSystem(jv.LinearSystem([[1.0]], [[0.3]], [[4.0]]), (), (push,))
    with pytest.raises(ValueError, match=r"loads.0 has 5e\+06 pieces in duration = 5 s"):
        jv.live_page(system, tmp_path / "record.html", duration=5.0)


def test_a_report_without_a_panel_says_why(study, tmp_path, monkeypatch):
    monkeypatch.setattr("jaxvib.reports.live.panel._MOST_PIECES", 10)
    folder = shutil.copytree(study, tmp_path / "copy")
    written = written_report(folder)
    why = "loads.quake has 40 pieces in duration = 3 s; allowed on a live page: up to 10"
    assert written.no_live == why
    assert f"<p class='note'>No live motion: {why}.</p>" in written.path.read_text("utf-8")
    monkeypatch.undo()
    assert written_report(folder).no_live == ""
    assert "No live motion" not in written.path.read_text("utf-8")


def test_the_command_needs_a_duration_for_loads_that_do_not_repeat(study, tmp_path):
    command = ["live", str(study.parent / "shaken.toml"), "--out", str(tmp_path / "a.html")]
    refused = CliRunner().invoke(cli.main, command)
    assert refused.exit_code != 0
    assert "is not periodic" in refused.output
    written = CliRunner().invoke(cli.main, [*command, "--duration", "3"])
    assert written.exit_code == 0
    assert (tmp_path / "a.html").stat().st_size < 200_000
