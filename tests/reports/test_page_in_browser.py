"""Checked against: the store's own numbers, as a real headless Chromium shows them."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.reports.page import page
from jaxvib.reports.report import pictures_of
from jaxvib.studies.run.study import load_text
from jaxvib.studies.store.finished_study import Run, read_run

READY = "document.documentElement.dataset.ready"
HOVERED = (
    "[...document.querySelectorAll('.hovertext')].map((e) => e.textContent).join('\\n')"
)
WHERE = "document.querySelector('.motion .where').textContent"
MARKS = (  # in each chart
    "[...document.querySelectorAll('.chart')].map((chart) => chart.querySelectorAll("
    "'.heatmaplayer image, .scatterlayer .js-line, .scatterlayer .point').length)"
)
RANGE = "document.querySelector('#regimes .chart')._fullLayout.xaxis.range"


@pytest.fixture
def window(browser, map_report):
    browser.open(map_report)
    browser.wait(READY)
    return browser


def place(window, chart, across, up):
    """Return where a point of a chart's plot is in the window, after scrolling there."""
    return window.run(
        """const chart = document.querySelector(arguments[0]);
        chart.scrollIntoView({block: "center", behavior: "instant"});
        const plot = chart.querySelector(".nsewdrag").getBoundingClientRect();
        return [plot.x + arguments[1] * plot.width,
                plot.bottom - arguments[2] * plot.height];""",
        chart, across, up,
    )  # fmt: skip


def cell(window, chart, column, row):
    """Return where the middle of a map's cell is: 8 columns, 6 rows."""
    return place(window, chart, (column + 0.5) / 8, (row + 0.5) / 6)


def test_it_draws_with_no_error_and_asks_nothing_of_a_network(browser, map_report):
    browser.console(), browser.requests()
    browser.open(map_report)
    browser.wait(READY)
    assert browser.console() == []
    assert browser.requests() == [map_report.resolve().as_uri()]
    drawn = browser.run(f"return {MARKS}")
    assert len(drawn) == 8
    assert all(drawn)
    assert not browser.run("return document.getElementById('trouble').checkVisibility()")


@pytest.mark.parametrize("width", [400, 1280, 3840])
def test_nothing_is_wider_than_the_window(browser, map_report, width):
    view = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.command("Emulation.setDeviceMetricsOverride", **view)
    browser.open(map_report)
    browser.wait(READY)
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    found = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
    browser.command("Emulation.clearDeviceMetricsOverride")
    assert found == [width, width]


def test_whatever_can_be_used_has_a_name_and_so_has_every_picture(window):
    window.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    nodes = window.command("Accessibility.getFullAXTree")["nodes"]
    roles = ("button", "link", "slider", "combobox", "spinbutton", "image", "region")
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if node.get("role", {}).get("value") in roles and not node["ignored"]
    ]
    assert {role for role, _ in named} >= {"button", "link", "slider", "spinbutton"}
    assert [role for role, name in named if not name.strip()] == []
    levels = [
        each["value"]["value"]
        for node in nodes
        if node.get("role", {}).get("value") == "heading" and not node["ignored"]
        for each in node.get("properties", [])
        if each["name"] == "level"
    ]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}
    assert window.run("return document.documentElement.lang") == "en"


CONTRASTS = r"""
const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const light = (c) => c.map((v) => linear(v / 255))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const parts = (text) => text.match(/[\d.]+/g).map(Number);
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const c = parts(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c.slice(0, 3);
  }
};
const least = {};
document.querySelectorAll("details").forEach((d) => { d.open = true; });
for (const e of document.querySelectorAll("body *:not(script):not(style):not(svg *)")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || !e.getClientRects().length) continue;
  const [a, b] = [parts(getComputedStyle(e).color).slice(0, 3), behind(e)].map(light);
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) least[`${e.tagName} ${e.className} ${e.textContent}`] = ratio;
}
return least;
"""


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(browser, map_report, colours):
    scheme = {"name": "prefers-color-scheme", "value": colours}
    browser.command("Emulation.setEmulatedMedia", features=[scheme])
    browser.open(map_report)
    browser.wait(READY)
    found = browser.run(CONTRASTS)
    browser.command("Emulation.setEmulatedMedia", features=[])
    assert found == {}


