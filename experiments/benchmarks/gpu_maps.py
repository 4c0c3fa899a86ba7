"""Whole maps on a GPU within eight minutes: seconds, bits, launches and bytes.

    JAX_PLATFORMS=cpu python -m experiments.benchmarks.gpu_maps
    JAX_PLATFORMS=cpu python -m experiments.benchmarks.gpu_maps --emulated
    JAX_PLATFORMS=cpu python -m experiments.benchmarks.gpu_maps --estimate

Regimes of 256 x 256 and of 1024 x 1024 samples, and basins of 1000 x 1000 states, each with
its kernels launched by NVIDIA's driver (`JAXVIB_GPU=kernels`, without a check on first use)
and on the host's cores, for the largest map on every sixteenth sample. Each row has the
arrays that differ in a bit (none should), launches, bytes between host and device, and the
periods that follow each other on the longest path through transients and observations, in
which no other lane can help. The largest map is left out if it would not end in time.
`--emulated` runs small maps on the emulated device of the tests, on which every call is
launched, however short, and counts only. Writes `gpu_maps-<device>.json`.
`--estimate` computes the map of 64 x 64 samples on this machine's cores and writes
`gpu_maps-estimate.json`: what its calls would take for larger maps, with so many times the
lanes, if all are launched on an H200, and if each is computed where it is faster, there or
on 16 such cores.
"""

import argparse
import collections
import functools
import json
import os
import re
import time
from pathlib import Path

import jax
import numpy as np

import jaxvib as jv
from experiments.benchmarks.gpu_studies import different, double_well
from experiments.benchmarks.regime_map import samples
from experiments.machine import machine
from jaxvib.kernels.calls import kernel
from jaxvib.kernels.gpu.device_choice import VARIABLE
from jaxvib.kernels.gpu.driver import DriverError, Queue, driver

EMULATOR = Path(__file__).parents[2] / "tests" / "kernels" / "emulated_cuda.py"
LIMIT = 450.0  # s for all maps
# Periods that a call of a program advances each of its lanes, by its function.
PERIODS = {"poincare_kernel": 32, "track_stage": 256, "samples_kernel": 16}

# Of an H200, measured: s of a period, whatever the lanes up to those that run at once.
PERIOD, AT_ONCE = 1.1e-3, 34_000
CORES, BUSY = 16, 0.9  # those beside it, and the part of their time that they compute


def estimate() -> list[dict]:
    """Return the seconds of the calls of larger maps, from those of one on the cores."""
    calls, inner = [], kernel._Form.map

    def timed_call(form, leaves, threads):
        begin = time.process_time()
        found = inner(form, leaves, threads)
        name = form._name.partition(".")[0]
        calls.append((name, len(leaves[0]), time.process_time() - begin))
        return found

    run = functools.partial(jv.orbits.regimes, jv.two_body_impact(), samples(64))
    run()
    kernel._Form.map = timed_call
    run()
    kernel._Form.map = inner
    rows = []
    for size in (256, 1024):
        scale = (size / 64) ** 2
        cores = np.array([spent for *_, spent in calls]) * scale / (CORES * BUSY)
        waves = np.ceil([lanes * scale / AT_ONCE for _, lanes, _ in calls])
        periods = np.array([PERIODS.get(name, 0) for name, *_ in calls])
        # Programs that do not follow a motion for so many periods are left to the cores.
        launched = np.where(periods > 0, periods * waves * PERIOD, cores)
        watched = np.array([name == "track_stage" for name, *_ in calls])
        faster = np.minimum(launched, cores)
        rows.append({
            "map": f"regimes, {size} x {size}",
            "periods in sequence": int(periods.sum()),
            "of these observed": int(periods[watched].sum()),
            "lanes observed, by window": [
                int(lanes * scale) for name, lanes, _ in calls if name == "track_stage"
            ],
            "on the cores, s": cores.sum(),
            "all launched, s": launched.sum(),
            "each where it is faster, s": faster.sum(),
            "of these observed, s": faster[watched].sum(),
            "periods in sequence on the GPU then": int(periods[launched < cores].sum()),
        })  # fmt: skip
    return rows


