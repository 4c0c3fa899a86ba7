"""Time to first results for three masses with a Hertz contact and a hard stop.

    python -m experiments.benchmarks.three_masses

`orbit`: one periodic motion; `regimes`: those of 500 load frequencies, up to the first
finished sample. Each in a process with its own cache folder, and once more with the
cache of the first run: core-seconds, imports included, also relative to `import jax` in
the same run. Writes `three_masses-<device>-<cores>.json`.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.benchmarks.first_runs import import_of_jax
from experiments.machine import machine

SYSTEM = """
import itertools, os, time
import numpy as np
import jaxvib as jv
from jaxvib.orbits.samples.regimes import regimes
linear = jv.assemble([
    jv.TranslationTranslation(a, b, mass=1.0, stiffness=40.0, damping=2.0)
    for a, b in itertools.pairwise(["ground", "a", "b", "c"])
])
system = jv.ImpactSystem(
    linear,
    (
        jv.Contact(linear.direction({"a": 1.0, "b": -1.0}), 0.02, jv.HertzContact(2e4)),
        jv.Contact(linear.direction({"c": 1.0}), 0.05, jv.RestitutionContact(0.7)),
    ),
    (jv.AppliedLoad(linear.direction({"c": 1.0}), jv.HarmonicLoad(4.0, 2.8)),),
)
"""
PROGRAMS = {
    "orbit": SYSTEM
    + """
orbit = jv.periodic_orbit(system)
print(time.process_time(), int(orbit.contacts))
""",
    "regimes": SYSTEM
    + """
def told(number):
    print(time.process_time(), number, flush=True)
    os._exit(0)
regimes(system, {"loads.0.law.frequency": np.linspace(2.5, 6.0, 500)}, progress=told)
""",
}


def core_seconds(name: str, folder: str) -> float:
    """Return the core seconds of a program in a process of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": folder}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[name]], env=environment, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    return float(done.stdout.split()[0])


def main() -> None:
    """Run each program twice and write what it took."""
    about, rows, unit = machine(), {}, min(import_of_jax() for _ in range(3))
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            seconds = {kind: core_seconds(name, folder) for kind in ("cold", "second")}
        rows[name] = {
            kind: {"core seconds": round(s, 1), "imports of jax": round(s / unit, 1)}
            for kind, s in seconds.items()
        }
        print(name, rows[name], flush=True)
    file = Path(__file__).with_name(f"three_masses-{about['device']}-{about['cores']}.json")
    file.write_text(json.dumps({"machine": about, "runs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