def test_files_are_handed_out_from_inside_the_page(window, map_report):
    name = "regimes.csv"
    text = window.evaluate(
        "inflated(document.querySelector(\"script[data-file='regimes.csv']\").textContent)"
        ".then((bytes) => new TextDecoder().decode(bytes))"
    )
    assert text == (map_report.parent / "pictures" / name).read_text("utf-8")
    link = f"document.querySelector(\"a[download='{name}']\")"
    window.command("Browser.setDownloadBehavior", behavior="deny")
    window.run(f"{link}.click()")
    window.wait(f"{link}.href.startsWith('blob:')")
    assert window.console() == []


def test_charts_shrink_as_a_whole_on_paper(window):
    boxes = (
        "[...document.querySelectorAll('.chart .main-svg')].map((s) => "
        "s.getAttribute('viewBox'))"
    )
    window.run("dispatchEvent(new Event('beforeprint'))")
    found = window.run(f"return {boxes}")
    assert len(found) > 7
    assert all(found)
    window.run("dispatchEvent(new Event('afterprint'))")
    assert not any(window.run(f"return {boxes}"))


def pick(window, sample):
    window.run(
        """const input = document.querySelector(".sample .number");
        input.value = arguments[0];
        input.dispatchEvent(new Event("change"));""",
        sample,
    )
    return {
        kind: window.run(
            "return document.querySelector(`.sample pre.${arguments[0]}`).textContent", kind
        )
        for kind in ("command", "python", "config")
    }


def test_a_picked_sample_has_its_command_and_config(window, map_study):
    run = read_run(map_study)
    texts = pick(window, 19)
    assert texts["command"] == "jaxvib sample first 19"
    study = load_text(texts["config"])
    for path in run.paths:
        assert study.paths[path].listed().tolist() == [run.field(path)[19]]
    assert texts["config"] in texts["python"]
    told = window.run("return document.querySelector('.sample .findings').textContent")
    assert f"load amplitude {run.field('load.amplitude')[19]:.4g} N" in told


@pytest.mark.slow
def test_the_lines_of_python_of_a_sample_compute_it_again(window, map_study):
    run = read_run(map_study)
    chosen = np.flatnonzero((run.field("stable") == 1) & (run.field("contacts") > 0))
    sample = int(chosen[0])
    names: dict = {}
    exec(pick(window, sample)["python"], names)
    results = names["results"]
    for field, tolerance in (("amplitude", 2e-3), ("period", 1e-12)):
        # the page's study is stepped by another method, 600 steps a period
        np.testing.assert_allclose(
            results[field].values[0], run.field(field)[sample], rtol=tolerance
        )


def test_the_first_picture_is_there_within_a_second(browser, map_report):
    mark = "performance.getEntriesByName('first picture')[0].startTime"
    times = []
    while len(times) < 5 and min(times, default=1000) >= 1000:  # ms
        browser.open(map_report)  # again: other work on the machine is not the page's
        browser.wait(READY)
        times.append(browser.run(f"return {mark}"))
    assert min(times) < 1000


def test_a_failed_sample_is_not_white_on_white(window):
    x, y = cell(window, "#regimes .chart", 5, 0)
    window.point(x, y)
    window.wait(f"/failed/.test({HOVERED})")
    assert window.run(
        "return document.querySelector('#regimes .legend').textContent"
    ).count("failed")


def test_hovering_tells_the_sample(window, map_study):
    run = read_run(map_study)
    sample = 3 * 8 + 1
    window.point(*cell(window, "#stability .chart", 1, 3))
    window.wait(f"/load amplitude/.test({HOVERED})")
    text = window.run(f"return {HOVERED}")
    assert f"load amplitude {run.field('load.amplitude')[sample]:.4g} N" in text
    assert f"|multiplier| {run.field('largest_multiplier')[sample]:.4g}, stable" in text


