"""Run every ready study once for the gallery, or write its page from what that gave.

    python -m experiments.gallery run [NAME ...]    # hours of nobody's time: minutes each
    python -m experiments.gallery                   # docs/gallery.md from what is stored

A run keeps in `experiments/gallery.json` what the terminal said and what it cost, and one
of the study's pictures in `docs/gallery/`. The page takes its words from the configs.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONFIGS, PICTURES = ROOT / "configs", ROOT / "docs" / "gallery"
STORED, PAGE = ROOT / "experiments" / "gallery.json", ROOT / "docs" / "gallery.md"
_SKIPPED = ("results", "report", "next")  # lines of the terminal that name folders


def run(name: str) -> dict:
    """Run a ready study in a folder that is thrown away; return what it was."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "jaxvib", "run", name, "--out", folder],
            env=os.environ | {"MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{name}: {done.stderr}")
        kept = ROOT / "results" / "gallery" / name
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(Path(folder) / "pictures", kept)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(_SKIPPED)]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "said": [line.replace(folder, "...") for line in lines],
        "wall": round(time.perf_counter() - started, 1),
        "processor": round(seconds, 1),
        "pictures": sorted(path.name for path in kept.iterdir()),
    }


def main(arguments: list[str]) -> None:
    """Run the studies named, or all."""
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    for name in arguments or sorted(path.stem for path in CONFIGS.glob("*.toml")):
        stored[name] = run(name)
        print(name, stored[name]["processor"], "s", flush=True)
        STORED.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[2:])
