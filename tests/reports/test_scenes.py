"""Checked against: shapes in the store, and the places that a headless Chromium draws."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies.pictures.layouts import beam_layout, chain_layout, row_layout
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.store.finished_study import read_run

READY = "document.documentElement.dataset.ready"
PLACES = (
    "[...document.querySelectorAll('.scene .body')].map((b) => b.getAttribute('transform'))"
)


def run_ready(name, directory, *sets):
    words = [word for each in sets for word in ("--set", each)]
    config = builtin_studies.folder() / f"{name}.toml"
    return run(config, directory, "--pictures", *words)


def run(config, directory, *words):
    with pytest.MonkeyPatch.context() as patch:
        # What the command sets in its environment must not outlive a test.
        patch.setattr(cli, "use_compilation_cache", lambda: None)
        command = ["run", str(config), *words, "--out", str(directory)]
        done = CliRunner().invoke(cli.main, command)
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


@pytest.fixture(scope="session")
def swinging_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "swinging"
    return run_ready("tower_motion", directory, "analysis.points=61")


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


@pytest.mark.slow
def test_a_tower_let_go_is_played_paused_and_scrubbed(browser, swinging_study):
    browser.console()
    browser.open(swinging_study / "report.html")
    browser.wait(READY)
    check_player(browser)
    places = read_run(swinging_study).field("places")
    assert across(browser)[:2] == pytest.approx(
        460 + 150 * places[0, 0, :2] / np.abs(places[..., :2]).max(), abs=0.1
    )
    scrub(browser, 1.0)
    words = browser.run("return document.querySelector('.scene output').textContent")
    assert words == "t = 6.00 s"
    assert browser.console() == []
    pictures = {file.name for file in (swinging_study / "pictures").iterdir()}
    assert {"freedoms.svg", "module_energies.svg", "assembly_motion.svg"} <= pictures


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


@pytest.fixture(scope="session")
def packet_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "packet"
    return run_ready(
        "wave_packet", directory, "bodies=24", "analysis.body=8", "analysis.width=2.0",
        "analysis.points=9", "analysis.duration=20.0", "defects=[{body = 20, mass = 6.0}]",
    )  # fmt: skip


def test_a_chain_is_played_paused_and_scrubbed(browser, packet_study):
    browser.console()
    browser.open(packet_study / "report.html")
    browser.wait(READY)
    check_player(browser)
    heights = f"return {PLACES}.map((t) => Number(t.split(/[ )]/)[1]))"
    scrub(browser, 0.0)
    drawn = np.array(browser.run(heights))
    place = read_run(packet_study).motion["states"].values[0, 0, 0]
    place = place - place.mean()
    np.testing.assert_allclose(
        (drawn - 150) / np.abs(drawn - 150).max(), -place / np.abs(place).max(), atol=1e-3
    )
    scrub(browser, 1.0)
    words = browser.run("return document.querySelector('.scene output').textContent")
    last = float(read_run(packet_study).motion["frames"].values[0, -1])
    assert words == f"t = {last:.2f} s"
    count = "(chart) => chart.querySelectorAll('.trace, .hm').length"
    drawn = f"[...document.querySelectorAll('.chart')].map({count})"
    assert all(browser.run(f"return {drawn}"))
    assert browser.console() == []


def test_a_beam_in_a_mode_is_drawn_as_its_cubic(browser, tmp_path):
    config = tmp_path / "beam.toml"
    config.write_text(
        """
        [system]
        kind = "assembly"
        modules.ground-tip = { module = "beam", length = 2.0, bending_stiffness = 3.0 }
        modules.tip.y = { module = "point_mass", mass = 0.3 }
        modules.tip.angle = { module = "point_inertia", inertia = 0.01 }
        [analysis]
        kind = "natural_modes"
        """
    )
    run(config, tmp_path / "out")
    browser.open(tmp_path / "out" / "report.html")
    browser.wait(READY)
    path = browser.run("return document.querySelector('.scene .beams').getAttribute('d')")
    numbers = [float(x) for x in re.findall(r"-?[\d.]+(?:e-?\d+)?", path)]
    (x0, y0), (_, y1), (x2, y2), (x3, y3) = np.reshape(numbers, (4, 2))
    assert y0 == y1 == 150  # clamped: it starts level
    shape = read_run(tmp_path / "out").field("shapes")[0, :, 0]
    slope = (y3 - y2) / (x3 - x2) * (x3 - x0) / (y3 - y0) / 2.0  # per metre of the beam
    assert slope == pytest.approx(shape[1] / shape[0], rel=1e-3)
