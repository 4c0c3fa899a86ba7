"""The tests on each Python with the newest JAX that it takes, in new environments.

    python -m experiments.newcomer.pythons python3.11 python3.12 python3.13
    python -m experiments.newcomer.pythons python3.13 --of tests/linalg tests/systems
    python -m experiments.newcomer.pythons python3.11 python3.12 --all    # slow ones too

Each argument is an interpreter; pyenv's are found too. Stores the versions and what pytest
counted in `pythons.json`, a row for each Python and choice of tests; ends with 1 if a test
failed. Needs the network.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .wheels import ROOT, run

RESULTS = Path(__file__).with_suffix(".json")
_VERSIONS = """
import importlib.metadata as told, platform
names = "jax", "numpy", "scipy", "equinox", "diffrax", "xarray", "zarr", "llvmlite"
print(platform.python_version(), *(f"{name}={told.version(name)}" for name in names))
"""


def interpreter(name: str) -> str:
    """Return the path of an interpreter. **Raises:** `SystemExit` if there is none."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    others = sorted(kept.glob(f"{name.removeprefix('python')}.*/bin/python"))
    for found in (*others, shutil.which(name)):
        if found and not subprocess.call([found, "-c", "import ensurepip, venv"]):
            return str(found)
    raise SystemExit(f"there is no {name} with its modules venv and ensurepip")


def tested(python: str, given: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Return the versions in a new environment, and what pytest counted there."""
    run(python, "-m", "venv", folder)
    quiet = ("-q", "--disable-pip-version-check")
    run(folder / "bin/python", "-m", "pip", "install", *quiet, "-e", f"{ROOT}[test]")
    version, *packages = run(folder / "bin/python", "-c", _VERSIONS).split()
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    words = ["-q", "-n", str(given.workers), "--dist", "worksteal", *given.of]
    words += ["-m", ""] if given.all else []
    done = subprocess.run(
        [folder / "bin/python", "-m", "pytest", *words],
        cwd=ROOT, env=kept | {"MPLBACKEND": "Agg"}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", lines[-1])}
    counts = {key: counts.get(key, 0) for key in ("passed", "failed", "skipped", "errors")}
    choice = f"{'all' if given.all else 'fast'} of {' '.join(given.of) or 'tests'}"
    told = {"python": version, "of": choice} | dict(one.split("=") for one in packages)
    return told | counts | ({"which": failed} if failed else {})


def main() -> None:
    """Test with each interpreter, print and store."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pythons", nargs="+")
    parser.add_argument("--of", nargs="*", default=[], help="files and folders of tests")
    parser.add_argument("--all", action="store_true", help="slow tests too")
    parser.add_argument("--workers", type=int, default=2, help="processes of pytest")
    given = parser.parse_args()
    rows = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    wrong = False
    for name in given.pythons:
        with tempfile.TemporaryDirectory() as folder:
            row = tested(interpreter(name), given, Path(folder))
        print(json.dumps(row, indent=1), flush=True)
        wrong |= bool(row["failed"] or row["errors"] or not row["passed"])
        same = [row["python"], row["of"]]
        rows = [each for each in rows if [each["python"], each["of"]] != same] + [row]
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
