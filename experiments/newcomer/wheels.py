"""Wheel and sdist as users get them: built, installed and used in an empty folder.

For each given Python: a new environment, the wheel with all its dependencies, in an
empty folder `import jaxvib`, `jaxvib new`, `jaxvib run quick`, a few tests of the sdist
on the installed package, and the size of everything. Needs the network.

    python -m experiments.newcomer.wheels python3.11 python3.12 python3.13

`--short` builds both and runs a study with the unpacked wheel and the packages of the
environment that runs this; the network is needed for the build tools only. The wheel
contains the programs of `experiments.newcomer.programs`: with the versions that they were
made with, the orbit of the README then is computed without tracing in a first process.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from experiments.benchmarks.first_runs import ORBIT

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_suffix(".json")
TESTS = ("foundation/test_units.py", "foundation/test_text.py", "systems/test_contact.py")
_WITH_TESTS = ("pytest", "hypothesis", "beartype", "mpmath")
# The README's orbit; prints how many programs it traced, and its processor time.
ORBIT_TRACED = f"""
import time
import jax
traced = []

def note(name, seconds, **_):
    if name == "/jaxvib/kernels/print_duration":
        traced.append(seconds)

jax.monitoring.register_event_duration_secs_listener(note)
{ORBIT}
print(len(traced), time.process_time())
"""


def build(folder: Path) -> tuple[Path, Path]:
    """Build the last commit, with its programs; return wheel and sdist."""
    clone, tools = folder / "clone", folder / "tools"
    run("git", "clone", "-q", ROOT, clone)
    print(run(sys.executable, "-m", "experiments.newcomer.programs", cwd=clone), end="")
    run(sys.executable, "-m", "venv", tools)
    pip(tools, "build")
    run(tools / "bin/python", "-m", "build", "--outdir", folder / "dist", cwd=clone)
    (wheel,) = (folder / "dist").glob("*.whl")
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    return wheel, sdist


def inside(wheel: Path) -> dict[str, object]:
    """Return what the wheel holds. **Raises:** `SystemExit` if a ready study is missing."""
    names = zipfile.ZipFile(wheel).namelist()
    wanted = {f"jaxvib/configs/{path.name}" for path in (ROOT / "configs").iterdir()}
    wanted |= {"jaxvib/CITATION.cff", "jaxvib/kernels/cache/shipped_programs.bin"}
    missing = wanted - set(names)
    strange = [name for name in names if not name.startswith(("jaxvib/", "jaxvib-"))]
    if missing or strange:
        raise SystemExit(f"the wheel lacks {missing} and holds {strange}")
    return {"files": len(names), "megabytes": wheel.stat().st_size / 1e6}


def installed(python: str, wheel: Path, sdist: Path, folder: Path) -> dict[str, object]:
    """Return what happens to somebody with this Python."""
    environment, began = folder / python, time.monotonic()
    run(python, "-m", "venv", environment)
    pip(environment, str(wheel))
    seconds = time.monotonic() - began
    size = sum(f.lstat().st_size for f in environment.rglob("*") if f.is_file()) / 1e6
    found = {"install_seconds": seconds, "megabytes": size}
    found |= used(environment / "bin/python", folder / f"empty {python}", {})
    pip(environment, *_WITH_TESTS)
    tests = folder / f"tests {python}"
    tests.mkdir()
    with tarfile.open(sdist) as archive:
        archive.extractall(tests, filter="data")
    (unpacked,) = tests.iterdir()
    (unpacked / "jaxvib").rename(tests / "not imported")
    names = [f"tests/{name}" for name in TESTS]
    words = [environment / "bin/python", "-m", "pytest", "-q", *names]
    told = run(*words, cwd=unpacked, env=_environment({}))
    return found | {"tests": told.strip().splitlines()[-1]}


def used(python: Path, folder: Path, more: dict[str, str]) -> dict[str, object]:
    """Return what a study in an empty folder tells, and where jaxvib came from."""
    folder.mkdir()
    options = {"cwd": folder, "env": _environment({"XDG_CACHE_HOME": folder / "c"} | more)}
    where = "import jaxvib, sys; print(sys.version.split()[0], jaxvib.__file__)"
    version, file = run(python, "-c", where, **options).split()
    jaxvib = (python, "-m", "jaxvib")
    traced, seconds = run(python, "-c", ORBIT_TRACED, **options).split()[-2:]
    studies = json.loads(run(*jaxvib, "new", "--json", **options))
    if len(studies) != len(list((ROOT / "configs").glob("*.toml"))):
        raise SystemExit(f"{len(studies)} ready studies in {file}")
    began = time.monotonic()
    ended = json.loads(run(*jaxvib, "run", "quick", "--json", **options))
    if (ended["done"], ended["failed"]) != (144, 0):
        raise SystemExit(f"quick ends with {ended}")
    if str(ROOT) in file:
        raise SystemExit(f"jaxvib was imported from {file}")
    quick = time.monotonic() - began
    found = {
        "traced_in_first_orbit": int(traced),
        "first_orbit_core_seconds": float(seconds),
    }
    return {"python": version, "quick_seconds": quick} | found


def pip(environment: Path, *words: str) -> None:
    """Install into an environment."""
    quiet = ("-q", "--disable-pip-version-check")
    run(environment / "bin/python", "-m", "pip", "install", *quiet, *words)


def run(*words, **options) -> str:
    """Run a command and return what it prints. **Raises:** `SystemExit` if it fails."""
    given = [str(word) for word in words]
    done = subprocess.run(given, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(given)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _environment(more: dict[str, object]) -> dict[str, str]:
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    return kept | {"MPLBACKEND": "Agg"} | {key: str(value) for key, value in more.items()}


def short(wheel: Path, folder: Path) -> dict[str, object]:
    """Return what a study tells with the wheel beside what is installed here."""
    target = folder / "wheel"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    found = used(Path(sys.executable), folder / "empty", {"PYTHONPATH": target})
    if found["traced_in_first_orbit"]:
        raise SystemExit(f"programs of the wheel are not used: {found}")
    return found


def main() -> None:
    """Build, install, use, and store the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pythons", nargs="*")
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        wheel, sdist = build(folder)
        found: dict[str, object] = {"wheel": inside(wheel)}
        found["sdist_megabytes"] = sdist.stat().st_size / 1e6
        if given.short:
            print(json.dumps(found | short(wheel, folder), indent=1))
            return
        commit = run("git", "rev-parse", "HEAD", cwd=ROOT).strip()
        found |= {
            "commit": commit,
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        }
        found["pythons"] = pythons = []
        for python in given.pythons:
            pythons.append(installed(python, wheel, sdist, folder))
            print(json.dumps(pythons[-1]), flush=True)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
