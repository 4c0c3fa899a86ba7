"""Time to a first result, from a cold start and in a second run: whole processes.

    python -m experiments.benchmarks.first_runs [NAME...]

A built-in study by its name, run by `jaxvib run`, report included; or, in Python,
`orbit` (periodic motion of the README), `gradient` (block of the README, including the
derivative), `multiplier` (derivative of the largest Floquet multiplier), `motion` (time
history at 501 times, derivative of its end by its start, and the natural modes), `stop`
(time history with hard impacts), `branch` (two bodies, along the load frequency),
`bifurcation` (a fold located on this branch, with its derivative), `field_motion` and
`field` (a user-defined vector field: time history with the derivative of its end;
branch with two folds). Each runs in its own process and cache folder, and once more
with the cache of the first run. Reported are wall time, CPU time of all cores, and CPU
time relative to that of `import jax` in the same run, as machines differ. Writes
`experiments/benchmarks/first_runs-<device>-<cores>.json`, keeping rows that are not run
again. `experiments.benchmarks.regime_map` measures the accuracy of the map.
"""

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from experiments.machine import machine

ORBIT = """
import jax
import jaxvib as jv
system = jv.two_body_impact(load=jv.HarmonicLoad(amplitude=500.0, frequency=5.8))
orbit = jv.periodic_orbit(system)
print(orbit)
"""
PROGRAMS = {
    "orbit": ORBIT,
    "gradient": ORBIT
    + """
def peak(frequency):
    tuned = jv.replace(system, {"attached.frequency": frequency})
    return jv.periodic_orbit(tuned, orbit.state).max_contact_force
print(jax.jit(jax.jacfwd(peak))(5.646))
""",
    "multiplier": ORBIT
    + """
def modulus(stiffness):
    tuned = jv.replace(system, {"contact.stiffness": stiffness})
    return jv.periodic_orbit(tuned, orbit.state).largest_multiplier
print(jax.jit(jax.jacfwd(modulus))(float(system.contact.stiffness)))
""",
    "motion": """
import jax
import jaxvib as jv
system = jv.two_body_impact(load=jv.HarmonicLoad(amplitude=500.0, frequency=5.8))
print(jv.simulate(system, system.rest(), [0.02 * i for i in range(501)]))
print(jax.jacfwd(lambda state: jv.flow(system, state, 0.0, 10.0))(system.rest()))
print(jv.natural_modes(system))
""",
    "stop": """
import jaxvib as jv
hard = jv.two_body_impact(contact=jv.RestitutionContact(0.7))
print(jv.periodic_orbit(hard))
""",
    "branch": ORBIT
    + """
branch = jv.continue_orbit(system, orbit, "load.frequency", (5.8, 6.3))
print(branch)
""",
    "bifurcation": """
import jax
import jaxvib as jv
load = jv.HarmonicLoad(amplitude=600.0, frequency=5.8)
system = jv.two_body_impact(contact=jv.HertzContact(3.504e7), load=load)
branch = jv.continue_orbit(
    system, jv.periodic_orbit(system), "load.amplitude", (50.0, 600.0)
)
fold = next(point for point in branch.bifurcations if point.kind == "fold")
def amplitude(mass):
    tuned = jv.replace(system, {"attached.mass": mass})
    return jv.bifurcation_point(tuned, fold, "fold", path="load.amplitude").parameter
print(jax.jit(jax.value_and_grad(amplitude))(100.0))
""",
}
FIELD = """
import jax
import jax.numpy as jnp
import jaxvib as jv
system = jv.forced_system(
    lambda t, x, p: [x[1], 0.5 * jnp.cos(p["w"] * t) - x[0] - x[0] ** 3 - 0.1 * x[1]],
    parameters={"w": 0.7}, period=lambda p: 2 * jnp.pi / p["w"], dimension=2,
)
"""
PROGRAMS["field_motion"] = (
    FIELD
    + """
print(jv.simulate(system, system.rest(), [0.1 * i for i in range(501)]))
print(jax.jacfwd(lambda state: jv.flow(system, state, 0.0, 10.0))(system.rest()))
"""
)
PROGRAMS["field"] = (
    FIELD
    + """
print(jv.continue_orbit(system, jv.periodic_orbit(system), "w", (0.3, 3.0)))
"""
)
NAMES = [*PROGRAMS, "quick", "regime_map", "stability_chart"]


def one_run(name: str, folder: Path, number: int) -> dict[str, float]:
    """Run a program or a study in a process of its own; return what it took."""
    words = ["-m", "jaxvib", "run", name, "--out", str(folder / f"{number}")]
    words = ["-c", PROGRAMS[name]] if name in PROGRAMS else words
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *words], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    seconds, after = (
        time.perf_counter() - began,
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 1), "core seconds": round(spent, 1)}


def import_of_jax() -> float:
    """Return the core seconds that `import jax` takes in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import jax"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run everything twice and write what it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    # As an installer does; Python may be told not to keep bytecode.
    compileall.compile_dir(Path(__file__).parents[2] / "jaxvib", quiet=1)
    about = machine()
    file = Path(__file__).with_name(f"first_runs-{about['device']}-{about['cores']}.json")
    rows = json.loads(file.read_text())["runs"] if file.exists() else {}
    for name in parser.parse_args().names:
        unit = min(import_of_jax() for _ in range(3))
        with tempfile.TemporaryDirectory() as folder:
            rows[name] = {
                kind: one_run(name, Path(folder), number)
                for number, kind in enumerate(("cold", "second"))
            }
        for row in rows[name].values():
            row["imports of jax"] = round(row["core seconds"] / unit, 1)
        rows[name]["date"], rows[name]["load"] = about["date"], about["load"]
        print(name, rows[name], flush=True)
        file.write_text(json.dumps({"machine": about, "runs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