def test_a_click_plays_the_motion_of_a_sample_that_is_stored(window, map_study):
    run = read_run(map_study)
    sample = int(run.traces["sample"].values[5])
    window.point(*cell(window, "#regimes .chart", sample % 8, sample // 8), click=True)
    window.wait(f"/sample {sample}\\)/.test({WHERE})")
    place_of_body = "document.querySelector('.stage g').getAttribute('transform')"
    before = window.run(f"return {place_of_body}")
    window.wait(f"{place_of_body} !== {before!r}")
    assert window.run("return document.querySelector('.play').textContent") == "Pause"
    assert window.console() == []


def test_a_click_on_another_sample_shows_its_own_numbers_and_computes_its_motion(
    window, map_study
):
    run = read_run(map_study)
    sample = 4 * 8 + 2  # frequency 2, amplitude 4
    assert sample not in run.traces["sample"].values
    window.point(*cell(window, "#regimes .chart", 2, 4), click=True)
    window.wait(f"/sample {sample}\\)/.test({WHERE})")
    assert "Its motion is not stored; the live panel" in window.run(f"return {WHERE}")
    assert not window.run(
        "return document.querySelector('.motion .charts').checkVisibility()"
    )
    measures = window.run("return document.querySelector('.motion .measures').textContent")
    force = float(run.field("max_contact_force")[sample])
    assert f"peak contact force{force / 1e3:.4g} kN" in measures
    window.wait(
        "liveStudy.running && liveStudy.live.answer.id === liveStudy.live.id "
        "&& liveStudy.live.answer.settled"
    )
    peak = window.run("return Math.max(...liveStudy.live.answer.motion.peaks)")
    values = {path: float(run.field(path)[sample]) for path in run.paths}
    system = jv.two_body_impact(contact=jv.HertzContact(3.504e7))
    orbit = jv.periodic_orbit(jv.replace(system, values))
    # The store of this test has made-up numbers; the motion is that of the values.
    assert peak == pytest.approx(float(orbit.max_contact_force), rel=1e-6)
    assert window.console() == []


def test_the_slider_of_time_moves_the_bodies(window):
    moved = window.run(
        """const body = () => document.querySelector(".stage g").getAttribute("transform");
        const slider = document.querySelector(".player input"), before = body();
        slider.value = 0.4;
        slider.dispatchEvent(new Event("input"));
        return [before, body()]"""
    )
    assert moved[0] != moved[1]


def test_one_body_alone_is_in_the_phase_plane(window):
    def choose(value):
        window.run(
            "const pick = document.querySelector('.motion .alone');"
            "pick.value = arguments[0]; pick.dispatchEvent(new Event('change'));",
            value,
        )
        window.evaluate("motion.draw()")
        return window.run(
            "const plane = document.querySelector('.motion .chart');"
            "return [plane.data.map(({ name }) => name).filter((n) => n !== 'in contact'),"
            "[...plane.querySelectorAll('.dot')].map((dot) => dot.checkVisibility())]"
        )

    assert choose(1) == [["attached"], [False, True]]
    assert choose(-1) == [["main", "attached"], [True, True]]


def test_the_wheel_zooms_a_chart_that_was_pointed_at(window):
    x, y = place(window, "#regimes .chart", 0.5, 0.5)
    before = window.run(f"return {RANGE}")
    window.point(x, y)
    window.turn_wheel(x, y, -240)
    window.wait(f"{RANGE}[1] - {RANGE}[0] < 0.95 * ({before[1]} - {before[0]})")


def test_the_wheel_scrolls_past_a_chart_that_was_not(window):
    x, y = place(window, "#regimes .chart", 0.5, 0.5)
    window.point(10, 10)
    before = window.run(f"return [{RANGE}, scrollY]")
    window.run("dispatchEvent(new Event('scroll'))")
    window.turn_wheel(x, y, 240)
    window.wait(f"scrollY > {before[1]}")
    assert window.run(f"return {RANGE}") == before[0]


def test_arrow_keys_walk_from_orbit_to_orbit(window):
    shown = window.run(f"return {WHERE}")
    window.run("document.querySelector('#regimes .chart').focus()")
    window.press("ArrowRight", 39)
    window.wait(f"{WHERE} !== {shown!r}")


def test_the_slider_picks_a_load_amplitude(window):
    text = window.run(
        """const slider = document.querySelector("#amplitude_curves .slider input");
        slider.value = 5;
        slider.dispatchEvent(new Event("input"));
        return document.querySelector("#amplitude_curves .slider output").textContent"""
    )
    assert text == "load amplitude 500 N"


def cube(window, cube_study, tmp_path):
    run = read_run(cube_study)
    report = tmp_path / "report.html"
    report.write_text(page(pictures_of([run]), [run]).html, "utf-8")
    window.console()
    window.open(report)
    window.wait(READY)
    return {
        name: run.field(name).reshape(*run.grid.values(), *run.field(name).shape[1:])
        for name in ("load.amplitude", "load.frequency", "gap", "max_contact_force",
                     "amplitude", "result")
    }  # fmt: skip


def take(window, picture, axis, path):
    """Choose an axis of a picture and return what all its selects then show."""
    return window.run(
        """const figure = document.getElementById(arguments[0]);
        const selects = [...figure.querySelectorAll(".slices select")];
        selects[arguments[1]].value = arguments[2];
        selects[arguments[1]].dispatchEvent(new Event("change"));
        return selects.map((select) => select.value)""",
        picture, axis, path,
    )  # fmt: skip


def stand(window, picture, path, option):
    """Move the slider of a path; returns what it says."""
    return window.run(
        """const label = [...document.querySelectorAll(`#${arguments[0]} .standing`)]
          .find((each) => each.querySelector("input").ariaLabel === arguments[1]);
        const input = label.querySelector("input");
        if (label.hidden) return null;
        input.value = arguments[2];
        input.dispatchEvent(new Event("input"));
        return label.querySelector("output").textContent""",
        picture, path, option,
    )  # fmt: skip


def test_any_two_of_three_paths_are_the_axes_of_a_map(browser, cube_study, tmp_path):
    fields = cube(browser, cube_study, tmp_path)
    assert stand(browser, "peak_force", "load frequency", 0) is None
    assert take(browser, "peak_force", 0, "gap") == ["gap", "load.amplitude"]
    assert take(browser, "peak_force", 1, "load.frequency") == ["gap", "load.frequency"]
    words = stand(browser, "peak_force", "load amplitude", 2)
    values = fields["load.amplitude"][0, :, 0]
    assert words == f"load amplitude {values[2]:.4g} N"
    plot = "document.querySelector('#peak_force .chart')"
    browser.wait(f"{plot}.data[0].z.length === 5")
    x, y, z, title = browser.run(
        f"const {{data: [d], layout}} = {plot}; return [[...d.x], [...d.y], "
        "d.z.map((row) => [...row].map((v) => 10 ** v)), layout.xaxis.title.text]"
    )
    np.testing.assert_allclose(x, fields["gap"][:, 0, 0])
    np.testing.assert_allclose(y, fields["load.frequency"][0, 0])
    force = fields["max_contact_force"][:, 2].T
    assert (force > 0).sum() > 5
    np.testing.assert_allclose(
        np.array(z, float), np.where(force > 0, force, np.nan), rtol=0.005
    )  # colours have eight bits
    assert title == "gap (m)"
    assert take(browser, "regimes", 0, "load.frequency") == ["load.frequency", "gap"]
    assert browser.console() == []


def test_a_click_on_a_slice_goes_to_its_own_sample(browser, cube_study, tmp_path):
    fields = cube(browser, cube_study, tmp_path)
    take(browser, "regimes", 0, "gap")
    take(browser, "regimes", 1, "load.frequency")
    stand(browser, "regimes", "load amplitude", 1)
    x, y = place(browser, "#regimes .chart", 2.5 / 3, 3.5 / 5)
    browser.point(x, y, click=True)
    sample = np.ravel_multi_index((2, 1, 3), fields["gap"].shape)
    number = "document.querySelector('.sample .number').value"
    browser.wait(f"/sample {sample}\\)/.test({WHERE})")
    assert int(browser.run(f"return {number}")) == sample
    amplitude = fields["load.amplitude"].ravel()[sample]
    shown = browser.run(
        "return [...document.querySelectorAll('#regimes .standing:not([hidden])')]"
        ".map((label) => label.textContent)"
    )
    assert shown == [f"load amplitude {amplitude:.4g} N"]
    assert browser.console() == []


def test_curves_run_along_any_path(browser, cube_study, tmp_path):
    fields = cube(browser, cube_study, tmp_path)
    assert take(browser, "amplitude_curves", 0, "gap") == ["gap"]
    settled = (fields["result"] == 0).all(0)
    row, column = np.argwhere(settled)[-1].tolist()
    stand(browser, "amplitude_curves", "load amplitude", row)
    stand(browser, "amplitude_curves", "load frequency", column)
    lines = browser.run(
        "return document.querySelector('#amplitude_curves .chart').data"
        ".map((line) => [[...line.x], [...line.y]])"
    )
    for freedom, (x, y) in enumerate(lines):
        np.testing.assert_allclose(x, fields["gap"][:, row, column], rtol=1e-6)
        np.testing.assert_allclose(
            y, fields["amplitude"][:, row, column, freedom], rtol=1e-4
        )
    assert len(lines) == 2


def test_a_dark_page_is_drawn_in_its_own_colours(browser, map_report):
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    browser.command("Emulation.setEmulatedMedia", features=[scheme])
    browser.open(map_report)
    browser.wait(READY)
    colours = browser.run(
        """const chart = document.querySelector("#regimes .chart");
        const page = getComputedStyle(document.body);
        return [page.backgroundColor, chart._fullLayout.font.color]"""
    )
    browser.command("Emulation.setEmulatedMedia", features=[])
    assert colours == ["rgb(21, 25, 29)", "#e5e9ec"]


@pytest.mark.parametrize(
    "kind", ["random", "sweep", "cube", "compared", "eight", "branch", "design"]
)
def test_every_kind_of_study_is_drawn(kind, browser, request, map_study, tmp_path):
    maps = ["map_study", "other_map_study"]
    names = {"compared": maps, "eight": 4 * maps, "branch": ["branch"],
             "design": ["design"]}.get(kind, [f"{kind}_study"])  # fmt: skip
    found = [request.getfixturevalue(name) for name in names]
    runs = [each if isinstance(each, Run) else read_run(each) for each in found]
    report = tmp_path / "report.html"
    report.write_text(page(pictures_of(runs), runs).html, "utf-8")
    browser.console()
    browser.open(report)
    browser.wait(READY)
    assert browser.console() == []
    assert all(browser.run(f"return {MARKS}"))


def test_multipliers_follow_the_pointer_along_a_branch(browser, branch, tmp_path):
    report = tmp_path / "branch.html"
    report.write_text(page(pictures_of([branch]), [branch]).html, "utf-8")
    browser.open(report)
    browser.wait(READY)
    shown = (
        "[...document.querySelectorAll('.chart')[3].data].find((t) => "
        "t.meta.is === 'Followers').x[0]"
    )
    values = branch.field("floquet_multipliers").real[:, 0]
    assert browser.run(f"return {shown}") == pytest.approx(values[2], rel=1e-6)
    x, y = browser.run(
        """const chart = document.querySelectorAll(".chart")[1];
        chart.scrollIntoView({block: "center", behavior: "instant"});
        const { xaxis, yaxis } = chart._fullLayout;
        const plot = chart.querySelector(".nsewdrag").getBoundingClientRect();
        return [plot.x + xaxis.l2p(arguments[0]), plot.y + yaxis.l2p(arguments[1])];""",
        float(branch.field("load.amplitude")[1]),
        float(branch.field("largest_multiplier")[1]),
    )
    browser.point(x, y)
    browser.wait(f"Math.abs({shown} - {values[1]}) < 1e-6")
    assert browser.console() == []
