"""Checked against: the bits of the CPU's kernels; the GPU is an emulated device.

`emulated_cuda.py` takes the place of NVIDIA's driver, with `ptx_emulator.py` for launches.
"""

import ctypes
import gc
import logging
import os
import re
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from jax import export

import jaxvib as jv
from jaxvib import cli
from jaxvib.kernels.calls.kernel import Kernel
from jaxvib.kernels.gpu import device_check, device_choice, device_lanes, driver, ptx
from jaxvib.kernels.lower.lowering import trace
from jaxvib.studies.run import information
from tests.kernels.iterated_lanes import (
    FREQUENCIES,
    LANES,
    STARTS,
    assert_same,
    emulated,
    expected,
    iterated,
    launches,
    reason,
    rng,
)

BAD_PTX = "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX; ptxas application ptx input, line 7"


def info():
    """Return what `jaxvib info` says of GPUs."""
    return information._gpu_line(information._gpu())


def test_a_right_device_is_checked_once_and_launched(device, kernel, caplog):
    device()
    assert reason(kernel) == "no call of `map` was long enough for a check"
    with caplog.at_level(logging.WARNING, "jaxvib"):
        found = kernel.map(STARTS, FREQUENCIES)
    assert_same(found, expected(kernel))
    first, second = caplog.messages
    identity = "Emulated GPU (9.0), driver 13.0"
    assert first == f"jaxvib: checking iterated on {identity}, once, for at most 120 s"
    assert second.startswith("jaxvib: iterated is launched there: 256 lanes have the CPU's")
    assert launches() == [(0, 32, 64)]
    assert reason(kernel) == ""
    assert [each.launched for each in device_check.verdicts()] == [True]
    # Another kernel of the same program, as of a later process, finds the verdict.
    caplog.clear()
    again = jv.kernel(iterated)
    assert_same(again.map(STARTS, FREQUENCIES), found)
    assert len(launches()) == 2
    assert not caplog.messages


def test_a_wrong_bit_keeps_the_lanes_on_the_cpu(device, kernel, caplog, monkeypatch):
    device("fault=bit")
    assert info().endswith("driver 13.0; 0 kernels checked and launched")
    found = kernel.map(STARTS, FREQUENCIES)
    assert_same(found, expected(kernel))
    told = "1 of 256 lanes have other bits than on the CPU, first lane 77"
    assert reason(kernel) == told
    assert f"jaxvib: iterated runs on the CPU: {told}" in caplog.messages
    assert not launches()
    assert f"iterated on the CPU: {told}" in info()
    monkeypatch.setenv("JAXVIB_GPU", "cpu")
    assert "(JAXVIB_GPU = cpu)" in info()


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("crash", "its launch ended by SIGSEGV"),
        ("hang", "its launch did not end in 3 s"),
        pytest.param("ptx", BAD_PTX, marks=pytest.mark.slow),
        pytest.param("long", "other bits in a longer launch", marks=pytest.mark.slow),
        pytest.param("slow", "times as fast as the CPU", marks=pytest.mark.slow),
    ],
)
def test_a_failing_device_keeps_the_lanes_on_the_cpu(
    device, kernel, monkeypatch, fault, told
):
    monkeypatch.setattr(device_check, "LIMIT", 3.0 if fault == "hang" else 60.0)
    device(f"fault={fault}")
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    assert told in reason(kernel)
    (kept,) = device_check.verdicts()
    assert kept.reason == reason(kernel)
    assert not launches()


@pytest.mark.slow  # checks a device three times, in processes, 3 s
def test_another_driver_is_checked_anew(device, caplog):
    device("fault=bit version=13000")
    jv.kernel(iterated).map(STARTS, FREQUENCIES)
    device("version=13010")
    mended = jv.kernel(iterated)
    assert_same(mended.map(STARTS, FREQUENCIES), expected(mended))
    assert reason(mended) == ""
    assert [each.device for each in device_check.verdicts() if each.launched] == [
        "Emulated GPU (9.0), driver 13.1"
    ]
    device("version=13000")
    old = jv.kernel(iterated)
    old.map(STARTS, FREQUENCIES)
    assert "other bits" in reason(old)


