"""Accuracy of the run time predicted by `jaxvib check`.

A factor of two in both directions is promised. It is tested twice for each study,
built-in ones and random assemblies: before its first run, by `jaxvib check --measure`
with an empty cache, compared with a run with another empty cache (cold); and after this
run by `jaxvib check`, compared with a second run (warm).

Core-seconds are compared, so that other work on the machine does not matter: those of a
run are measured; the predicted wall time is multiplied by the number of cores used by
the command on which the prediction is based. `told` and `taken` are wall times,
`told_cores` and `taken_cores` core-seconds.

    python -m experiments.newcomer.estimates [STUDY ...] [--assemblies 10]

Adds its results to estimates.json. A study computed in one piece cannot be measured:
its cold time is unknown, and `jaxvib check` says so; `within` is null there.
"""

import argparse
import itertools
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).with_suffix(".json")
_FACTOR = 2.0
_UNKNOWN = ("in one piece", "not known")


def assembly(seed: int) -> str:
    """Return the config of a chain of bodies before a stop, drawn by a seed."""
    random = np.random.default_rng(seed)
    names = ["ground", *(f"b{i}" for i in range(random.integers(2, 6)))]
    impacts = bool(seed % 2)
    linear = "linear." if impacts else ""
    parts = [
        f"[system.{linear}modules.{one}-{other}]\n"
        'module = "translation_translation"\n'
        f"mass = {random.uniform(0.5, 2.0):.3f}\n"
        f"stiffness = {random.uniform(200.0, 800.0):.1f}\n"
        f"damping = {random.uniform(0.5, 2.0):.3f}\n"
        for one, other in itertools.pairwise(names)
    ]
    count = int(random.integers(16, 96))
    if impacts:
        parts += [
            f'[system.contacts.stop]\ncontact = "linear"\nat = "{names[-1]}"\n'
            "gap = 0.02\nlaw.stiffness = 5e3\n"
            '[system.loads.push]\nload = "harmonic"\nat = "b0"\n'
            "law = { amplitude = 2.0, frequency = 9.0 }\n"
        ]
        swept = f"loads.push.law.frequency = {{ linspace = [8.0, 30.0, {count}] }}"
    else:
        path = f"{linear}modules.ground-b0.stiffness"
        swept = f"{path} = {{ linspace = [200.0, 900.0, {count}] }}"
    kinds = (
        ("impact_assembly", "periodic_orbit") if impacts else ("assembly", "natural_modes")
    )
    return (
        f'title = "Assembly {seed}"\n[system]\nkind = "{kinds[0]}"\n{"".join(parts)}'
        f'[analysis]\nkind = "{kinds[1]}"\n[sweep]\n{swept}\n'
    )


class Machine:
    """Runs commands with a cache of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "PYTHONPATH")
                if key in os.environ}  # fmt: skip
        self.environment = kept | {"MPLBACKEND": "Agg", "XDG_CACHE_HOME": f"{folder}/cache"}

    def measured(self, study: str) -> tuple[float | None, float]:
        """Return the seconds told of a first run, None if none are, and the cores had."""
        done, _, cores = self._do("check", study, "--json", "--measure")
        if done.returncode and any(words in done.stderr for words in _UNKNOWN):
            return None, cores
        done.check_returncode()
        return json.loads(done.stdout)["time"]["cold"], cores

    def told(self, study: str) -> float:
        """Return the seconds that `jaxvib check` tells of a study that was run."""
        done, _, _ = self._do("check", study, "--json")
        done.check_returncode()
        return json.loads(done.stdout)["time"]["seconds"]

    def taken(self, study: str, out: str) -> tuple[float, float]:
        """Return the seconds of a run, and how many cores it had."""
        done, seconds, cores = self._do("run", study, "--out", str(self.folder / out))
        if done.returncode not in (0, 1):  # 1: samples failed
            done.check_returncode()
        return seconds, cores

    def _do(self, *words: str) -> tuple[subprocess.CompletedProcess, float, float]:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "jaxvib", *words], cwd=self.folder, text=True,
            env=self.environment, capture_output=True,
        )  # fmt: skip
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return done, seconds, (sum(after[:2]) - sum(before[:2])) / seconds


def compared(study: str) -> dict[str, object]:
    """Return what was told of a study and what it took, cold and warm."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        told, had = Machine(Path(one)).measured(study)
        machine = Machine(Path(other))
        first = machine.taken(study, "first")
        cold = _line(told, had, *first)
        warm = _line(machine.told(study), first[1], *machine.taken(study, "second"))
    return {"cold": cold, "warm": warm}


def _line(told: float | None, had: float, taken: float, cores: float) -> dict[str, object]:
    """Return a comparison; `had`: the cores of the command that `told` was read off."""
    line = {"taken": round(taken, 1), "taken_cores": round(taken * cores, 1)}
    if told is None:
        return {"told": None, **line, "within": None}
    factor = told * had / (taken * cores)
    return {
        "told": round(told, 1), "told_cores": round(told * had, 1), **line,
        "factor": round(factor, 2), "within": 1 / _FACTOR < factor < _FACTOR,
    }  # fmt: skip


def main() -> int:
    """Ask of each study, print and store; 1 if something is further off."""
    parser = argparse.ArgumentParser()
    parser.add_argument("studies", nargs="*")
    parser.add_argument("--assemblies", type=int, default=0)
    given = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"studies": {}}
    found |= {"python": platform.python_version(), "cores": os.cpu_count()}
    far = 0
    with tempfile.TemporaryDirectory() as folder:
        asked = {name: name for name in given.studies}
        for seed in range(given.assemblies):
            file = Path(folder, f"assembly-{seed}.toml")
            file.write_text(assembly(seed))
            asked[file.stem] = str(file)
        for name, study in asked.items():
            found["studies"][name] = line = compared(study)
            far += sum(each["within"] is False for each in line.values())
            print(name, json.dumps(line), flush=True)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    return int(far > 0)


if __name__ == "__main__":
    sys.exit(main())
