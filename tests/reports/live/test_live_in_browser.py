"""Checked against: the CPU's kernel and its orbits, as a headless Chromium shows them."""

import json
import re

import numpy as np
import pytest

import jaxvib as jv
from tests.reports.test_page_in_browser import CONTRASTS, READY

from .test_live_page import beside

LIVE = "document.querySelector('.live').live"
TITLE = "document.querySelector('.regime').textContent"
bodies = jv.two_body_impact()


@pytest.fixture(scope="module")
def live_page(tmp_path_factory):
    return jv.live_page(bodies, tmp_path_factory.mktemp("live") / "live.html")


@pytest.fixture
def window(browser, live_page):
    browser.open(live_page)
    browser.wait(f"{READY} && {LIVE}.answer.settled")
    return browser


def answered(window, action):
    """Run a script, and wait until the worker has answered what it asked."""
    before = window.run(f"{LIVE}.play(false); return {LIVE}.id")
    window.run(action)
    window.wait(f"{LIVE}.id > {before} && !{LIVE}.busy")


def enter(path, value):
    return (
        f"const c = {LIVE}.controls.all.find(({{ path }}) => path === '{path}'); "
        f"c.entry.value = {value}; c.entry.dispatchEvent(new Event('change'));"
    )


def test_it_starts_without_a_word_and_asks_nothing_of_a_network(browser, live_page):
    browser.console(), browser.requests()
    browser.open(live_page)
    browser.wait(READY)
    assert browser.console() == []
    assert browser.requests() == [live_page.resolve().as_uri()]
    assert browser.run(f"return {TITLE}") == "Period 1 with 1 contact"
    assert not browser.run("return document.getElementById('trouble').checkVisibility()")


def test_a_slider_moves_the_motion_and_the_number_beside_it(window):
    def move(to):
        answered(
            window,
            f"const c = {LIVE}.controls.all.find((c) => c.path === 'load.frequency');"
            f"c.slider.value = {to}; c.slider.dispatchEvent(new Event('input'));",
        )

    move(300)
    window.wait(f"{LIVE}.answer.settled")
    entry = float(
        window.run(
            "return document.querySelector('[aria-label=\"load frequency, rad/s\"]').value"
        )
    )
    assert entry == pytest.approx(2.9 + 0.3 * 5.8, rel=1e-5)
    state, period = window.run(
        f"const a = {LIVE}.answer; return [[...a.points].slice(-4), a.period]"
    )
    lane = jv.replace(bodies, {"load.frequency": entry})
    orbit = jv.periodic_orbit(lane, periods=None)
    after = [jv.flow(lane, orbit.state, 0.0, k * period) for k in range(8)]
    assert period == pytest.approx(2 * np.pi / entry)
    assert np.abs(np.stack(after) - np.array(state)).max(1).min() < 1e-6


def test_orbit_writes_the_multipliers_and_settling_lets_it_go(window):
    answered(window, "document.querySelector('.orbit').click()")
    words = window.run(
        "return [document.querySelector('.stability').textContent,"
        "document.querySelector('.multipliers').textContent]"
    )
    orbit = jv.periodic_orbit(bodies)
    largest = float(np.abs(orbit.floquet_multipliers).max())
    assert (
        re.search(r"stable: largest \|multiplier\| (\S+);", words[0])[1] == f"{largest:.5g}"
    )
    listed = re.findall(r"(−?[\d.]+) ± ([\d.]+)i", words[1])
    found = sorted(complex(float(a.replace("−", "-")), float(b)).real for a, b in listed)
    expected = sorted(
        {round(float(m.real), 5) for m in np.asarray(orbit.floquet_multipliers)}
    )
    np.testing.assert_allclose(found, expected, atol=2e-5)
    pressed = "return document.querySelector('.orbit').getAttribute('aria-pressed')"
    assert window.run(pressed) == "true"
    answered(window, "document.querySelector('.settle').click()")
    assert window.run(pressed) == "false"