def test_shares_go_round_all_devices(by_hand, kernel):
    # A quarter of the memory of each holds 10 blocks of 49 B a lane: 640 of its 667 lanes.
    by_hand(f"devices=3 memory={4 * 10 * 64 * 60}")
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    taken = [device for device, _, _ in launches()]
    assert sorted(taken) == [0, 0, 1, 1, 2, 2]
    assert {blocks for _, blocks, _ in launches()} == {10, 1}


def test_devices_take_lanes_by_their_rates_and_add_up_to_all(device):
    found = device(f"devices=2 memory={4 * 2 * 64 * 30}")
    program = ptx.device_program(trace(jnp.cos, (jax.ShapeDtypeStruct((), float),))[0])
    rates = [1e3, 3e3]
    loaded = [
        driver.LoadedProgram(*program, each, rate)
        for each, rate in zip(found.devices, rates, strict=True)
    ]
    lanes = np.linspace(0.0, 9.0, 16 * program.block)
    (result,) = device_lanes.run_lanes(loaded, [lanes])
    np.testing.assert_array_equal(result, jv.kernel(jnp.cos).map(lanes, threads=1))
    blocks = [sum(b for each, b, _ in launches() if each == k) for k in range(2)]
    assert blocks == [4, 12]
    assert len(launches()) > 4  # shares of both


def test_seconds_of_a_call_are_the_sum_over_its_shares(device):
    # Any block has as many instructions as another: 16 launches only begin more often.
    program = ptx.device_program(
        trace(lambda x: x * x, (jax.ShapeDtypeStruct((), float),))[0]
    )
    lanes, seconds = np.linspace(0.0, 9.0, 16 * program.block), []
    size = driver.Layout(program.signature, program.block).total
    for memory in (2**33, 4 * size):
        loaded = driver.LoadedProgram(*program, device(f"memory={memory}").devices[0])
        for _ in range(2):  # the seconds are those of the last call
            device_lanes.run_lanes([loaded], [lanes])
        seconds.append(loaded.seconds)
    assert len(launches()) == 2 * 16
    np.testing.assert_allclose(seconds[1] - seconds[0], 15 * emulated().LAUNCH, rtol=1e-4)


def test_a_share_is_begun_before_the_last_is_read(by_hand, kernel):
    by_hand(f"devices=2 memory={4 * 4 * 64 * 60}")
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    short = {
        "cuMemcpyHtoDAsync_v2": "copy", "cuLaunchKernel": "launch",
        "cuMemcpyDtoHAsync_v2": "copy back", "cuEventElapsedTime": "read",
    }  # fmt: skip
    share = ["copy", "launch", "copy back"]
    for device in range(2):
        called = [
            short[name] for k, name in emulated().calls if k == device and name in short
        ]
        shares = called.count("launch")
        assert shares == 4
        assert called == share + [*share, "read"] * (shares - 1) + ["read"]


def test_shares_are_halved_where_memory_is_short(by_hand, kernel):
    by_hand(f"memory={2**20} reserved={2**20 - 2**16}")
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    sizes = [blocks for _, blocks, _ in launches()]
    assert sizes == [16, 8, 8, 8, 8]  # the second 16 found no memory


def test_a_gpu_without_free_memory_is_reported_and_the_cpu_takes_over(
    by_hand, kernel, caplog
):
    by_hand(f"memory={2**20} reserved={2**20}")
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    assert caplog.messages == [
        "jaxvib: iterated failed on the GPU: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY; it "
        "runs on the CPU until this process ends"
    ]
    assert reason(kernel) == "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY"


def test_a_launch_that_fails_later_leaves_all_lanes_to_the_cpu(by_hand, kernel):
    by_hand(f"memory={4 * 128 * 100} fault=launch")
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    assert len(launches()) == 5
    assert reason(kernel) == "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS"
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    assert len(launches()) == 5


def whirled(x, matrix):
    """Return products of a matrix and a vector, which are in memory."""
    x = jax.lax.fori_loop(0, 5, lambda k, y: jnp.sin(matrix @ y) + x[k], x)
    return x, jnp.argmax(x)


