"""Basins of a million initial states: processor time and memory.

    python -m experiments.benchmarks.basins [--side 100 1000] [--folder DIR]

Two studies of `side` x `side` states with basin entropy and integrity measures: the
double well x'' + 0.15 x' - x + x^3 = 0.2 cos t, and two bodies whose hard contact (steel
on steel) opens and closes once a period, or never, depending on the state at the
start. Each phase is a process with its peak memory, processor time and the elapsed time:
`calls` computes basins and measures in Python, `run` the study from its config and
`report` its report. Writes `basins-<device>-<cores>.json`, keeping the sizes that are not
run again.
"""

import argparse
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import jaxvib as jv
from experiments.machine import machine
from jaxvib import cli
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load

SYSTEMS = {
    "double well": """
[system]
kind = "impact_assembly"
linear.modules.ground-mass.module = "translation_translation"
linear.modules.ground-mass.mass = 1.0
linear.modules.ground-mass.stiffness = 1.0
linear.modules.ground-mass.damping = 0.15
springs.wells = { spring = "polynomial", at = "mass", law.coefficients = [-2.0, 0.0, 1.0] }
loads.drive.load = "harmonic"
loads.drive.at = "mass"
loads.drive.law = { amplitude = 0.2, frequency = 1.0 }
[analysis]
grid.mass = [-2.2, 2.2]
grid."rate of mass" = [-2.2, 2.2]
""",
    "two bodies": """
[system]
kind = "two_body_impact"
gap = 0.1
load.amplitude = 640.0
load.frequency = 9.0
[analysis]
grid.x_main = [-0.3, 0.3]
grid.x_attached = [-0.3, 0.3]
""",
}
PHASES = ("calls", "run", "report")


def used() -> dict:
    """Return the peak memory and the processor time of this process so far."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "peak memory (MB)": round(spent.ru_maxrss / 1000),
        "core-seconds": round(spent.ru_utime + spent.ru_stime, 2),
    }


def calls(folder: Path) -> dict:
    """Compute basins and their measures in Python; return what each call took."""
    study = load(folder / "study.toml")
    system, options = build(study), study.analysis
    names = system.state_names
    starts = jv.orbits.state_grid(
        system,
        {
            names.index(name): np.linspace(*bounds, options.points)
            for name, bounds in options.grid.items()
        },
    )
    found = {"before": used()}
    began = time.perf_counter()
    jv.basins(system, starts[:2], progress=False)
    found["first call"] = used() | {"seconds": round(time.perf_counter() - began, 2)}
    basins = jv.basins(system, starts, progress=False)
    found["basins"] = used()
    measured = jv.orbits.robustness(basins)
    found["robustness"] = used()
    entropy = measured.entropy
    found["share"] = basins.share.round(5).tolist()
    found["undecided"] = float(basins.undecided)
    found["basin entropy"] = [float(entropy.entropy), float(entropy.entropy_error)]
    found["integrity factor"] = measured.integrity_factor.tolist()
    return found


def phase(name: str, folder: Path) -> None:
    """Do one phase in this process and print what it took."""
    words = {
        "run": ["run", str(folder / "study.toml"), "--out", str(folder / "out"),
                "--set", "output.report=false"],
        "report": ["report", str(folder / "out")],
    }  # fmt: skip
    began = time.perf_counter()
    found = calls(folder) if name == "calls" else {}
    if name in words:
        with contextlib.suppress(SystemExit):
            cli.main(words[name], standalone_mode=False)
    print(json.dumps(found | used() | {"seconds": round(time.perf_counter() - began, 2)}))


def measured(text: str, side: int, folder: Path) -> dict:
    """Run all phases of one study."""
    lines = f'kind = "basins"\nbox = 5\npoints = {side}\n[run]\ndevice = "cpu"\n'
    (folder / "study.toml").write_text(text + lines)
    found = {"initial states": side**2}
    for name in PHASES:
        words = [sys.executable, "-m", "experiments.benchmarks.basins"]
        done = subprocess.run(
            [*words, "--phase", name, "--folder", str(folder)],
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        found[name] = json.loads(done.stdout.strip().splitlines()[-1])
        print(f"{side**2} states, {name}: {found[name]}", flush=True)
    out = folder / "out"
    files = {path.name: path.stat().st_size for path in out.rglob("*") if path.is_file()}
    found["folder (MB)"] = round(sum(files.values()) / 1e6, 1)
    found["report (MB)"] = round(files["report.html"] / 1e6, 1)
    return found


def main() -> None:
    """Measure studies of some sizes, or do one phase of one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--side", nargs="*", type=int, default=[100, 1000])
    parser.add_argument("--folder", type=Path, help="where there is room for the largest")
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.phase:
        phase(given.phase, given.folder)
        return
    about = machine()
    file = Path(__file__).with_name(f"basins-{about['device']}-{about['cores']}.json")
    rows = json.loads(file.read_text())["sizes"] if file.exists() else {}
    for side in given.side:
        for name, text in SYSTEMS.items():
            print(name, flush=True)
            with tempfile.TemporaryDirectory(dir=given.folder) as folder:
                found = measured(text, side, Path(folder))
            rows.setdefault(str(side**2), {})[name] = found
            whole = json.dumps({"machine": about, "sizes": rows}, indent=1) + "\n"
            file.write_text(whole)


if __name__ == "__main__":
    main()
