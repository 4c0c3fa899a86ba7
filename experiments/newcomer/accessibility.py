"""Accessibility of pages by axe-core and by keyboard alone, their weight and their speed.

axe-core is not part of jaxvib: get it by `npm pack axe-core`. Pages are opened in Chromium,
with everything expanded: light and dark, 1280 and 390 px wide.

    python -m experiments.newcomer.accessibility AXE.MIN.JS PAGE.HTML ...

Stores for each page its size, the seconds until its first picture or text is painted and
until it is ready, what axe finds ("left": what it cannot decide), how far it is wider than
the window, and what Tab does not reach or shows no focus on; ends with 1 if anything is
wrong. Pages are named by their folder and name in accessibility.json.
"""

import json
import sys
import tempfile
from pathlib import Path

from tests.reports.browser import Browser

RESULTS = Path(__file__).with_suffix(".json")
WIDTHS = (1280, 390)  # px: a laptop, a telephone
_MOST_TABS = 600
_OPEN = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
_AXE = """
axe.run().then(({ violations, passes, incomplete }) => {
  const count = ({ id, nodes }) => [id, nodes.length];
  const named = (rules) => Object.fromEntries(rules.map(count));
  return { violations: named(violations), passes: passes.length, left: named(incomplete) };
})
"""
_WIDER = "Math.max(0, document.documentElement.scrollWidth - window.innerWidth)"
_SECONDS = """
(() => {
  const painted = performance.getEntriesByName('first-contentful-paint')[0];
  return [painted ? painted.startTime / 1000 : null, performance.now() / 1000];
})()
"""
# What Tab should reach: of the radio buttons of a name only the chosen one.
_TABBABLE = """
window.tabbable = [...document.querySelectorAll(
  'a[href], button, input, select, textarea, summary, [tabindex]')].filter((one) =>
  one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true })
  && one.getClientRects().length && !(one.type === 'radio' && !one.checked));
window.reached = new Set(); window.unseen = new Set();
document.activeElement.blur(); window.scrollTo(0, 0); window.tabbable.length
"""
_LOOK = """
(() => {
  const one = document.activeElement, again = window.reached.has(one);
  if (!one || one === document.body) return true;
  window.reached.add(one);
  const shown = [one, one.nextElementSibling ?? one].map((each) => getComputedStyle(each));
  if (!shown.some(({ outlineStyle, boxShadow }) =>
      outlineStyle !== 'none' || boxShadow !== 'none')) window.unseen.add(one);
  return again;
})()
"""
_TOLD = """
(() => {
  const name = (one) => one.outerHTML.slice(0, 120);
  const left = window.tabbable.filter((one) =>
    one.tabIndex >= 0 && !window.reached.has(one));
  return { reached: window.reached.size, missed: left.map(name),
           unseen: [...window.unseen].map(name) };
})()
"""


def opened(window: Browser, page: Path, width: int, colours: str) -> list[float]:
    """Open a page; return the seconds until something is painted, and until it is ready."""
    scheme = {"name": "prefers-color-scheme", "value": colours}
    window.command("Emulation.setEmulatedMedia", features=[scheme])
    window.command(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=844, deviceScaleFactor=1, mobile=width < 500,
    )  # fmt: skip
    window.evaluate("try { localStorage.clear() } catch { }")  # the choice of a scheme
    window.open(page)
    text = page.read_text("utf-8")
    ready = "document.documentElement.dataset.ready" if "dataset.ready" in text else "true"
    window.wait(ready)
    return [round(one, 2) for one in window.evaluate(_SECONDS) if one is not None]


def by_keyboard(window: Browser) -> dict:
    """Return how many elements Tab reaches, which not, and which show no focus."""
    window.evaluate(_TABBABLE)
    for _ in range(_MOST_TABS):
        window.press("Tab", 9)
        if window.evaluate(_LOOK):
            break
    return window.evaluate(_TOLD)


def looked_at(window: Browser, axe: str, page: Path) -> dict:
    """Return what is found in a page."""
    told: dict = {"kilobytes": page.stat().st_size // 1000}
    told["seconds"] = opened(window, page, WIDTHS[0], "light")
    window.run(_OPEN)
    told["keyboard"] = by_keyboard(window)
    for width in WIDTHS:
        for colours in ("light", "dark"):
            opened(window, page, width, colours)
            window.run(_OPEN)
            window.evaluate(f"{axe}; null")
            found = window.evaluate(_AXE) | {"wider": window.evaluate(_WIDER)}
            told[f"{colours}, {width} px"] = found
    return told


def wrong(told: dict) -> bool:
    """Return whether anything is wrong with a page."""
    looks = [one for name, one in told.items() if name.endswith("px")]
    keyboard = told["keyboard"]["missed"] or told["keyboard"]["unseen"]
    return bool(keyboard or any(one["violations"] or one["wider"] for one in looks))


def main(axe: str, *pages: str) -> int:
    """Look at each page, print and store."""
    text, results = Path(axe).read_text("utf-8"), {}
    with tempfile.TemporaryDirectory() as profile:
        window = Browser(Path(profile))
        version = window.evaluate(f"{text}; axe.version")
        for page in map(Path, pages):
            name = f"{page.resolve().parent.name}/{page.name}"
            results[name] = looked_at(window, text, page)
            print(name, json.dumps(results[name]), flush=True)
        window.close()
    whole = {"axe-core": version, "pages": results}
    RESULTS.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    return int(any(map(wrong, results.values())))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
