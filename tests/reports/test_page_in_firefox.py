"""Checked against: the same pages in Chromium, and what Firefox's own console says."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.reports.page import page
from jaxvib.reports.report import pictures_of
from jaxvib.studies.store.finished_study import Run, read_run

from .firefox import FIREFOX, MISSING, Firefox
from .test_page_in_browser import MARKS, READY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    if FIREFOX is None:
        pytest.skip(MISSING)
    window = Firefox(tmp_path_factory.mktemp("firefox"))
    yield window
    window.close()


def test_its_console_is_heard(firefox, tmp_path):
    wrong = tmp_path / "wrong.html"
    wrong.write_text("<!doctype html><script>console.error('told'); not.there</script>")
    firefox.open(wrong)
    assert firefox.console() == ["told", "ReferenceError: not is not defined"]


@pytest.mark.parametrize(
    "names",
    [["map_study"], ["map_study", "other_map_study"], ["cube_study"], ["random_study"],
     ["sweep_study"], ["branch"], ["design"]],
    ids=lambda names: " beside ".join(names),
)  # fmt: skip
def test_it_draws_what_chromium_draws(firefox, browser, request, names, tmp_path):
    found = [request.getfixturevalue(name) for name in names]
    runs = [each if isinstance(each, Run) else read_run(each) for each in found]
    report = tmp_path / "report.html"
    report.write_text(page(pictures_of(runs), runs).html, "utf-8")
    drawn = []
    for window in (firefox, browser):
        window.console()
        window.open(report)
        window.wait(READY)
        assert window.console() == []
        drawn.append(window.run(f"return {MARKS}"))
        trouble = "return document.getElementById('trouble').checkVisibility()"
        assert not window.run(trouble)
    assert drawn[0] == drawn[1]
    assert all(drawn[0])


def test_a_slice_is_chosen_there_too(firefox, cube_study, tmp_path):
    run = read_run(cube_study)
    report = tmp_path / "report.html"
    report.write_text(page(pictures_of([run]), [run]).html, "utf-8")
    firefox.open(report)
    firefox.wait(READY)
    firefox.run(
        """const select = document.querySelector("#regimes .slices select");
        select.value = "gap";
        select.dispatchEvent(new Event("change"));"""
    )
    shown = "document.querySelector('#regimes .chart').data[0].x.length"
    firefox.wait(f"{shown} === {run.grid['gap']}")
    assert firefox.console() == []


@pytest.mark.parametrize("width", [500, 1280, 2560])
def test_nothing_is_wider_than_its_window(firefox, map_report, width):
    firefox.command("WebDriver:SetWindowRect", width=width, height=900)
    firefox.open(map_report)
    firefox.wait(READY)
    firefox.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    found = firefox.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert found[0] <= found[1]


def test_it_computes_the_motions_that_chromium_computes(firefox, browser, tmp_path):
    page = jv.live_page(jv.two_body_impact(), tmp_path / "live.html")
    live, found, maps = "document.querySelector('.live').live", [], []
    for window in (firefox, browser):
        window.console()
        window.open(page)
        window.wait(READY)
        window.wait(f"{live}.answer.settled")
        window.run("document.querySelector('.orbit').click()")
        window.wait(f"{live}.answer.multipliers")
        found.append(window.run(f"return [...{live}.answer.motion.states]"))
        window.run(f"{live}.map.number = 4; document.querySelector('.map').open = true")
        window.wait("document.querySelector('.map').dataset.cells === '16'")
        cells = (
            f"return {live}.map.cells.map(({{ periods, contacts }}) => [periods, contacts])"
        )
        maps.append(window.run(cells))
        assert window.console() == []
    assert maps[0] == maps[1]
    assert len(set(map(tuple, maps[0]))) > 1
    # Newton's method began in each where its transient was, and ended within rounding,
    # which velocities in a rigid contact magnify a thousandfold.
    assert np.abs(np.subtract(*found)).max() < 1e-11
