"""Time from a slider to the picture in live pages, and the weight of the pages.

    python -m experiments.benchmarks.live_page STUDY [AXE]

In headless Chromium and Firefox, for two bodies, for three masses with a soft and a hard
stop, for six masses with three soft stops and for three storeys under a record of 15 s: a
slider moves in 150 steps, every 40 ms, while the motion settles, while Newton's method
follows an orbit, and for two bodies also beside a map that is being computed and beside a
finished one. A time is from the slider's event to the end of drawing the charts in sight,
without the screen's refresh. `writing`: core seconds to write a page,
compilation included; `requests` and `console`: what Chromium asked for and said, with
the map, the diagram and an orbit open; `axe`: the violations that AXE, the file
axe.min.js of axe-core, finds then. STUDY is the folder of a finished study of periodic
orbits, such as `configs/regime_map.toml`: its report is written again and its stored
orbits are proved. Writes `live_page-<device>-<cores>.json`.
"""

import base64
import itertools
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import jaxvib as jv
from experiments.machine import machine
from jaxvib.reports import write_report
from jaxvib.reports.live.page import panel_scripts, worker
from jaxvib.reports.live.study import live_of
from jaxvib.reports.packing import pack
from jaxvib.reports.parts import scripts, text_of
from jaxvib.studies.store.finished_study import read_run
from tests.reports.browser import Browser
from tests.reports.firefox import Firefox

_READY = "document.documentElement.dataset.ready"
_MOVE = """
(async () => {
  const live = document.querySelector(".live").live;
  const control = live.controls.all.find(({ path }) => path === PATH);
  const took = [];
  live.play(false);
  live.setMode?.(MODE);
  for (let step = 0; step < 150; step++) {
    const before = live.id;
    control.slider.value = 300 + 2 * step;
    control.slider.dispatchEvent(new Event("input"));
    while (live.busy || live.id === before) await new Promise((r) => setTimeout(r, 1));
    took.push(live.took);
    await new Promise((done) => setTimeout(done, 40));
  }
  return took;
})()
"""

_DONE = "return document.querySelector('.live').live.map.done ?? 0"

_PROVE = """
(async () => {
  await liveStudy.start();
  const told = liveStudy.find(".proof output"), begun = performance.now();
  liveStudy.find(".prove").click();
  while (!told.textContent.includes("verdicts")) await new Promise((r) => setTimeout(r, 5));
  return [told.textContent, (performance.now() - begun) / 1000];
})()
"""


def three_masses() -> jv.ImpactSystem:
    """Return three masses, one with a soft and one with a hard stop."""
    linear = jv.assemble(
        [
            jv.TranslationTranslation(a, b, mass=1.0, stiffness=40.0, damping=2.0)
            for a, b in itertools.pairwise(["ground", "a", "b", "c"])
        ]
    )
    first, last = linear.direction("a"), linear.direction("c")
    contacts = (
        jv.Contact(first, 0.04, jv.HertzContact(2e4), name="soft"),
        jv.Contact(last, 0.05, jv.RestitutionContact(0.7), name="hard"),
    )
    push = jv.AppliedLoad(last, jv.HarmonicLoad(4.0, 2.8), name="push")
    return jv.ImpactSystem(linear, contacts, (push,))


def six_masses() -> jv.ImpactSystem:
    """Return a chain of six masses, every other one with a soft stop."""
    names = ["ground", *"abcdef"]
    linear = jv.assemble(
        [
            jv.TranslationTranslation(a, b, mass=1.0, stiffness=40.0, damping=2.0)
            for a, b in itertools.pairwise(names)
        ]
    )
    contacts = tuple(
        jv.Contact(linear.direction(name), 0.04, jv.HertzContact(2e4), name=name)
        for name in names[2::2]
    )
    push = jv.AppliedLoad(linear.direction("f"), jv.HarmonicLoad(4.0, 2.8), name="push")
    return jv.ImpactSystem(linear, contacts, (push,))


def storeys() -> jv.ImpactSystem:
    """Return three storeys beside a wall, under a record of 600 samples."""
    linear = jv.assemble(
        [
            jv.TranslationTranslation(a, b, mass=2e4, stiffness=2.5e7, damping=4e4)
            for a, b in itertools.pairwise(["ground", "first", "second", "roof"])
        ]
    )
    wall = jv.Contact(
        linear.direction("roof"), 0.03, jv.HuntCrossleyContact(2e9, 0.4), name="wall"
    )
    times = np.linspace(0.0, _DURATION, 601)
    values = np.random.default_rng(5).normal(size=601) * times * np.exp(-times / 3)
    quake = jv.BaseMotion([1.0] * 3, jv.RecordLoad(times, values), name="quake")
    return jv.ImpactSystem(linear, (wall,), (quake,))