def test_a_diagram_has_the_points_of_the_orbits_and_moves_the_slider(window):
    window.run("document.querySelector('.diagram').open = true")
    window.wait("document.querySelector('.diagram').dataset.columns === '256'")
    x, y = window.run(
        f"const {{ points, live }} = {LIVE}.diagram; const size = live.size;"
        "return [points.x, points.x.map((_, k) => points.states[k * size])]"
    )
    values, displacements = np.array(x), np.array(y)
    assert len(np.unique(values)) == 256
    assert len(values) == 256 * 48
    place = np.unique(values)[np.abs(np.unique(values) - 5.8).argmin()]
    orbit = jv.periodic_orbit(jv.replace(bodies, {"load.frequency": place}))
    drawn = displacements[values == place]
    np.testing.assert_allclose(drawn, float(orbit.state[0]), rtol=0, atol=1e-8)
    left, top, width = window.run(
        "const plot = document.querySelector('.diagram .plot');"
        "plot.scrollIntoView({ block: 'center', behavior: 'instant' });"
        f"const box = plot.getBoundingClientRect(), {{ left, right }} = "
        f"{LIVE}.diagram.plot.frame; return [box.x + left, box.y + 60, right - left]"
    )
    window.point(left + 0.25 * width, top, click=True)
    moved = window.run(f"return {LIVE}.controls.values()['load.frequency']")
    assert moved == pytest.approx(2.9 + 0.25 * 5.8, abs=5.8 / width)


def test_a_map_fills_and_its_cells_open_their_motions(window):
    window.run(f"{LIVE}.map.number = 8; document.querySelector('.map').open = true")
    window.wait("document.querySelector('.map').dataset.cells === '64'")
    cells = window.run(f"return {LIVE}.map.cells")
    frequencies, amplitudes = (np.unique([cell["at"][k] for cell in cells]) for k in (0, 1))
    np.testing.assert_allclose(frequencies, 2.9 + 5.8 * (np.arange(8) + 0.5) / 8)
    assert len(amplitudes) == 8
    named = window.run(
        "return [...document.querySelectorAll('.kinds li')].map((e) => e.textContent)"
    )
    assert {"period 1 with 0 contacts", "period 1 with 1 contact"} <= set(named)
    cell = cells[2 * 8 + 3]  # 375 N, a frequency of 5.4 rad/s
    frequency, amplitude = cell["at"]
    lane = jv.replace(bodies, {"load.frequency": frequency, "load.amplitude": amplitude})
    orbit = jv.periodic_orbit(lane)
    assert [orbit.stable, orbit.contacts] == [cell["periods"], cell["contacts"]] == [1, 1]
    np.testing.assert_allclose(cell["state"], orbit.state, rtol=0, atol=1e-8)
    told = "document.querySelector('.map output').textContent"
    assert window.run(f"return {told}").startswith("64 motions from rest")
    answered(window, enter("gap", 0.06))
    assert window.run(f"return {told}").endswith("at earlier values of other sliders")
    left, top = window.run(
        "const plot = document.querySelector('.map .plot');"
        "plot.scrollIntoView({ block: 'center', behavior: 'instant' });"
        f"const box = plot.getBoundingClientRect(), chart = {LIVE}.map.plot;"
        f"const [x, y] = {json.dumps(cell['at'])};"
        "return [box.x + chart.x(x), box.y + chart.y(y)]"
    )
    window.point(left, top, click=True)
    words = window.run("return document.querySelector('.map .readout').textContent")
    beside = f"const map = {LIVE}.map, {{ right, bottom }} = map.plot.frame;"
    for place in ("1, bottom - 1", "right, bottom - 1", "right - 1, bottom + 9"):
        assert window.run(f"{beside} return map.cell(...map.at({place}))") is None
    assert words.startswith(f"period {cell['periods']} with {cell['contacts']} contact")
    window.wait(f"{LIVE}.answer.settled && !{LIVE}.busy")
    values = window.run(f"return {LIVE}.controls.values()")
    assert [values["load.frequency"], values["load.amplitude"]] == cell["at"]
    assert values["gap"] == 0.05  # that of the map
    assert window.run(f"return {TITLE}").lower() == words.partition(",")[0]
    window.run(
        "const find = (name) => document.querySelector(`.map ${name}`);"
        "find('.up').value = find('.across').value;"
        "find('.compute').click()"
    )
    assert "two different" in window.run(
        "return document.querySelector('.map output').textContent"
    )


