"""Checked against: shapes in the store, and the places that a headless Chromium draws."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

from jaxvib.cli import main
from jaxvib.reports.reading import read_run
from jaxvib.reports.stages import beam_layout, chain_layout, row_layout
from jaxvib.studies import ready

READY = "document.documentElement.dataset.ready"
PLACES = (
    "[...document.querySelectorAll('.scene .body')].map((b) => b.getAttribute('transform'))"
)


def run_ready(name, directory, *sets):
    words = [word for each in sets for word in ("--set", each)]
    file = ready.folder() / f"{name}.toml"
    done = CliRunner().invoke(main, ["run", str(file), *words, "--out", str(directory)])
    assert done.exit_code == 0, done.output
    return directory


@pytest.fixture(scope="session")
def modes_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "modes"
    return run_ready(
        "tower_modes", directory, "sweep.modules.roof-pendulum.length=[0.3, 0.9]"
    )


@pytest.fixture(scope="session")
def response_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "response"
    return run_ready("tower_response", directory, "analysis.points=51")


def scrub(browser, part):
    browser.run(
        """const slider = document.querySelector(".scene .player input");
        slider.value = arguments[0];
        slider.dispatchEvent(new Event("input"));""",
        part,
    )


def across(browser):
    return [
        float(re.match(r"translate\(([-.\d]+)", each)[1])
        for each in browser.run(f"return {PLACES}")
    ]


def check_player(browser):
    """Play moves the bodies, pause stops them, the slider puts them where it says."""
    button = "document.querySelector('.scene .play')"
    before = browser.run(f"return {PLACES}")
    browser.run(f"{button}.click()")
    assert browser.run(f"return {button}.textContent") == "Pause"
    browser.wait(f"JSON.stringify({PLACES}) !== {str(before)!r}")
    browser.wait("Number(document.querySelector('.scene .player input').value) > 0.002")
    browser.run(f"{button}.click()")
    assert browser.run(f"return {button}.textContent") == "Play"
    stopped = browser.run(f"return {PLACES}")
    browser.run(
        "requestAnimationFrame(() => requestAnimationFrame(() => { window.later = true; }))"
    )
    browser.wait("window.later")
    assert browser.run(f"return {PLACES}") == stopped
    scrub(browser, 0.0)
    assert browser.run(f"return {PLACES}") == before


def test_a_mode_is_played_paused_and_scrubbed(browser, modes_study):
    browser.console()
    browser.open(modes_study / "report.html")
    browser.wait(READY)
    check_player(browser)
    # the second mode of the second sample, at its largest and a quarter of a cycle on
    browser.run(
        """const [mode, sample] = document.querySelectorAll(".scene .pick");
        mode.value = 1; sample.value = 1;
        for (const each of [mode, sample]) each.dispatchEvent(new Event("change"));"""
    )
    scrub(browser, 0.0)
    largest = np.array(across(browser)[:3])
    scrub(browser, 0.25)
    middle = np.array(across(browser)[:3])
    shape = read_run(modes_study).field("shapes")[1, :3, 1]
    moved = largest - middle
    np.testing.assert_allclose(moved / moved[2], shape / shape[2], rtol=1e-4)
    frequency = read_run(modes_study).field("frequencies")[1, 1]
    words = browser.run("return document.querySelector('.scene output').textContent")
    assert words.startswith(f"{frequency:.4g} rad/s")
    assert browser.console() == []


def test_a_response_is_drawn_over_frequency(browser, response_study):
    browser.console()
    browser.open(response_study / "report.html")
    browser.wait(READY)
    lines = "(chart) => chart.querySelectorAll('.scatterlayer .trace').length"
    drawn = f"[...document.querySelectorAll('.chart')].map({lines})"
    assert browser.run(f"return {drawn}") == [3, 3]
    assert browser.console() == []
    pictures = {file.name for file in (response_study / "pictures").iterdir()}
    assert "frequency_response.svg" in pictures


def test_rods_hang_on_their_carriers_and_springs_join_rows():
    modules = {
        "ground-cart": {"module": "translation_translation"},
        "cart-one": {"module": "translation_rotation", "standing": False},
        "one-two": {"module": "rod_on_rod", "standing": False},
        "cart-other": {"module": "spring"},
    }
    names = ["cart", "one", "two", "other"]
    layout = row_layout(modules, names, np.array([False, True, True, False]))
    assert layout["carrier"] == [-1, 0, 1, -1]
    assert layout["level"] == [0, 0, 0, 1]
    assert layout["links"] == [[-1, 0], [0, 3]]


def test_beams_in_a_row_are_laid_out_by_their_lengths():
    names = ["tip.y", "tip.angle", "end.y", "end.angle"]
    beams = {"ground-tip": {"module": "beam", "length": 2.0},
             "tip-end": {"module": "beam", "length": 0.5}}  # fmt: skip
    layout = beam_layout(beams, names)
    assert layout["at"] == [0.0, 2.0, 2.5]
    assert layout["beams"] == [[-1, -1, 0, 1, 0, 1], [0, 1, 2, 3, 1, 2]]
    assert layout["bodies"] == [[0, 1, 1], [2, 3, 2]]
    assert beam_layout(beams, [*names, "cart"]) is None
    clamped = chain_layout(2, 1.0, "clamped")
    assert clamped["beams"] == [
        [-1, -1, 0, 2, 0, 1],
        [0, 2, 1, 3, 1, 2],
        [1, 3, -1, -1, 2, 3],
    ]
