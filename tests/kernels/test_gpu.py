"""Checked against: NVIDIA's assembler `ptxas`, and the text that a CPU is given.

Without a GPU: what is launched, and what it takes, is not checked here.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from experiments.benchmarks.gpu_programs import (
    ARCHITECTURES,
    PROGRAMS,
    assembled,
    assembler,
)
from jaxvib.kernels.cpu.machine_code import bindings
from jaxvib.kernels.gpu import ptx
from jaxvib.kernels.lower.lowering import Lowering, lower_lane, trace
from tests.kernels.ptx_emulator import back_edges

SPILLED = 512  # bytes of local memory that a program may spill to
# More for Newton iterations, on architectures with a third of an H100's shared memory,
# which compute few float64 numbers anyway, and with drivers before CUDA 13.0, which
# spill nothing to it.
FULL = ("sm_80", "sm_90", "sm_100")
MORE = {"branch": 704, "orbit": 2560}
SMALL = {
    "watched": 1280, "one tangent": 640, "four tangents": 640, "branch": 1280,
    "orbit": 3328,
    "transient": 544,  # 24 more than 504, for checks that its parameters are in range
}  # fmt: skip
BEFORE = {
    "watched": 2048, "one tangent": 1152, "four tangents": 1024, "transient": 832,
    "branch": 1792, "orbit": 4096,
}  # fmt: skip
# One architecture of each program; the slow tests take all.
QUICK = dict(zip(("flow", "hard stops", "field", "watched", "one tangent", "four tangents"),
                 ARCHITECTURES, strict=True))  # fmt: skip


# Four tangents, the longest of them, are lowered and assembled for 5 s.
LONG = pytest.param("four tangents", marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=[*list(QUICK)[:-1], LONG])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def closed(name):
    function, arguments = PROGRAMS[name]
    return trace(function, arguments)[0]


@pytest.fixture(scope="module")
def program(closed):
    return ptx.device_program(closed, ARCHITECTURES[0], 13000)


def test_one_entry_calls_nothing_and_rounds_every_operation(program):
    assert len(re.findall(r"\.entry", program.ptx)) == 1
    assert not re.findall(r"^\s*call|\.func", program.ptx, re.MULTILINE)
    # what says not how it rounds may be fused by NVIDIA's assembler
    assert re.findall(r"fma\.rn\.f64", program.ptx)
    assert not re.findall(r"\b(?:mul|add|sub|div|sqrt)\.f64", program.ptx)


def test_loops_end_in_one_block_where_threads_of_a_warp_meet(program):
    # Threads that leave an inner loop, or a branch, for the beginning of an outer loop
    # stay apart until that ends: NVIDIA's assembler lets them meet only further on.
    edges = back_edges(program.ptx)
    assert edges
    assert [ways for _, _, ways in edges] == [1] * len(edges)
    assert len({begin for _, begin, _ in edges}) == len(edges)


def test_instructions_are_those_of_a_lane_of_a_cpu(name, closed):
    if name == "four tangents":
        pytest.skip("a CPU takes two of four directions at once, a thread each alone")
    cpu, device = Lowering(1), Lowering(1, threads=True)
    assert lower_lane(cpu, closed) == lower_lane(device, closed)
    cpu, device = (re.sub(r", align \d", "", "\n".join(each.assembler.lines))
                   for each in (cpu, device))  # fmt: skip
    assert cpu == device


def test_ptx_does_not_depend_on_earlier_compilations():
    function, arguments = PROGRAMS["multipliers"]
    closed = trace(function, arguments)[0]
    first = ptx.device_program(closed).ptx
    for order in "01":
        bindings().set_option("jaxvib", f"-enable-misched={order}")
        assert ptx.device_program(closed).ptx == first


def bound(name, architecture):
    return (MORE if architecture in FULL else SMALL).get(name, SPILLED)


def check_spills(program, architecture, most):
    if assembler() is None:
        pytest.skip("there is no ptxas here: pip install nvidia-cuda-nvcc")
    found = assembled(program.ptx, architecture)
    assert found["registers"] <= 255
    assert found["spill stores"] <= most
    assert found["shared"] <= 48 * 1024


def test_registers_and_spills_are_within_bounds(name, program):
    check_spills(program, QUICK[name], bound(name, QUICK[name]))


@pytest.mark.slow
@pytest.mark.parametrize("each", PROGRAMS)
def test_registers_and_spills_of_all_programs_are_within_bounds(each):
    function, arguments = PROGRAMS[each]
    closed = trace(function, arguments)[0]
    new, old = (ptx.device_program(closed, ARCHITECTURES[0], d) for d in (13000, 12000))
    for architecture in ARCHITECTURES:
        check_spills(new, architecture, bound(each, architecture))
    check_spills(old, "sm_90", BEFORE.get(each, SPILLED))


def test_drivers_before_cuda_13_are_given_no_directive_of_it(closed, program):
    old = ptx.device_program(closed, ARCHITECTURES[0], 12090)
    assert (old.block, program.block) == (128, 64)
    assert re.findall(r"\.version (.*)|\.pragma (.*);", old.ptx) == [("8.0", "")]
    assert re.findall(r"\.version (.*)|\.pragma (.*);", program.ptx) == [
        ("9.0", ""), ("", '"enable_smem_spilling"'),
    ]  # fmt: skip


def test_it_is_one_call_in_an_exported_program_for_cuda(program):
    lanes = [
        jax.ShapeDtypeStruct((*shape, 1000), kind)
        for shape, kind in program.signature.inputs
    ]
    target = "__gpu$xla.gpu.ptx"
    exported = export.export(
        jax.jit(lambda *arrays: ptx.launched(program, arrays)),
        platforms=["cuda"],
        disabled_checks=[export.DisabledSafetyCheck.custom_call(target)],
    )(*lanes)
    text = exported.mlir_module()
    assert re.findall(r"custom_call @([\w$.]+)", text) == [target]
    assert exported.out_avals[0].shape == (*program.signature.outputs[0][0], 1000)
    assert np.dtype(exported.out_avals[0].dtype).name == program.signature.outputs[0][1]


def test_a_call_in_xla_has_scratch_memory_for_all_threads():
    shape = jax.ShapeDtypeStruct((20,), float)
    closed = trace(lambda x: jnp.sin(x) @ jnp.outer(x, x), [shape])[0]
    program = ptx.device_program(closed, short=16)
    run = jax.jit(lambda x: ptx.launched(program, [x]))
    target = "__gpu$xla.gpu.ptx"
    text = export.export(
        run,
        platforms=["cuda"],
        disabled_checks=[export.DisabledSafetyCheck.custom_call(target)],
    )(jax.ShapeDtypeStruct((20, 100), float)).mlir_module()
    (call,) = (line for line in text.splitlines() if target in line)
    threads = -(-100 // program.block) * program.block
    numbers = threads * program.workspace // 8
    assert program.ptx.count("lanes_param_") >= 4  # lanes, input, output, workspace
    assert f"-> (tensor<20x100xf64>, tensor<{numbers}xf64>)" in call
