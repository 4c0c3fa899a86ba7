"""A first design: 20 steps of gradients through the motion of an impact damper.

    python -m experiments.design.first_design

Reports the objective before and after, the time including the import, and the gradient
compared with fourth-order differences.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

began = time.perf_counter(), time.process_time()

import jaxvib as jv  # noqa: E402
from jaxvib.design import Problem, SearchSettings, optimise, orbit_measure  # noqa: E402

PATHS = {"attached.frequency": (4.0, 8.0), "attached.damping_ratio": (0.005, 0.3)}


def first_design() -> dict:
    """Return the figures."""
    system = jv.two_body_impact(contact=jv.HertzContact(3.504e7))
    problem = Problem(system, PATHS, orbit_measure("amplitude", 0))
    design = optimise(problem, "adam", settings=SearchSettings(steps=20))
    seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    print(design)
    step = 1e-4
    slopes = {}
    for path, (low, high) in PATHS.items():
        value, change = design.value(path), step * (high - low)
        amplitudes = [
            jv.periodic_orbit(jv.replace(design.system, {path: value + i * change}),
                              rtol=1e-12).amplitude[0]
            for i in (-2, -1, 1, 2)
        ]  # fmt: skip
        a, b, c, d = map(float, amplitudes)
        difference = (a - 8 * b + 8 * c - d) / (12 * change)
        exact = float(design.gradients[path][int(design.best)])
        slopes[path] = {"exact": exact, "by differences": difference,
                        "relative difference": abs(exact / difference - 1)}  # fmt: skip
    return {
        "amplitude of the main body, m": [
            float(design.objective[0]), float(design.objective[int(design.best)])
        ],
        "seconds, import and compilation included": round(seconds[0], 1),
        "of them on a processor": round(seconds[1], 1),
        "gradient at the best step": slopes,
    }  # fmt: skip


def cold() -> dict:
    """Return the figures of a process of its own that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as cache:
        printed = subprocess.run(
            [sys.executable, "-m", "experiments.design.first_design"],
            env={**os.environ, "XDG_CACHE_HOME": cache}, check=True, text=True,
            stdout=subprocess.PIPE,
        ).stdout  # fmt: skip
    return json.loads(printed[printed.index("{") :])


if __name__ == "__main__":
    print(json.dumps(first_design(), indent=1))
