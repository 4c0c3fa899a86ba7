"""The first hour of a new user: nine user-defined tasks, timed and checked.

Each runs in an empty folder by commands and programs as a new user writes them, in its
own process with an empty cache; CPU time is that of all its processes. Checks are
closed forms, other programs or known values in generated data.

    python -m experiments.newcomer.first_hour [STEP ...]

Stores its results in first_hour.json, for each Python that runs it; with given steps,
only theirs. The notebook needs the extra `docs`.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).with_suffix(".json")

# Three masses between a wall and two stops, pushed at the first.
THREE_MASSES = """
import jaxvib as jv, numpy as np, matplotlib.pyplot as plt
names = ["ground", "first", "second", "third"]
chain = [
    jv.TranslationTranslation(a, b, mass=1.0, stiffness=400.0, damping=0.8)
    for a, b in zip(names, names[1:])
]
system = jv.ImpactSystem(
    jv.assemble(chain),
    contacts=(
        jv.Contact([0.0, 0.0, 1.0], gap=0.02, law=jv.LinearContact(5e3), name="right"),
        jv.Contact([0.0, 0.0, -1.0], gap=0.03, law=jv.LinearContact(5e3), name="left"),
    ),
    loads=(jv.AppliedLoad([1.0, 0.0, 0.0], jv.HarmonicLoad(2.0, 9.0), name="push"),),
)
frequencies = np.linspace(6.0, 14.0, 500)
"""

SWEEP = f"""{THREE_MASSES}
data = jv.sweep(
    lambda s: jv.periodic_orbit(s, throw=False),
    system, {{"loads.push.law.frequency": frequencies}}, progress=False,
)
figure, axes = plt.subplots()
axes.plot(frequencies, data.amplitude.values[:, 2])
axes.set(xlabel="frequency (rad/s)", ylabel="amplitude of the third (m)")
figure.savefig("sweep.png")
found = (data.result.values == 0) & (data.contacts.values == 0)
linear = np.abs(jv.frequency_response(system, frequencies, force="first", at="third")) * 2.0
off = np.abs(data.amplitude.values[:, 2] / linear - 1)[found].max()
print(int((data.result.values == 0).sum()), int(found.sum()), off)
assert found.sum() > 100 and off < 1e-6, "without contact the chain is linear"
"""

CONFIG = """
title = "Three masses and two stops, at random"
[system]
kind = "impact_assembly"
[system.linear.modules.ground-first]
module = "translation_translation"
mass = 1.0
stiffness = 400.0
damping = 0.8
[system.linear.modules.first-second]
module = "translation_translation"
mass = 1.0
stiffness = 400.0
damping = 0.8
[system.linear.modules.second-third]
module = "translation_translation"
mass = 1.0
stiffness = 400.0
damping = 0.8
[system.contacts.right]
contact = "linear"
at = "third"
gap = "20 mm"
law.stiffness = 5e3
[system.contacts.left]
contact = "linear"
at = { third = -1.0 }
gap = "30 mm"
law.stiffness = 5e3
[system.loads.push]
load = "harmonic"
at = "first"
law.amplitude = 2.0
law.frequency = 9.0
[analysis]
kind = "periodic_orbit"
[sweep]
method = "random"
count = 48
loads.push.law.frequency = { bounds = [6.0, 14.0] }
loads.push.law.amplitude = { bounds = [0.5, 3.0] }
[run]
seed = 3
chunk = 16
"""

RANDOM = """
jaxvib check mine.toml && jaxvib run mine.toml --out mine --json > mine.json
jaxvib export mine mine.csv
python - <<'END'
import csv, json
ended, rows = json.load(open("mine.json")), list(csv.reader(open("mine.csv")))
print(ended["done"], ended["failed"], len(rows), len(rows[0]))
assert ended["done"] == 48 == len(rows) - 1 and ended["failed"] == 0
END
"""

FIT = """
import jaxvib as jv, numpy as np
rng = np.random.default_rng(0)
system = jv.two_body_impact(main_mass=1.0, main_frequency=1.0, main_damping_ratio=0.0,
    attached_mass=0.1, attached_frequency=0.95, attached_damping_ratio=0.1)
truth = jv.replace(system, {"attached.frequency": 0.93, "attached.damping_ratio": 0.12})
frequencies = np.linspace(0.5, 1.5, 41)
made = np.abs(jv.frequency_response(truth, frequencies, force="main", at="main"))
noisy = made * rng.normal(1.0, 0.01, 41)
np.savetxt("measured.csv", np.c_[frequencies, noisy], delimiter=",")

w, measured = np.loadtxt("measured.csv", delimiter=",", unpack=True)
fit = jv.design.fit(jv.design.response_measure("main", "main", w), system,
    {"attached.frequency": (0.7, 1.1), "attached.damping_ratio": (0.02, 0.5)},
    measured, deviations=0.01 * measured)
print(fit.values)
for path, planted in (("attached.frequency", 0.93), ("attached.damping_ratio", 0.12)):
    low, high = fit.intervals[path]
    middle, half = (low + high) / 2, (high - low) / 2
    assert abs(planted - middle) < 2 * half, (path, low, high)