def test_lanes_with_arrays_in_memory_run_in_shares_that_fit_it(by_hand):
    size = 17
    inside = Kernel(whirled, in_memory=True)
    lanes = rng.normal(size=(2000, size)), rng.normal(size=(2000, size, size))
    by_hand(f"memory={2**22}")
    found = inside.map(*lanes)
    assert_same(found, inside.map(*lanes, threads=1))
    blocks = [number for _, number, _ in launches()]
    assert sum(blocks) == -(-2000 // 32)
    assert len(blocks) > 1
    assert not emulated().memory
    # Where less memory is to be had than is free, shares are halved.
    by_hand(f"memory={2**22} reserved={2**21}")
    assert_same(Kernel(whirled, in_memory=True).map(*lanes), found)
    assert len(launches()) > len(blocks)


def test_arrays_without_numbers_are_launched_too(device):
    device()
    kernel = jv.kernel(lambda empty: (jnp.sum(empty), empty))
    total, same = kernel.map(np.zeros((LANES, 0)))
    np.testing.assert_array_equal(total, np.zeros(LANES))
    assert same.shape == (LANES, 0)
    assert kernel.unsupported_reason(np.zeros(0), device="gpu") == ""


def test_launches_are_short_where_the_driver_ends_long_ones(device):
    found = device("display=1")
    closed = trace(jnp.cos, (jax.ShapeDtypeStruct((), float),))[0]
    program = ptx.device_program(closed)
    loaded = driver.LoadedProgram(*program, found.devices[0], rate=4e3)
    (result,) = device_lanes.run_lanes([loaded], [FREQUENCIES])
    np.testing.assert_array_equal(result, jv.kernel(jnp.cos).map(FREQUENCIES, threads=1))
    assert {blocks for _, blocks, _ in launches()} == {1000 // 128, 2000 % 896 // 128 + 1}


def test_memory_is_kept_for_later_calls_and_contexts_are_given_back(by_hand, kernel):
    by_hand("devices=2")
    kernel.map(STARTS, FREQUENCIES)
    kept = [dict(memory) for memory in (emulated().memory, emulated().pinned)]
    assert [len(memory) for memory in kept] == [2, 2]
    fewer = kernel.map(STARTS[:-100], FREQUENCIES[:-100])
    assert_same(fewer, [each[:-100] for each in expected(kernel)])
    assert [emulated().memory, emulated().pinned] == kept
    for each in driver.driver().devices:
        each.enter()
        each.free_slots()
    assert not emulated().memory
    assert not emulated().pinned
    del emulated().current.device
    # The thread of the caller, perhaps one of JAX's, keeps its own context.
    assert not hasattr(emulated().current, "device")


def test_modules_of_a_kernel_that_is_dropped_are_unloaded_on_each_device(by_hand):
    by_hand("devices=2")
    kernels = [jv.kernel(iterated), jv.kernel(iterated)]
    [each.map(STARTS, FREQUENCIES) for each in kernels]
    assert sorted(emulated().modules.values()) == [0, 0, 1, 1]
    kernels.pop(0)
    gc.collect()
    assert sorted(emulated().modules.values()) == [0, 1]
    assert len(set(emulated().unloaded)) == 2
    # The thread that collects the kernel, perhaps one of JAX's, keeps its own context.
    assert emulated().current.device is None
    assert_same(kernels[0].map(STARTS, FREQUENCIES), expected(kernels[0]))
    kernels.clear()
    gc.collect()
    assert not emulated().modules


def test_a_module_whose_loading_ends_in_an_error_is_unloaded(by_hand, kernel):
    by_hand("fault=entry")
    kernel.map(STARTS, FREQUENCIES)
    assert reason(kernel) == "cuModuleGetFunction: CUDA_ERROR_NOT_FOUND"
    gc.collect()
    assert len(emulated().unloaded) == 1
    assert not emulated().modules


def test_no_module_is_unloaded_during_a_launch(by_hand, monkeypatch):
    by_hand("devices=2")
    kernel, run, during = jv.kernel(iterated), emulated().run, []
    before = list(emulated().unloaded)

    def dropped(*arguments):
        for form in kernel._forms.values():
            form._devices._launched = []  # as the failure of another thread's launch does
        kernel._forms.clear()  # as a change of a captured variable does
        gc.collect()
        during.append(list(emulated().unloaded))
        return run(*arguments)

    monkeypatch.setattr(emulated(), "run", dropped)
    found = kernel.map(STARTS, FREQUENCIES)
    assert during == [before, before]
    gc.collect()
    assert not emulated().modules
    assert_same(found, expected(kernel))


AT_THE_END = """
import atexit, sys
import jax.numpy as jnp, numpy as np
import jaxvib as jv

# registered first, it is called last
atexit.register(lambda: print(sys.modules["jaxvib_cuda"].unloaded))
kernel = jv.kernel(lambda x: x * x)
kernel.map(np.ones(2000))
assert len(sys.modules["jaxvib_cuda"].modules) == 1
"""


def test_no_module_is_unloaded_at_the_end_of_the_process(by_hand):
    by_hand()
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize("mode", ["cpu", "xla"])
def test_the_user_can_leave_the_gpu_alone(device, kernel, monkeypatch, mode):
    device()
    monkeypatch.setenv("JAXVIB_GPU", mode)
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    assert reason(kernel) == f"JAXVIB_GPU = {mode}"
    assert not launches()


def test_an_unknown_choice_is_refused(kernel, monkeypatch):
    monkeypatch.setenv("JAXVIB_GPU", "yes")
    with pytest.raises(ValueError, match="JAXVIB_GPU = 'yes'; allowed: kernels, xla, cpu"):
        kernel.map(STARTS, FREQUENCIES)


def test_a_machine_without_a_gpu_says_so(device, kernel, monkeypatch):
    device("devices=0")
    assert reason(kernel) == "cuInit: CUDA_ERROR_NO_DEVICE"
    assert info() == "none (cuInit: CUDA_ERROR_NO_DEVICE)"
    monkeypatch.setenv(driver.LIBRARY, "libnone.so.1")
    assert reason(kernel).startswith("no NVIDIA driver: libnone.so.1")
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))


