"""Kernels on a GPU: check, bits, and rates beside the CPU and XLA. Needs a GPU.

    python -m experiments.benchmarks.gpu_kernels [--lanes 65536] [--only NAME ...]

Each program of `experiments.benchmarks.kernels`, launched by NVIDIA's driver: the
verdict of the check on first use; which lanes of all differ from the CPU's in a bit
(none should); seconds of the first call (lowering and NVIDIA's compiler); and
microseconds per lane and period, the least of the repeats: of a call with its copies,
of the launches alone, of the host's CPU on all cores, and, if JAX has the GPU
(`pip install '.[cuda13]'`) and for the programs of `--xla`, whether it was launched
inside XLA's program with the CPU's bits, and of XLA's form under `vmap` there, which for
the program "diffrax" is diffrax under `vmap`. Writes `gpu_kernels-<device>.json`.

    python -m experiments.benchmarks.gpu_kernels --estimate

needs none: it counts the instructions of a period in the tests' emulator of PTX, and
divides rates of GPUs by them. Writes `gpu_estimate.json`. It is an estimate: an upper
bound without divergence of lanes, waiting for results, spilled registers and copies.
"""

import argparse
import json
import os
import re
import tempfile
import time
from pathlib import Path

import jax
import numpy as np

from experiments.benchmarks.kernels import PROGRAMS, loads
from experiments.machine import machine
from jaxvib.foundation.machine import usable_cores
from jaxvib.kernels.cpu.machine_code import Native, host_width
from jaxvib.kernels.gpu import ptx
from jaxvib.kernels.gpu.device_check import LANES, Subject, difference, verdict
from jaxvib.kernels.gpu.device_choice import VARIABLE
from jaxvib.kernels.gpu.device_lanes import run_lanes
from jaxvib.kernels.gpu.driver import DriverError, LoadedProgram, driver
from jaxvib.kernels.lower.lowering import lower_lanes, trace
from tests.kernels.ptx_emulator import EmulatedModule

# Name: multiprocessors, clock (GHz) and double-precision TFLOP/s without tensor cores,
# from NVIDIA's data sheets. A multiprocessor issues 128 instructions of threads a clock.
GPUS = {
    "H200": (132, 1.98, 34.0),
    "A100": (108, 1.41, 9.7),
    "L40S": (142, 2.52, 91.6 / 64),
    "RTX 4090": (128, 2.52, 82.6 / 64),
}
ISSUED = 128
EXPANDED = 10  # operations of a division or a square root, about
COUNTED = 16  # lanes whose instructions are counted


def least(repeats: int, function) -> float:
    """Return the seconds of a call, the least of some."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(function())
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def measure(name: str, lanes: int, repeats: int, by_xla: bool) -> dict:
    """Return the figures of one program; `by_xla`: also inside XLA's programs."""
    function, periods = PROGRAMS[name]
    closed, _ = trace(function, (jax.ShapeDtypeStruct((), float),) * 2)
    arrays = [np.asarray(array) for array in loads(lanes)]
    native = Native(lower_lanes(closed, host_width()))
    native.best()
    cores, each = usable_cores(), 1e6 / lanes / periods
    wanted = native(arrays, cores)
    row: dict = {"program": name}
    row["CPU (us)"] = each * least(repeats, lambda: native(arrays, cores))
    devices = driver().devices
    begin = time.perf_counter()
    program = ptx.device_program(closed, devices[0].processor)
    loaded = [LoadedProgram(*program, device) for device in devices]
    subject = Subject(name, *program, devices[0], 0)
    few = [array[:: lanes // LANES][:LANES].copy() for array in arrays]
    checked = verdict(subject, few, lambda some: native(some, 1), in_xla=by_xla)
    row |= {"check": checked.reason, "launched": checked.launched}
    row["inside XLA"] = checked.in_xla or "launched with the CPU's bits"
    try:
        found = run_lanes(loaded, arrays)
        row["first call (s)"] = time.perf_counter() - begin
        row["bits"] = difference(found, wanted) or f"those of the CPU in {lanes} lanes"
        row["GPU with copies (us)"] = each * least(
            repeats, lambda: run_lanes(loaded, arrays)
        )
        row["GPU's launch (us)"] = each * max(one.seconds for one in loaded)
    except DriverError as error:
        row["error"] = str(error)
    if by_xla:
        os.environ[VARIABLE] = "xla"
        there = jax.device_put(arrays)
        swept = jax.jit(jax.vmap(function))
        jax.block_until_ready(swept(*there))
        row["XLA on the GPU (us)"] = each * least(repeats, lambda: swept(*there))
        del os.environ[VARIABLE]
    return row


def operations(instruction: str) -> int:
    """Return the float64 operations of a PTX instruction; moves and loads have none."""
    name, *parts = instruction.split(".")
    if parts[-1] != "f64":
        return 0
    if name in ("div", "rcp", "sqrt"):
        return EXPANDED
    return int(name in ("add", "sub", "mul", "fma", "min", "max", "setp"))


def estimate(name: str) -> dict:
    """Return the instructions of a program's period, and what GPUs could do with them."""
    function, periods = PROGRAMS[name]
    closed, _ = trace(function, (jax.ShapeDtypeStruct((), float),) * 2)
    program = ptx.device_program(closed)
    every = loads(1 << 12)
    arrays = [
        np.int64([COUNTED]),
        *(a[:: len(a) // COUNTED][:COUNTED].copy() for a in every),
    ]
    arrays += [
        np.empty((*shape, COUNTED), kind) for shape, kind in program.signature.outputs
    ]
    emulated = EmulatedModule(program.ptx)
    emulated.memory = {array.ctypes.data: array.nbytes for array in arrays}
    emulated.launch(ptx.ENTRY, 1, COUNTED, [array.ctypes.data for array in arrays])
    count = emulated.steps / COUNTED / periods
    written = re.findall(r"^\s+(?:@\S+ )?([a-z]+\.\S+)", program.ptx, re.MULTILINE)
    part = sum(map(operations, written)) / len(written)
    row: dict = {"program": name, "instructions": round(count)}
    row["float64 operations"] = round(part * count)
    for gpu_name, (processors, clock, flops) in GPUS.items():
        issued = processors * clock * 1e9 * ISSUED / count
        computed = flops * 1e12 / 2 / (part * count)
        row[f"{gpu_name} (us)"] = float(f"{1e6 / min(issued, computed):.2g}")
    return row


def main() -> None:
    """Measure or estimate each program and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lanes", type=int, default=65536, help="a multiple of 256")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--xla", nargs="*", choices=PROGRAMS, default=["events", "diffrax"])
    parser.add_argument("--estimate", action="store_true", help="without a GPU")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    name = "gpu_estimate"
    if not options.estimate:
        try:
            name = "gpu_kernels-" + re.sub(r"\W+", "_", driver().devices[0].identity)
        except DriverError as error:
            raise SystemExit(f"there is no GPU here: {error}") from None
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # no verdict is kept
        for each in options.only:
            if options.estimate:
                rows.append(estimate(each))
            else:
                by_xla = jax.default_backend() == "gpu" and each in options.xla
                rows.append(measure(each, options.lanes, options.repeats, by_xla))
            print(json.dumps(rows[-1]), flush=True)
    result: dict = {"machine": machine(), "rows": rows}
    if not options.estimate:
        result |= {"lanes": options.lanes, "XLA's device": jax.devices()[0].device_kind}
        result["GPUs"] = [device.identity for device in driver().devices]
    output = options.output or Path(__file__).with_name(f"{name}.json")
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"written: {output}")


if __name__ == "__main__":
    main()