"""

ROAD = """
jaxvib new quarter_car car.toml
jaxvib run car.toml --out car --json > car.json
python - <<'END'
import json, xarray
ended, data = json.load(open("car.json")), xarray.open_zarr("car/results.zarr")
force = data.max_contact_force.values
print(ended["done"], ended["failed"], force.round(0).tolist())
assert ended["done"] == 8 and force[0] == 0 < force[-1], "no bump on the smoothest road"
END
"""

CYCLE = """
import jaxvib as jv
van_der_pol = jv.autonomous_system(
    lambda x, p: [x[1], p["mu"] * (1 - x[0] ** 2) * x[1] - x[0]],
    parameters={"mu": 1.0}, dimension=2)
cycle = jv.periodic_orbit(van_der_pol, [2.0, 0.0], period=6.6)
print(float(cycle.period))
assert abs(cycle.period - 6.6632868593231301) < 1e-8 and cycle.stable  # published
"""

STORE = """
jaxvib run tower_modes --out tower --json > /dev/null
python - <<'END'
import sys, xarray
data = xarray.open_zarr("tower/results.zarr")
f = data.frequencies
print(dict(data.sizes), f.attrs)
assert "jaxvib" not in sys.modules and f.attrs["units"] == "rad/s" and f.shape[0] == 26
assert "flag_meanings" in data.result.attrs
END
"""

FIGURE = f"""{THREE_MASSES}
orbit = jv.periodic_orbit(system)
figure, axes = plt.subplots(figsize=(3.5, 2.4), layout="constrained")
orbit.plot(system, ax=axes)
figure.savefig("orbit.pdf")
size = len(open("orbit.pdf", "rb").read())
print(size, axes.get_xlabel(), axes.get_ylabel())
assert size > 5000 and axes.get_xlabel() and axes.get_ylabel()
"""

NOTEBOOK = """
import nbclient, nbformat
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(
    "import jaxvib as jv\\norbit = jv.periodic_orbit(jv.two_body_impact())\\norbit")])
nbclient.NotebookClient(book, timeout=600).execute()
output = book.cells[0].outputs[-1]
print(sorted(output["data"]))
assert "text/html" in output["data"]
"""

RESUMED = """
import json, signal, subprocess, time
from pathlib import Path
# Whoever runs this in the background may have Ctrl-C ignored, which processes inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
run = ["jaxvib", "run", "mine.toml", "--out", "stopped"]
process = subprocess.Popen(run, stderr=subprocess.PIPE, text=True)
journal = Path("stopped/journal.jsonl")
while not (journal.exists() and "chunk 0" in journal.read_text()):
    assert process.poll() is None
    time.sleep(0.01)
process.send_signal(signal.SIGINT)
said = process.communicate()[1]
assert process.returncode == 130 and "--resume" in said, (process.returncode, said)
changed = subprocess.run([*run, "--resume", "--set", "loads.push.law.phase=0.5"],
    capture_output=True, text=True)
assert changed.returncode == 2 and "phase" in changed.stderr, changed.stderr
subprocess.run(["jaxvib", "run", "mine.toml", "--out", "whole"], check=True)
subprocess.run([*run, "--resume"], check=True)
def arrays(folder):
    root = Path(folder, "results.zarr")
    files = [f for f in root.rglob("c/**/*") if f.is_file()]
    return {str(f.relative_to(root)): f.read_bytes() for f in files}
stopped, whole = arrays("stopped"), arrays("whole")
unlike = [name for name in whole | stopped if whole.get(name) != stopped.get(name)]
assert whole and not unlike, unlike
print(len(arrays("whole")), "arrays the same")
"""

STEPS = {
    "three masses swept over 500 frequencies": (sys.executable, "-c", SWEEP),
    "its config, random samples, a CSV out": ("bash", "-euc", RANDOM),
    "two parameters fitted to a file": (sys.executable, "-c", FIT),
    "a quarter car on a road record": ("bash", "-euc", ROAD),
    "a limit cycle": (sys.executable, "-c", CYCLE),
    "a store opened without jaxvib": ("bash", "-euc", STORE),
    "a figure for a paper": (sys.executable, "-c", FIGURE),
    "a notebook": (sys.executable, "-c", NOTEBOOK),
    "interrupted, changed, resumed": (sys.executable, "-c", RESUMED),
}


def done(command: tuple[str, ...], folder: Path) -> dict[str, object]:
    """Run a step in a folder; return whether its checks hold, what it said and cost."""
    (folder / "mine.toml").write_text(CONFIG)
    environment = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = (ended.stdout.strip() or ended.stderr.strip()).splitlines()
    return {
        "kept": ended.returncode == 0,
        "said": said[-1] if said else "",
        "seconds": round(time.monotonic() - began, 1),
        "processor_seconds": round(sum(after[:2]) - sum(before[:2]), 1),
        **({} if ended.returncode == 0 else {"error": ended.stderr[-2000:]}),
    }


def main() -> int:
    """Do the steps, print and store what was found; 1 if one is not as promised."""
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", nargs="*", choices=[*STEPS, []])
    names = parser.parse_args().steps or list(STEPS)
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found = stored.setdefault(platform.python_version(), {"steps": {}})
    found |= {"jax": version("jax"), "cores": os.cpu_count()}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            step = done(STEPS[name], Path(folder))
        found["steps"][name] = step
        mark = "ok" if step["kept"] else f"NOT KEPT\n{step['error']}"
        cost = f"{step['seconds']:6} s, {step['processor_seconds']:6} s of processor"
        print(f"{name:42} {cost}  {mark}", flush=True)
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n")
    total = sum(step["seconds"] for step in found["steps"].values())
    print(f"{total / 60:.1f} min in all")
    return int(not all(found["steps"][name]["kept"] for name in names))


if __name__ == "__main__":
    sys.exit(main())
