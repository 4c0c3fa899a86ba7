"""Kernels on a GPU: bits compared with a CPU, and lanes per second. Needs a GPU.

    python -m experiments.benchmarks.gpu_kernels [--lanes 65536] [--only NAME ...]

Each program of `experiments.benchmarks.kernels` as PTX, launched inside `jax.jit`,
compared with the same lanes of the CPU kernel: number of lanes with the same bits (all
should have them), time of the first call, and microseconds per lane and period, the
least of the repeats. Writes `gpu_kernels-<device>.json`. **No result is stored yet**:
no machine with a GPU was available.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import numpy as np

from experiments.benchmarks.kernels import PROGRAMS, loads
from experiments.benchmarks.regime_map import machine
from jaxvib.foundation.machine import usable_cores
from jaxvib.kernels import gpu
from jaxvib.kernels.cpu import Native, host_width
from jaxvib.kernels.lowering import lower_lanes, trace


def measure(name: str, lanes: int, repeats: int, processor: str) -> dict:
    """Return the figures of one program."""
    function, periods = PROGRAMS[name]
    closed, _ = trace(function, (jax.ShapeDtypeStruct((), float),) * 2)
    arrays = loads(lanes)
    wanted = Native(lower_lanes(closed, host_width()))(arrays, usable_cores())
    begin = time.perf_counter()
    program = gpu.device_program(closed, processor)
    run = jax.jit(lambda *arrays: gpu.launched(program, arrays))
    there = jax.device_put(arrays)
    found = jax.block_until_ready(run(*there))
    first, seconds = time.perf_counter() - begin, []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(run(*there))
        seconds.append(time.perf_counter() - begin)
    same = np.ones(lanes, bool)
    for one, other in zip(found, wanted, strict=True):
        equal = (np.asarray(one) == other) | (np.isnan(one) & np.isnan(other))
        same &= equal.reshape(-1, lanes).all(axis=0)
    return {
        "program": name,
        "first call (s)": first,
        "lanes with the bits of the CPU": int(same.sum()),
        "us": min(seconds) * 1e6 / lanes / periods,
    }


def main() -> None:
    """Measure each program and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lanes", type=int, default=65536, help="a multiple of 8")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--processor", default="sm_90", help="as ptxas calls it")
    parser.add_argument("--only", nargs="*", choices=PROGRAMS, default=list(PROGRAMS))
    options = parser.parse_args()
    if jax.default_backend() != "gpu":
        raise SystemExit("JAX finds no GPU here")
    rows = []
    for name in options.only:
        rows.append(measure(name, options.lanes, options.repeats, options.processor))
        print(json.dumps(rows[-1]), flush=True)
    device = jax.devices()[0].device_kind.replace(" ", "_")
    result = {"machine": machine(), "lanes": options.lanes, "rows": rows}
    output = Path(__file__).with_name(f"gpu_kernels-{device}.json")
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
