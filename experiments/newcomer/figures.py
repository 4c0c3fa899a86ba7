"""What a release shows, in one file: packages, types, pages and tasks of readers.

    python -m experiments.newcomer.figures AXE.MIN.JS python3.11 python3.12 python3.13

Installs wheel and sdist in an empty folder for each Python (`wheels`), counts names whose
types are known (`house.types`), builds the manual, a report and a live page, and opens them
(`accessibility`), does the tasks of three readers, and sums all up in `figures.json`. Ends
with an error if a part does. Needs the groups `docs` and `release`, pyright, Chromium, the
network, and ten minutes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from .wheels import ROOT

RESULTS = Path(__file__).with_suffix(".json")
PAGES = ("index", "start", "readers/machine_designer", "theory/contacts", "gallery",
         "gallery/quick", "reference/orbits", "trust")  # fmt: skip
PARTS = ("wheels", "types", "pages", "readers")


def ran(*words: str | Path) -> str:
    """Run a module of this checkout and return what it prints."""
    command = [sys.executable, "-m", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=-1, text=True).stdout


def stored(name: str) -> dict:
    """Return what a module beside this one has stored."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


def packages(pythons: list[str]) -> dict:
    """Install and use wheel and sdist; return their sizes, and a row for each Python."""
    ran("experiments.newcomer.wheels", *pythons)
    told = stored("wheels")
    sizes = {"wheel": told["wheel"]["megabytes"], "sdist": told["sdist_megabytes"]}
    return {"megabytes": sizes, "pythons": told["pythons"]}


def pages(axe: str) -> dict:
    """Build pages and open them; return kB, seconds and findings of each."""
    ran("experiments.house.site")
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "quick"
        ran("jaxvib", "run", "quick", "--out", folder)
        ran("jaxvib", "live", "quick", "--out", folder / "live.html")
        files = [folder / "report.html", folder / "live.html"]
        files += [ROOT / "site" / f"{page}.html" for page in PAGES]
        ran("experiments.newcomer.accessibility", axe, *files)
    return {name: summary(told) for name, told in stored("accessibility")["pages"].items()}


def summary(told: dict) -> dict:
    """Return the figures of a page."""
    looks = [one for name, one in told.items() if name.endswith("px")]
    keyboard = told["keyboard"]
    return {
        "kilobytes": told["kilobytes"],
        "seconds to the first picture, until ready": told["seconds"],
        "axe finds": sum(sum(one["violations"].values()) for one in looks),
        "not reached or not seen by keyboard": len(keyboard["missed"] + keyboard["unseen"]),
    }


def readers() -> dict:
    """Do the tasks of three readers; return the minutes of each."""
    ran("experiments.newcomer.three_readers")
    rows = stored("three_readers")["tasks"]
    return {f"{row['reader']}: {row['task']}": row["minutes"] for row in rows}


def main() -> None:
    """Run the parts, and store what each shows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("axe", help="axe.min.js, of `npm pack axe-core`")
    parser.add_argument("pythons", nargs="*")
    parser.add_argument("--only", nargs="*", default=PARTS, choices=PARTS)
    given = parser.parse_args()
    found = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    parts = {
        "wheels": lambda: packages(given.pythons),
        "types": lambda: ran("experiments.house.types").splitlines(),
        "pages": lambda: pages(given.axe),
        "readers": readers,
    }
    for name in given.only:
        found[name] = parts[name]()
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
