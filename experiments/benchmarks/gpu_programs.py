"""Registers and memory of GPU programs by NVIDIA's assembler. Needs no GPU.

    python -m experiments.benchmarks.gpu_programs [--only NAME ...]

Each program as PTX, for drivers of CUDA 12 and of CUDA 13 (which spills registers to
shared memory first), assembled by `ptxas` (`pip install nvidia-cuda-nvcc`) for the
oldest GPUs that it knows, A100, L40S, H100, B200 and RTX 50: registers per thread; bytes
per thread of the stack (arrays, and spills), of spill stores and loads; shared memory
per block. Writes `gpu_programs.json`.
"""

import argparse
import json
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import jaxvib as jv
from jaxvib.branches.equations.corrector import LaneData
from jaxvib.branches.equations.orbit_equations import orbit_corrector
from jaxvib.dynamics.events import Request, integrate_events, motion_kernel
from jaxvib.dynamics.flow import solve_system
from jaxvib.dynamics.motion import Want
from jaxvib.foundation.arrays import partition_arrays
from jaxvib.kernels.gpu import ptx
from jaxvib.kernels.lower.lowering import trace
from jaxvib.kernels.lower.tangents import values_and_tangents
from jaxvib.linalg.eigen import eigenvalues
from jaxvib.orbits.shooting.motion_kernels import poincare_kernel, shooting_kernel

ARCHITECTURES = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120")
DRIVERS = (12000, 13000)

NUMBER = jax.ShapeDtypeStruct((), float)
STATE = jax.ShapeDtypeStruct((4,), float)
bodies = jv.two_body_impact()
parameters, static = eqx.partition(bodies, eqx.is_inexact_array)


def shapes_of(tree):
    """Return the shapes of a pytree of numbers."""
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(np.shape(x), np.asarray(x).dtype), tree
    )


shapes = shapes_of(parameters)


def flow(engine, system=bodies):
    """Return the function from (amplitude, frequency) to the end of a motion."""

    def run(amplitude, frequency):
        values = {"load.amplitude": amplitude, "load.frequency": frequency}
        lane = jv.replace(system, values)
        solution = solve_system(
            lane, lane.rest(), 0.0, lane.period(), rtol=1e-9, engine=engine
        )
        return solution.state, solution.steps

    return run, (NUMBER, NUMBER)


def tangents(directions):
    """Return the function of a motion from state to state, and of its tangents."""

    def run(state, rows, parameters, t0, t1, rtol):
        equation = eqx.combine(parameters, static).equation()

        def go(state):
            asked = Request(differentiated=True, steady=True)
            found = integrate_events(equation, state, t0, t1, rtol, asked)
            return found.state, found.result

        return values_and_tangents(go, state, rows)

    rows = jax.ShapeDtypeStruct((directions, 4), float)
    return run, (STATE, rows, shapes, NUMBER, NUMBER, NUMBER)


def field():
    """Return the function of a motion of Duffing's oscillator."""

    def rate(t, x, p):
        spring = x[0] + p["cubic"] * x[0] ** 3
        return jnp.stack([x[1], 0.5 * jnp.cos(1.2 * t) - spring - 0.2 * x[1]])

    system = jv.forced_system(
        rate, parameters={"cubic": 1.0}, period=2 * np.pi / 1.2, dimension=2
    )

    def run(state, cubic):
        return jv.flow(jv.replace(system, {"cubic": cubic}), state, 0.0, 5.0)

    return run, (jax.ShapeDtypeStruct((2,), float), NUMBER)


def stage(kernel, *lane):
    """Return a kernel's function and the shapes of its arguments."""
    return kernel.__wrapped__, shapes_of(lane)


def orbit():
    """Return the function of Newton iteration for an orbit, with error estimates."""
    leaves, rest = partition_arrays(bodies)
    lane = leaves, bodies.rest(), np.int32(1), 1e-8, 1e-2
    return stage(shooting_kernel(rest, "event"), lane)


def transient():
    """Return the function of a segment of a transient."""
    leaves, rest = partition_arrays(bodies)
    return stage(poincare_kernel(rest, 12, 8, "event"), (leaves, bodies.rest()))


def branch():
    """Return the function that corrects a point of a branch."""
    leaves, rest = partition_arrays(bodies)
    problem = LaneData(leaves, np.ones(5), 1e-8, 1e-9, 1e-10, np.int32(1))
    lane = problem, np.ones(5), np.ones(5)
    return stage(orbit_corrector(rest, "load.amplitude", 5), lane)


PROGRAMS = {
    "flow": flow("event"),
    "hard stops": flow("event", jv.two_body_impact(contact=jv.RestitutionContact(0.7))),
    "watched": (
        motion_kernel(static).__wrapped__,
        (STATE, shapes, NUMBER, NUMBER, Want(NUMBER, grazing=NUMBER)),
    ),
    "one tangent": tangents(1),
    "four tangents": tangents(4),
    "field": field(),
    "transient": transient(),
    "orbit": orbit(),
    "multipliers": (eigenvalues, (jax.ShapeDtypeStruct((4, 4), float),)),
    "branch": branch(),
}


def assembler() -> str | None:
    """Return NVIDIA's assembler, of the wheel nvidia-cuda-nvcc or of the machine."""
    folder = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    return next((str(p) for p in folder.glob("*/bin/ptxas")), shutil.which("ptxas"))


def assembled(text: str, architecture: str) -> dict:
    """Return what a program takes on an architecture, in registers and bytes."""
    ptxas = assembler()
    if ptxas is None:
        raise SystemExit("there is no ptxas here: pip install nvidia-cuda-nvcc")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "lanes.ptx")
        file.write_text(text)
        done = subprocess.run(
            [ptxas, "-v", f"-arch={architecture}", "-o", str(file) + ".cubin", str(file)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip

    def number(pattern: str) -> int:
        found = re.search(pattern, done.stderr)
        return int(found[1]) if found else 0

    return {
        "registers": number(r"Used (\d+) registers"),
        "stack": number(r"(\d+) bytes stack frame"),
        "spill stores": number(r"(\d+) bytes spill stores"),
        "spill loads": number(r"(\d+) bytes spill loads"),
        "shared": number(r"(\d+) bytes smem"),
    }


def rows(name: str):
    """Yield the figures of a program, for each driver and architecture."""
    function, arguments = PROGRAMS[name]
    closed = trace(function, arguments)[0]
    for driver in DRIVERS:
        text = ptx.device_program(closed, ARCHITECTURES[0], driver).ptx
        for architecture in ARCHITECTURES:
            known = {"program": name, "CUDA": driver // 1000, "architecture": architecture}
            yield {**known, "lines": text.count("\n"), **assembled(text, architecture)}


def main() -> None:
    """Print the figures of each program and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", choices=PROGRAMS, default=list(PROGRAMS))
    options = parser.parse_args()
    found = []
    for name in options.only:
        for row in rows(name):
            print(json.dumps(row), flush=True)
            found.append(row)
    version = subprocess.run(
        [assembler() or "", "--version"], capture_output=True, text=True, check=True
    )
    release = re.search(r"V[\d.]+", version.stdout)
    result = {"ptxas": release[0] if release else "", "rows": found}
    output = Path(__file__).with_name("gpu_programs.json")
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