def test_a_number_of_threads_or_few_lanes_stay_on_the_cpu(by_hand, kernel):
    by_hand()
    kernel.map(STARTS, FREQUENCIES, threads=2)
    kernel.map(STARTS[:1024], FREQUENCIES[:1024])
    assert not launches()
    assert not kernel.uses_gpus(STARTS[:1024], FREQUENCIES[:1024])
    assert kernel.uses_gpus(STARTS, FREQUENCIES)


def test_a_short_call_is_not_worth_a_check(device, kernel, monkeypatch):
    device()
    monkeypatch.setattr(device_choice, "WORTH", 60.0)
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    assert reason(kernel) == "no call of `map` was long enough for a check"
    assert not device_check.verdicts()


def test_a_jit_for_cuda_launches_all_supported_kernels(by_hand, kernel):
    by_hand()
    target = "__gpu$xla.gpu.ptx"
    allowed = [export.DisabledSafetyCheck.custom_call(target)]
    swept = export.export(
        jax.jit(jax.vmap(kernel)), platforms=["cuda"], disabled_checks=allowed
    )
    # Equal arrays might share a buffer, which XLA would pass once: no two are alike.
    for lanes in (LANES, 1):
        text = swept(STARTS[:lanes], FREQUENCIES[:lanes]).mlir_module()
        assert text.count(target) == 1
        (call,) = [line for line in text.splitlines() if target in line]
        taken = call.partition(") -> ")[0].rpartition(" : (")[2]
        shapes = re.findall(r"tensor<[^>]*>", taken)
        assert shapes[0] == "tensor<2xui32>"
        assert len(set(shapes)) == len(shapes) == 3


def test_a_jit_for_cuda_is_left_to_xla_without_a_check(device, kernel):
    device()
    swept = export.export(jax.jit(jax.vmap(kernel)), platforms=["cuda"])
    assert "custom_call" not in swept(STARTS, FREQUENCIES).mlir_module()


