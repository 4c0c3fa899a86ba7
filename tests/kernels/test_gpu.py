"""Checked against: NVIDIA's assembler `ptxas`, and the text that a CPU is given.

Without a GPU: what is launched, and what it takes, is not checked here.
"""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import jaxvib as jv
from jaxvib.dynamics.events import watch_kernel
from jaxvib.dynamics.events.engine import Request, integrate_events
from jaxvib.dynamics.flow import solve_system
from jaxvib.kernels import gpu
from jaxvib.kernels.lowering import Lowering, lower_lane, trace
from jaxvib.kernels.tangents import values_and_tangents

NUMBER = jax.ShapeDtypeStruct((), float)
STATE = jax.ShapeDtypeStruct((4,), float)
bodies = jv.two_body_impact()
parameters, static = eqx.partition(bodies, eqx.is_inexact_array)
shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, float), parameters)


def flow(engine, system=bodies):
    """Return the function from (amplitude, frequency) to where a motion is in the end."""

    def run(amplitude, frequency):
        values = {"load.amplitude": amplitude, "load.frequency": frequency}
        lane = jv.replace(system, values)
        solution = solve_system(
            lane, lane.rest(), 0.0, lane.period(), rtol=1e-9, engine=engine
        )
        return solution.state, solution.steps

    return run, (NUMBER, NUMBER)


def tangents(directions):
    """Return the function of a motion, from state to state, and of its columns."""

    def run(state, rows, parameters, t0, t1, rtol):
        equation = eqx.combine(parameters, static).equation()

        def go(state):
            asked = Request(one=jnp.ones(()), steady=True)
            found = integrate_events(equation, state, t0, t1, rtol, asked)
            return found.state, found.result

        return values_and_tangents(go, state, rows)

    rows = jax.ShapeDtypeStruct((directions, 4), float)
    return run, (STATE, rows, shapes, NUMBER, NUMBER, NUMBER)


def watched():
    """Return the function of a motion to where it ends, and what was watched."""
    function = watch_kernel(static).__wrapped__
    return function, (STATE, shapes, NUMBER, NUMBER, NUMBER, NUMBER)


# Name: the program, and the bytes that it may spill; 512 would be aimed at for each. A
# contact's series and what is watched of them are more numbers than 255 registers hold.
PROGRAMS = {
    "flow": (flow("event"), 512),
    "hard stops": (
        flow("event", jv.two_body_impact(contact=jv.RestitutionContact(0.7))),
        512,
    ),
    "steps": (flow("stepping"), 512),
    "watched": (watched(), 2304),
    "one tangent": (tangents(1), 1152),
    "four tangents": (tangents(4), 1024),
}


@pytest.fixture(scope="module", params=PROGRAMS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def closed(name):
    function, arguments = PROGRAMS[name][0]
    return trace(function, arguments)[0]


@pytest.fixture(scope="module")
def program(closed):
    return gpu.device_program(closed)


def test_one_entry_calls_nothing_and_rounds_every_operation(program):
    assert len(re.findall(r"\.entry", program.ptx)) == 1
    assert not re.findall(r"^\s*call|\.func", program.ptx, re.MULTILINE)
    # what says not how it rounds may be fused by NVIDIA's assembler
    assert re.findall(r"fma\.rn\.f64", program.ptx)
    assert not re.findall(r"\b(?:mul|add|sub|div|sqrt)\.f64", program.ptx)


def test_instructions_are_those_of_a_lane_of_a_cpu(name, closed):
    if name == "four tangents":
        pytest.skip("a CPU takes two of four directions at once, a thread each alone")
    cpu, device = Lowering(1), Lowering(1, threads=True)
    assert lower_lane(cpu, closed) == lower_lane(device, closed)
    cpu, device = (re.sub(r", align \d", "", "\n".join(each.assembler.lines))
                   for each in (cpu, device))  # fmt: skip
    assert cpu == device


def assembler() -> str | None:
    """Return NVIDIA's assembler, of the wheel nvidia-cuda-nvcc or of the machine."""
    folder = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    return next((str(p) for p in folder.glob("*/bin/ptxas")), shutil.which("ptxas"))


def test_registers_and_spills_are_within_bounds(name, program, tmp_path):
    ptxas = assembler()
    if ptxas is None:
        pytest.skip("there is no ptxas here: pip install nvidia-cuda-nvcc")
    file = tmp_path / "lanes.ptx"
    file.write_text(program.ptx)
    done = subprocess.run(
        [ptxas, "-v", "-arch=sm_90", "-o", str(tmp_path / "lanes.cubin"), str(file)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (registers,) = map(int, re.findall(r"Used (\d+) registers", done.stderr))
    (spilled,) = map(int, re.findall(r"(\d+) bytes spill stores", done.stderr))
    assert registers <= 255
    assert spilled <= PROGRAMS[name][1]


def test_it_is_one_call_in_an_exported_program_for_cuda(program):
    lanes = [
        jax.ShapeDtypeStruct((*shape, 1000), kind)
        for shape, kind in program.signature.inputs
    ]
    target = "__gpu$xla.gpu.ptx"
    exported = export.export(
        jax.jit(lambda *arrays: gpu.launched(program, arrays)),
        platforms=["cuda"],
        disabled_checks=[export.DisabledSafetyCheck.custom_call(target)],
    )(*lanes)
    text = exported.mlir_module()
    assert re.findall(r"custom_call @([\w$.]+)", text) == [target]
    assert exported.out_avals[0].shape == (*program.signature.outputs[0][0], 1000)
    assert np.dtype(exported.out_avals[0].dtype).name == program.signature.outputs[0][1]