class Counts:
    """Launches, bytes and programs, counted where the driver is called."""

    def __init__(self):
        self.totals: collections.Counter = collections.Counter()
        self.lanes: collections.Counter = collections.Counter()
        for name, what in (("copy_in", "bytes to it"), ("copy_out", "bytes from it")):
            self._count(Queue, name, what, lambda *given: given[-1])
        self._count(Queue, "launch", "launches", lambda *given: 1)
        self._count(kernel._Form, "map", "calls", self._called)

    def _called(self, form, leaves, threads) -> int:
        for name in PERIODS:
            if form._name.startswith(name):
                self.totals["periods in sequence"] += PERIODS[name]
        self.lanes[form._name.replace(".<locals>", "")] += len(leaves[0])
        return 1

    def _count(self, kind, name: str, what: str, size) -> None:
        inner = getattr(kind, name)

        def counted(*given):
            self.totals[what] += int(size(*given))
            return inner(*given)

        setattr(kind, name, counted)

    def taken(self) -> dict:
        """Return what was counted since the last call."""
        found = {**self.totals, "lanes by program": dict(self.lanes)}
        self.totals.clear()
        self.lanes.clear()
        return found


def timed(mode: str, run):
    """Return the result of a map on a device, and its seconds."""
    os.environ[VARIABLE] = mode
    begin = time.perf_counter()
    found = run()
    return found, time.perf_counter() - begin


def regimes(size: int, part: int, counts: Counts) -> dict:
    """Return the figures of a regime map; the cores compute each `part`-th sample."""
    system, whole = jv.two_body_impact(), samples(size)
    some = {name: values[::part] for name, values in whole.items()}
    found, seconds = timed("kernels", lambda: jv.orbits.regimes(system, whole))
    row = {"map": f"regimes, {size} x {size}", "GPU (s)": seconds, **counts.taken()}
    wanted, row["cores (s)"] = timed("cpu", lambda: jv.orbits.regimes(system, some))
    counts.taken()
    row["samples on the cores"] = len(np.asarray(wanted.result))
    row["other bits"] = different(
        jax.tree.map(lambda leaf: np.asarray(leaf)[::part], found), wanted
    )
    return row


def basins(size: int, counts: Counts) -> dict:
    """Return the figures of the basins of the double well."""
    run = double_well(size)
    found, seconds = timed("kernels", run)
    row = {"map": f"basins, {size} x {size}", "GPU (s)": seconds, **counts.taken()}
    wanted, row["cores (s)"] = timed("cpu", run)
    counts.taken()
    row["other bits"] = different(found, wanted)
    return row


def main() -> None:
    """Measure the maps and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--emulated", action="store_true")
    parser.add_argument("--estimate", action="store_true")
    options, begin = parser.parse_args(), time.perf_counter()
    if options.estimate:
        found = {"machine": machine(), "rows": estimate()}
        file = Path(__file__).with_name("gpu_maps-estimate.json")
        file.write_text(json.dumps(found, indent=1) + "\n")
        print(json.dumps(found, indent=1))
        return
    if options.emulated:
        os.environ["JAXVIB_CUDA_LIBRARY"] = str(EMULATOR)
        kernel.MANY = 0  # lanes of a call above which it is launched
    try:
        device = driver().devices[0].identity
    except DriverError as error:
        raise SystemExit(f"there is no GPU here: {error}") from None
    counts = Counts()
    output = re.sub(r"[^A-Za-z0-9]+", "_", device).strip("_")
    output = Path(__file__).with_name(f"gpu_maps-{output}.json")
    result: dict = {"machine": machine(), "GPU": device, "rows": []}

    def add(row: dict) -> dict:
        result["rows"].append(row)
        print(json.dumps(row), flush=True)
        output.write_text(json.dumps(result, indent=1) + "\n")
        return row

    if options.emulated:
        add(regimes(8, 1, counts))
        add(basins(8, counts))
        return
    regimes(64, 1, counts), basins(64, counts)  # which compile
    row = add(regimes(256, 1, counts))
    add(basins(1000, counts))
    needed = 16 * row["GPU (s)"] + row["cores (s)"]
    if time.perf_counter() - begin + needed < LIMIT:
        add(regimes(1024, 16, counts))


if __name__ == "__main__":
    main()
