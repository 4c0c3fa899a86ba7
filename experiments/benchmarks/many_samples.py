"""Overhead of a study of very many samples: time, memory, disk.

    python -m experiments.benchmarks.many_samples [--samples 1e5 1e6 1e7] [--folder DIR]

Regimes of two bodies on a square grid with numbers from numpy, which take no time:
config, samples, store, journal, summary and report are those of a real study, the
solver is not. Each phase is a process with its peak memory and time: the run, a
`--resume` with nothing left to do, `status`, `open_study(most=1e6)` and the report.
Writes `experiments/benchmarks/many_samples-<device>-<cores>.json`, keeping the sizes
that are not run again.
"""

import argparse
import contextlib
import dataclasses
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
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.store.fields import Variable

CONFIG = """
[system]
kind = "two_body_impact"
[analysis]
kind = "periodic_orbit"
[run]
device = "cpu"
[sweep]
load.amplitude = {{ linspace = [10.0, 900.0, {side}] }}
load.frequency = {{ linspace = [5.0, 8.0, {side}] }}
"""
PHASES = ("run", "resume", "status", "open", "report")


def instant(system, samples, options, run, progress, number=None):
    """Return numbers that look like regimes of a grid, in no time."""
    force, frequency = samples["load.amplitude"], samples["load.frequency"]
    contacts = np.floor(force / 100.0).astype(np.int32)
    periods = 1 + (frequency > 7.0).astype(np.int32)
    columns = {
        "result": np.zeros(len(force), np.int32),
        "periods": periods,
        "contacts": contacts,
        "stable": np.ones(len(force), np.int8),
        "largest_multiplier": np.round(frequency / 10.0, 3),
        "max_contact_force": 100.0 * contacts,
        "contacts_per_period": contacts / periods,
        "amplitude": np.stack([np.round(force, 1), np.round(frequency, 2)], -1),
    }
    axes = {"amplitude": ("sample", "freedom")}
    return {
        name: Variable(axes.get(name, ("sample",)), column)
        for name, column in columns.items()
    }


def install(compute=instant):
    """Let the study of regimes be computed by another function, without motions."""
    kind = dataclasses.replace(ANALYSES["periodic_orbit"], compute=compute, groups={})
    ANALYSES["periodic_orbit"] = kind


def phase(name: str, folder: Path) -> None:
    """Do one phase in this process and print what it took."""
    install()
    words = {
        "run": ["run", str(folder / "grid.toml"), "--out", str(folder / "out"),
                "--set", "output.report=false"],
        "status": ["status", str(folder / "out")],
        "report": ["report", str(folder / "out")],
    }  # fmt: skip
    words["resume"] = [*words["run"], "--resume"]
    began = time.perf_counter()
    if name == "open":
        jv.open_study(folder / "out", most=1_000_000)
    else:
        with contextlib.suppress(SystemExit):
            cli.main(words[name], standalone_mode=False)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"seconds": round(seconds, 2), "peak memory (MB)": round(peak)}))


def measured(samples: float, folder: Path) -> dict:
    """Run all phases of a study of about so many samples."""
    side = round(samples**0.5)
    (folder / "grid.toml").write_text(CONFIG.format(side=side))
    found = {"samples": side**2}
    for name in PHASES:
        words = [sys.executable, "-m", "experiments.benchmarks.many_samples"]
        done = subprocess.run(
            [*words, "--phase", name, "--folder", str(folder)],
            stdout=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        found[name] = json.loads(done.stdout.strip().splitlines()[-1])
        print(f"{side**2} samples, {name}: {found[name]}", flush=True)
    files = [path for path in (folder / "out").rglob("*") if path.is_file()]
    found["chunks"] = sum(b'"chunk ' in line for line in _lines(folder / "out"))
    found["files"] = len(files)
    found["store (MB)"] = round(sum(path.stat().st_size for path in files) / 1e6, 1)
    found["samples per second of the run"] = round(side**2 / found["run"]["seconds"])
    return found


def _lines(out: Path) -> list[bytes]:
    return (out / "journal.jsonl").read_bytes().splitlines()


def main() -> None:
    """Measure studies of some sizes, or do one phase of one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", nargs="*", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--folder", type=Path, help="where there is room for the largest")
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.phase:
        phase(given.phase, given.folder)
        return
    about = machine()
    name = f"many_samples-{about['device']}-{about['cores']}.json"
    file = Path(__file__).with_name(name)
    rows = json.loads(file.read_text())["sizes"] if file.exists() else {}
    for samples in given.samples:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            rows[f"{samples:.0e}"] = measured(samples, Path(folder))
        text = json.dumps({"machine": about, "sizes": rows}, indent=1) + "\n"
        file.write_text(text)


if __name__ == "__main__":
    main()