def test_a_map_waits_while_sliders_move_and_is_finished_afterwards(window):
    window.run(f"{LIVE}.map.number = 16; document.querySelector('.map').open = true")
    window.wait(f"{LIVE}.map.done > 0")
    during = window.evaluate(
        f"(async () => {{ const live = {LIVE}, seen = [];"
        "live.ask('follow'); clearTimeout(live.holding);"  # as if sliders moved on
        "for (let turn = 0; turn < 2; turn++) {"
        "await new Promise((r) => setTimeout(r, 400)); seen.push(live.map.done); }"
        "live.ask('follow'); return seen; })()"
    )
    assert during[0] == during[1] < 256
    window.wait("document.querySelector('.map').dataset.cells === '256'")


def test_charts_out_of_sight_are_painted_when_no_slider_moves(window):
    window.evaluate(
        f"{LIVE}.play(false); scrollTo({{ top: 0, behavior: 'instant' }});"
        "document.querySelector('.seen').style.paddingBottom = '3000px';"
        "document.querySelector('.diagram').open = true"
    )
    window.wait("document.querySelector('.diagram').dataset.columns === '256'")
    window.wait(f"!{LIVE}.diagram.plot.seen && !{LIVE}.diagram.plot.stale")
    pixels = f"{LIVE}.diagram.plot.canvas.toDataURL()"
    first = window.evaluate(pixels)
    asked = "const c = live.controls.all.find(({ path }) => path === 'load.frequency');"
    unpainted = window.evaluate(
        f"(async () => {{ const live = {LIVE}, {{ plot }} = live.diagram; {asked}"
        "c.put(6.2); live.ask('follow');"
        "while (live.busy) await new Promise((r) => setTimeout(r, 1));"
        f"return [plot.stale, {pixels}]; }})()"
    )
    assert unpainted == [True, first]
    window.wait(f"!{LIVE}.diagram.plot.stale")
    assert window.evaluate(pixels) != first


def test_cells_of_a_map_are_computed_coarse_to_fine(window):
    order = window.run("return coarseToFine(8)")
    assert sorted((i, j) for i, j, _ in order) == [
        (i, j) for i in range(8) for j in range(8)
    ]
    assert order[:4] == [[0, 0, 8], [4, 0, 4], [0, 4, 4], [4, 4, 4]]


def test_one_body_alone_is_in_the_charts(window):
    drawn = (
        f"const {{ plane, history, spectrum }} = {LIVE};"
        "return [plane.content.points, history.content.lines, spectrum.content.stems]"
        ".map((all) => all.map(({ colour }) => colour))"
    )
    both = window.run(drawn)
    assert all(len(set(colours)) == 2 for colours in both)
    window.run("document.querySelectorAll('.bodies button')[1].click()")
    assert window.run(drawn) == [[colours[1]] for colours in both]
    window.run("document.querySelectorAll('.bodies button')[1].click()")
    assert window.run(drawn) == both


def test_lines_of_the_spectrum_stand_at_multiples_of_the_load(window):
    x, y, at = window.run(
        f"const {{ x, y }} = {LIVE}.spectrum.content.stems[0];"
        f"return [[...x], [...y], {LIVE}.controls.values()['load.frequency']]"
    )
    np.testing.assert_allclose(x, at * np.arange(1, 11), rtol=1e-12)
    orbit = jv.periodic_orbit(bodies)
    times = np.arange(16) / 16 * float(orbit.period)
    states = np.stack([jv.flow(bodies, orbit.state, 0.0, t) for t in times])
    first = 2 * np.abs(np.fft.rfft(states[:, 0]))[1] / 16
    assert 10 ** y[0] == pytest.approx(first, rel=2e-3)  # the aliases of 16 samples