_DURATION = 15.0  # s
_CELLS = 64**2  # of a whole map
_ORBITS = {"settling": "follow", "orbit": "orbit"}
SYSTEMS = {  # the slider that moves, the duration of a response, and the modes
    "two bodies": (jv.two_body_impact, "load.frequency", None, _ORBITS),
    "three masses": (three_masses, "loads.push.law.frequency", None, _ORBITS),
    "six masses": (six_masses, "loads.push.law.frequency", None, _ORBITS),
    "record": (storeys, "loads.quake.motion.scale", _DURATION, {"response": ""}),
}


def measured(window, page: Path, path: str, modes: dict) -> dict[str, dict[str, float]]:
    """Return the median and the 90th percentile of each mode, ms."""
    window.open(page)
    window.wait(_READY)
    found = {name: _moved(window, path, mode) for name, mode in modes.items()}
    if path == "load.frequency":
        for number, name in (
            (1, "settling beside a map begun"),
            (_CELLS, "settling beside a map"),
        ):
            _open(window, ["map"], number)
            found[name] = _moved(window, path, "follow")
    return found


def _open(window, names: list[str], cells: int) -> None:
    """Open charts, and wait until the map has a number of cells."""
    for name in names:
        window.run(f"document.querySelector('.{name}').open = true")
    while window.run(_DONE) < cells:
        time.sleep(0.2)


def _moved(window, path: str, mode: str) -> dict[str, float]:
    script = _MOVE.replace("PATH", json.dumps(path)).replace("MODE", json.dumps(mode))
    median, most = np.percentile(window.evaluate(script), [50, 90])
    return {"median": round(median, 1), "90 %": round(most, 1)}


def said(window: Browser, page: Path, axe: Path | None) -> dict[str, object]:
    """Return what a page asks of a network, logs, and does wrong for readers by ear."""
    window.console(), window.requests()
    window.open(page)
    window.wait(_READY)
    if window.run("return 'map' in document.querySelector('.live').live"):
        window.run("document.querySelector('.live').live.map.number = 8")
        _open(window, ["map", "diagram"], 64)
        window.run("document.querySelector('.orbit').click()")
        window.wait("!document.querySelector('.live').live.busy")
    own = page.resolve().as_uri()
    asked = [address for address in window.requests() if address != own]
    found = {"requests": len(asked), "console": window.console()}
    if axe is not None:
        window.evaluate(axe.read_text("utf-8") + "; true")
        violations = window.evaluate("axe.run().then((found) => found.violations)")
        found["axe"] = [each["id"] for each in violations]
    return found


def proved(window: Browser, folder: Path) -> dict[str, object]:
    """Return what a report tells of its stored orbits, how long it takes, its weight."""
    report = write_report(folder)
    run = read_run(folder)
    live = live_of(run)
    assert live is not None, "a study of periodic orbits"
    window.open(report)
    window.wait(_READY)
    told, seconds = window.evaluate(_PROVE)
    added = len(base64.b64encode(pack({"live": live}))) + len(worker())
    added += (
        len(scripts(panel_scripts(live)))
        + len(text_of("live.css"))
        + len(text_of("live_panel.html"))
    )
    return {
        "study": run.study["title"],
        "told": told,
        "seconds": round(seconds, 2),
        "kB": report.stat().st_size // 1000,
        "of them live": added // 1000,
    }


def main(study: str, axe: str = "") -> None:
    """Measure each system and a study, print and store."""
    results: dict = {"machine": machine()}
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder, name) for name in ("chromium", "firefox")]
        for place in places:
            place.mkdir()
        chromium, firefox = Browser(places[0]), Firefox(places[1])
        for name, (system, path, duration, modes) in SYSTEMS.items():
            begun, page = time.process_time(), Path(folder, "page.html")
            jv.live_page(system(), page, title=name, duration=duration)
            results[name] = {
                "kB": page.stat().st_size // 1000,
                "writing": round(time.process_time() - begun, 1),
                **said(chromium, page, Path(axe) if axe else None),
                "ms to the picture": {
                    "Chromium": measured(chromium, page, path, modes),
                    "Firefox": measured(firefox, page, path, modes),
                },
            }
            print(name, json.dumps(results[name]), flush=True)
        results["report"] = proved(chromium, Path(study))
        print(json.dumps(results["report"]))
        chromium.close()
        firefox.close()
    device, cores = results["machine"]["device"], results["machine"]["cores"]
    place = Path(__file__).with_name(f"live_page-{device}-{cores}.json")
    place.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
