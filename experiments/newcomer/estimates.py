"""How near the time that `jaxvib check` tells comes to the one that a run takes.

Within a factor of two, both ways, is what is promised.
Asked twice of each study, ready ones and random assemblies: before it was ever run, by
`jaxvib check --measure` with an empty cache, beside a run with another empty one (cold);
and after that run by `jaxvib check` alone, beside a second run (warm). Times are those of
the clock, so that other work on the machine is seen in them; it is stored how much of a
core the runs had.

    python -m experiments.newcomer.estimates [STUDY ...] [--assemblies 10]

Adds what it finds to estimates.json. A study computed in one piece cannot be measured: of
its time nothing is known cold, and `jaxvib check` says so.
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

    def told(self, study: str, *more: str) -> float | None:
        """Return the seconds that `jaxvib check` tells, None where it knows none."""
        done = self._do("check", study, "--json", *more)
        if done.returncode and any(words in done.stderr for words in _UNKNOWN):
            return None
        done.check_returncode()
        found = json.loads(done.stdout)["time"]
        return None if found is None else found["seconds"]

    def taken(self, study: str, out: str) -> tuple[float, float]:
        """Return seconds of a run, and how much of a core it had."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        done = self._do("run", study, "--out", str(self.folder / out))
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1):  # 1: samples failed
            done.check_returncode()
        return seconds, (sum(after[:2]) - sum(before[:2])) / seconds

    def _do(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "jaxvib", *words], cwd=self.folder, text=True,
            env=self.environment, capture_output=True,
        )  # fmt: skip


def compared(study: str) -> dict[str, object]:
    """Return what was told of a study and what it took, cold and warm."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        told = Machine(Path(one)).told(study, "--measure")
        machine = Machine(Path(other))
        cold = _line(told, *machine.taken(study, "first"))
        warm = _line(machine.told(study), *machine.taken(study, "second"))
    return {"cold": cold, "warm": warm}


def _line(told: float | None, taken: float, cores: float) -> dict[str, object]:
    within = told is None or 1 / _FACTOR < told / taken < _FACTOR
    rounded = None if told is None else round(told, 2)
    return {"told": rounded, "taken": round(taken, 2), "cores": round(cores, 2),
            "within": within}  # fmt: skip


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
            far += sum(not each["within"] for each in line.values())
            print(name, json.dumps(line), flush=True)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    return int(far > 0)


if __name__ == "__main__":
    sys.exit(main())