def test_a_number_outside_its_range_is_refused(window):
    before = window.run(f"return {LIVE}.id")
    window.run(enter("main.mass", -5))
    assert (
        window.run("return document.querySelector('.control input:invalid').value") == "-5"
    )
    assert "allowed: (0, inf) kg" in window.run(
        "return document.querySelector('.control input:invalid').validationMessage"
    )
    assert window.run(f"return {LIVE}.id") == before
    answered(window, enter("main.mass", 20000))  # beyond the slider, which moves with it
    assert (
        window.run("return document.querySelectorAll('.control input:invalid').length") == 0
    )
    assert "--set main.mass=20000" in window.run(
        "return document.querySelector('.assignments').textContent"
    )


@pytest.mark.parametrize("width", [400, 800, 1280, 2560])
def test_nothing_is_wider_than_the_window(browser, live_page, width):
    view = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.command("Emulation.setDeviceMetricsOverride", **view)
    browser.open(live_page)
    browser.wait(READY)
    found = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
    browser.command("Emulation.clearDeviceMetricsOverride")
    assert found == [width, width]


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(browser, live_page, colours):
    scheme = {"name": "prefers-color-scheme", "value": colours}
    browser.command("Emulation.setEmulatedMedia", features=[scheme])
    browser.open(live_page)
    browser.wait(READY)
    answered(browser, "document.querySelector('.orbit').click()")
    found = browser.run(CONTRASTS)
    browser.command("Emulation.setEmulatedMedia", features=[])
    assert found == {}


def test_whatever_can_be_used_has_a_name_of_its_own(window):
    nodes = window.command("Accessibility.getFullAXTree")["nodes"]
    roles = ("button", "slider", "combobox", "spinbutton", "image", "region")
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in nodes
        if node.get("role", {}).get("value") in roles and not node["ignored"]
    ]
    assert sum(role == "slider" for role, _ in named) == 1 + 11
    assert "" not in {name for _, name in named}
    assert len(set(named)) == len(named)


def test_without_webassembly_it_says_so(browser, live_page, tmp_path):
    html = live_page.read_text("utf-8")
    page = tmp_path / "old.html"
    # As by a policy of a firm: compiling is forbidden.
    page.write_text(html.replace(" 'wasm-unsafe-eval'", ""), "utf-8")
    browser.open(page)
    browser.wait("document.getElementById('trouble').checkVisibility()")
    told = browser.run("return document.getElementById('trouble').textContent")
    assert told.startswith("The motion cannot be computed here: ")
    browser.console()


def test_values_that_are_refused_together_show_no_verdict(browser, tmp_path):
    page = jv.live_page(beside(), tmp_path / "together.html")
    browser.open(page)
    browser.wait(f"{READY} && {LIVE}.answer.settled")
    stability = "document.querySelector('.stability').textContent"
    answered(browser, enter("frictions.pad.force", 0.9))
    assert browser.run(f"return {TITLE}") == "These values are refused"
    words = "the values of CoulombFriction pad contradict each other"
    assert browser.run(f"return {stability}") == words
    dimmed = "getComputedStyle(document.querySelector('.live-charts')).opacity"
    assert float(browser.run(f"return {dimmed}")) < 0.5
    assert browser.run("return document.querySelector('.live').dataset.stable") == ""
    answered(browser, enter("frictions.pad.force", 0.7))
    browser.wait(f"{LIVE}.answer.settled")
    assert browser.run(f"return {TITLE}").startswith("Period 1")
    assert float(browser.run(f"return {dimmed}")) == 1
    assert browser.console() == []