def test_samples_are_launched_together_and_kept_by_chunks(by_hand, monkeypatch):
    by_hand("devices=2")
    samples = {"start": STARTS, "frequency": FREQUENCIES}
    kernel = jv.kernel(lambda sample: iterated(sample["start"], sample["frequency"]))
    kept, done = {}, []

    class Memory:
        def get(self, key):
            return kept.get(key)

        def put(self, key, arrays):
            kept[key] = arrays

    def mapped():
        with jv.ensemble.checkpointing(Memory()):
            return jv.map_samples(kernel, samples, -FREQUENCIES, progress=done.append)

    found = mapped()
    assert sorted(launches()) == [(0, 16, 64), (1, 16, 64)]
    assert sum(done) == LANES
    kept.pop(sorted(kept)[0])
    assert_same(mapped(), found)  # what is missing is launched if it is many lanes
    assert len(launches()) == 2
    monkeypatch.setenv("JAXVIB_GPU", "cpu")
    assert_same(jv.map_samples(kernel, samples, -FREQUENCIES), found)
    assert_same(found, expected(jv.kernel(iterated)))


CHOICE = """
import numpy as np
from jax._src import xla_bridge
import jaxvib as jv
from jaxvib.kernels.gpu import device_check, device_choice
from jaxvib.studies.run import information

device_choice.WORTH = 0.0
kernel = jv.kernel(lambda x: x * x)
print(kernel.unsupported_reason(1.0, device="gpu"))
print(kernel.uses_gpus(np.ones(2000)), kernel.map(np.ones(2000)).sum())
print(information._gpu_line(information._gpu()))
print([each.in_xla.partition(",")[0] for each in device_check.verdicts()])
print(list(xla_bridge._backends))
"""


