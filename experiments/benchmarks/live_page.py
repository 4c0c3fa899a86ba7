"""Time from a slider to the picture in live pages, and the weight of the pages.

    python -m experiments.benchmarks.live_page STUDY


In headless Chromium, for two bodies and for three masses with a Hertz contact and a hard
stop: the slider of the load's frequency moves in 150 steps, every 40 ms, once while the
motion settles and once while Newton's method follows an orbit. A time is from the
slider's event to the end of drawing, without the screen's refresh. `writing`: core
seconds to write a page, compilation included. STUDY is the folder of a finished study of
periodic orbits, such as `configs/regime_map.toml`: its report is written again and its
stored orbits are proved. Writes `live_page-<device>-<cores>.json`.
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
from experiments.benchmarks.regime_map import machine
from jaxvib.reports import write_report
from jaxvib.reports.live.page import PANEL, worker
from jaxvib.reports.live.study import live_of
from jaxvib.reports.packing import pack
from jaxvib.reports.parts import scripts, text_of
from jaxvib.studies.store.finished_study import read_run
from tests.reports.browser import Browser

_READY = "document.documentElement.dataset.ready"
_MOVE = """
(async () => {
  const live = document.querySelector(".live").live;
  const control = live.controls.all.find(({ path }) => path === PATH);
  const took = [];
  live.play(false);
  live.setMode(MODE);
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
    """Return three masses with a Hertz contact and a hard stop."""
    linear = jv.assemble(
        [
            jv.TranslationTranslation(a, b, mass=1.0, stiffness=40.0, damping=2.0)
            for a, b in itertools.pairwise(["ground", "a", "b", "c"])
        ]
    )
    between, stop = linear.direction({"a": 1.0, "b": -1.0}), linear.direction("c")
    contacts = (
        jv.Contact(between, 0.02, jv.HertzContact(2e4), name="between"),
        jv.Contact(stop, 0.05, jv.RestitutionContact(0.7), name="stop"),
    )
    push = jv.AppliedLoad(stop, jv.HarmonicLoad(4.0, 2.8), name="push")
    return jv.ImpactSystem(linear, contacts, (push,))


SYSTEMS = {
    "two bodies": (jv.two_body_impact, "load.frequency"),
    "three masses": (three_masses, "loads.push.law.frequency"),
}


def measured(window: Browser, page: Path, path: str) -> dict[str, dict[str, float]]:
    """Return the median and the 90th percentile of each mode, ms."""
    window.open(page)
    window.wait(_READY)
    found = {}
    for mode, name in (("follow", "settling"), ("orbit", "orbit")):
        script = _MOVE.replace("PATH", json.dumps(path)).replace("MODE", json.dumps(mode))
        took = np.array(window.evaluate(script))
        median, most = np.percentile(took, [50, 90])
        found[name] = {"median": round(median, 1), "90 %": round(most, 1)}
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
        len(scripts(PANEL)) + len(text_of("live.css")) + len(text_of("live_panel.html"))
    )
    return {
        "study": run.study["title"],
        "told": told,
        "seconds": round(seconds, 2),
        "kB": report.stat().st_size // 1000,
        "of them live": added // 1000,
    }


def main(study: str) -> None:
    """Measure each system and a study, print and store."""
    results: dict = {"machine": machine()}
    with tempfile.TemporaryDirectory() as folder:
        window = Browser(Path(folder, "profile"))
        for name, (system, path) in SYSTEMS.items():
            begun = time.process_time()
            page = jv.live_page(system(), Path(folder, "page.html"), title=name)
            results[name] = {
                "kB": page.stat().st_size // 1000,
                "writing": round(time.process_time() - begun, 1),
                "ms to the picture": measured(window, page, path),
            }
            print(name, json.dumps(results[name]), flush=True)
        results["report"] = proved(window, Path(study))
        print(json.dumps(results["report"]))
        window.close()
    device, cores = results["machine"]["device"], results["machine"]["cores"]
    place = Path(__file__).with_name(f"live_page-{device}-{cores}.json")
    place.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
