"""Accessibility of report pages by axe-core, light and dark, with everything expanded.

axe-core is not part of jaxvib: get it by `npm pack axe-core`. Pages are opened in
Chromium.

    python -m experiments.newcomer.accessibility AXE.MIN.JS REPORT.HTML ...

Stores violations, passed rules and incomplete checks in accessibility.json; ends with 1
if there is a violation.
"""

import json
import sys
import tempfile
from pathlib import Path

from tests.reports.browser import Browser

RESULTS = Path(__file__).with_suffix(".json")
_READY = "document.documentElement.dataset.ready"
_OPEN = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
_AXE = """
axe.run().then(({ violations, passes, incomplete }) => {
  const count = ({ id, nodes }) => [id, nodes.length];
  const named = (rules) => Object.fromEntries(rules.map(count));
  return { violations: named(violations), passes: passes.length, left: named(incomplete) };
})
"""


def found(window: Browser, axe: str, page: Path, colours: str) -> dict:
    """Return what axe finds in a page."""
    scheme = {"name": "prefers-color-scheme", "value": colours}
    window.command("Emulation.setEmulatedMedia", features=[scheme])
    window.open(page)
    window.wait(_READY)
    window.run(_OPEN)
    window.evaluate(f"{axe}; null")
    return window.evaluate(_AXE)


def main(axe: str, *pages: str) -> int:
    """Look at each page, print and store."""
    text, results = Path(axe).read_text("utf-8"), {}
    with tempfile.TemporaryDirectory() as profile:
        window = Browser(Path(profile))
        version = window.evaluate(f"{text}; axe.version")
        for page in map(Path, pages):
            for colours in ("light", "dark"):
                name = f"{page.parent.name}, {colours}"
                results[name] = found(window, text, page, colours)
                print(name, json.dumps(results[name]), flush=True)
        window.close()
    whole = {"axe-core": version, "pages": results}
    RESULTS.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    return int(any(each["violations"] for each in results.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