@pytest.fixture
def cuda_plugin(tmp_path, monkeypatch):
    """Install a plugin of JAX for CUDA: what says so, without what it needs."""
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    about = tmp_path / "jax_cuda13_pjrt-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: x\nVersion: 0\n")
    (about / "entry_points.txt").write_text("[jax_plugins]\nxla_cuda13 = cuda_of_nobody\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.syspath_prepend(tmp_path)


def chosen():
    """Return what a process says that chooses a device."""
    done = subprocess.run(
        [sys.executable, "-c", CHOICE], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_choice_of_a_device_starts_no_client_of_jax(device):
    device()
    assert chosen() == [
        "no call of `map` was long enough for a check",
        "True 2000.0",
        "Emulated GPU (9.0), driver 13.0; 1 kernels checked and launched",
        "['it was not tried there']",
        "[]",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("platforms", "said"),
    [
        ("", "Unknown backend cuda"),
        ("cpu", "it was not tried there"),
    ],
)
def test_nor_does_it_where_jax_has_a_plugin_for_gpus(
    device, cuda_plugin, monkeypatch, platforms, said
):
    device()
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    *_, inside, clients = chosen()
    assert said in inside
    assert clients == "[]"


HANDLES = {"CUcontext", "CUevent", "CUfunction", "CUmodule", "CUstream"}
TYPES = {
    "unsigned int": ctypes.c_uint, "int": ctypes.c_int, "CUdevice": ctypes.c_int,
    "CUresult": ctypes.c_int, "CUdevice_attribute": ctypes.c_int,
    "size_t": ctypes.c_size_t, "CUdeviceptr": ctypes.c_uint64,
}  # fmt: skip


def test_entry_points_and_constants_are_those_of_nvidia_s_header():
    folder = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    header = next(folder.glob("*/include/cuda.h"), None)
    if header is None:
        pytest.skip("there is no cuda.h here: pip install nvidia-cuda-nvcc")
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
    for name, types in driver._ENTRY_POINTS.items():
        plain = re.sub(r"_v\d$", "", name)
        taken = re.search(rf"CUresult CUDAAPI {plain}\(([^)]*)\);", text)
        assert taken is not None
        if name != plain:
            assert re.search(rf"#define {plain}\s+(?:__CUDA_API_PTSZ\()?{name}\b", text)
        for given, kind in zip(taken[1].split(","), types, strict=True):
            word = re.sub(r"\bconst\b", "", given).strip().rpartition(" ")[0].strip()
            if "*" in given or word in HANDLES:
                assert kind in (ctypes.c_void_p, ctypes.c_char_p)
            else:
                assert kind is TYPES[word], (name, given)
    for value, meant in {
        driver._TIME_LIMIT: "CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT",
        driver._MAJOR: "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
        driver._MINOR: "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
        driver._ERROR_LOG: "CU_JIT_ERROR_LOG_BUFFER",
        driver._ERROR_LOG_SIZE: "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES",
    }.items():
        assert re.search(rf"\b{meant} = {value},", text)
    assert re.search(rf"\bCU_STREAM_NON_BLOCKING\s*= 0x{driver._NON_BLOCKING}\b", text)
    assert re.search(rf"\b{driver.OUT_OF_MEMORY}\s*= 2,", text)
    assert re.search(rf"\b{driver._NO_DEVICE}\s*= 100,", text)


@pytest.mark.slow
def test_a_report_says_where_its_kernels_ran(device, monkeypatch, tmp_path):
    device()
    name = "Emulated GPU (9.0), driver 13.0"
    decided = {"1": ("watch", (name, name), ""), "2": ("end", (), "a crash")}
    monkeypatch.setattr(device_choice, "_DECIDED", decided)
    words = f"watch on {name}; all others on the CPU; end (a crash)"
    assert device_choice.computed_on() == words
    monkeypatch.setattr(cli, "use_compilation_cache", lambda: None)
    found = tmp_path / "found"
    done = CliRunner().invoke(cli.main, ["run", "tower_modes", "--out", str(found)])
    assert done.output.splitlines()[1].startswith(f"CPU; long calls of kernels on {name},")
    assert done.exit_code == 0, done.output
    page = (found / "report.html").read_text()
    assert f"<th scope='row'>kernels ran on</th><td>{words}</td>" in page


@pytest.mark.slow
def test_kernels_that_fail_inside_xla_are_launched_by_the_driver_alone(
    device, kernel, cuda_plugin
):
    device()
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    (kept,) = device_check.verdicts()
    assert kept.launched
    assert "cuda" in kept.in_xla
    swept = export.export(jax.jit(jax.vmap(kernel)), platforms=["cuda"])
    assert "custom_call" not in swept(STARTS, FREQUENCIES).mlir_module()


@pytest.mark.slow
def test_regimes_launched_on_two_devices_are_those_of_the_cpu(by_hand, monkeypatch):
    by_hand("devices=2")
    system, number = jv.two_body_impact(), 1100
    samples = {
        "load.amplitude": rng.uniform(300.0, 700.0, number),
        "load.frequency": rng.uniform(5.0, 7.0, number),
    }
    found = jv.orbits.regimes(system, samples)
    assert {device for device, _, _ in launches()} == {0, 1}
    assert "poincare_kernel" in device_choice.computed_on()
    monkeypatch.setenv("JAXVIB_GPU", "cpu")
    assert_same(jax.tree.leaves(found), jax.tree.leaves(jv.orbits.regimes(system, samples)))


def test_a_check_whose_process_was_ended_is_repeated_and_one_that_took_the_machine_is_not():
    late = time.time() - 4 * device_check.LIMIT
    unfinished = device_check.Verdict(False, device_check.UNFINISHED, begun=late)
    boot = device_check._boot()
    assert unfinished._replace(boot=boot).is_abandoned == (boot != "")
    assert not unfinished._replace(boot="another").is_abandoned
    assert not unfinished._replace(boot=boot, begun=time.time()).is_abandoned


def test_registers_spill_to_shared_memory_where_the_processor_can():
    closed = trace(jnp.cos, (jax.ShapeDtypeStruct((), float),))[0]
    for processor, spilled in (("sm_70", False), ("sm_75", True)):
        text = ptx.device_program(closed, processor, 13000).ptx
        assert ("enable_smem_spilling" in text) == spilled
