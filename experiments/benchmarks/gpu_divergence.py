"""What lanes of a warp that wait for the slowest cost, and what a queue would save.

    python -m experiments.benchmarks.gpu_divergence

Every launch of `orbits.regimes` on 8 of the 64 rows of the regime map: the tests'
emulator of PTX counts the steps, instructions executed, of each lane. A warp of 32
threads takes the steps of its longest lane (in truth more, as lanes that branch apart
take turns). The cost is the sum over all warps, relative to a 32nd of all steps of lanes:
in the order in which lanes are launched; in the order of their steps, which nobody knows
before; and with a queue, from which each thread takes the next lane when its own has
ended, for some numbers of lanes per thread (those of each launch, repeated). Needs no
GPU. Writes `gpu_divergence.json`.
"""

import argparse
import heapq
import json
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

import jaxvib as jv
from experiments.benchmarks.regime_map import samples
from experiments.machine import machine
from jaxvib.kernels import Kernel
from jaxvib.kernels.gpu import ptx
from jaxvib.kernels.lower.lowering import trace
from tests.kernels.ptx_emulator import EmulatedModule

SIZE, ROWS = 64, 8  # of the map, of which every eighth row is taken
WARP = 32  # threads
PER_THREAD = (2, 4, 8, 16)  # lanes of a queue per thread


class Launches:
    """Computes maps on the CPU, and keeps each kernel with its lanes, in their order."""

    def __init__(self):
        self.kept: list[tuple[Kernel, object]] = []

    def map(self, function, chunks, chunk, accept) -> None:
        """Compute the lanes of all chunks."""
        lanes = jax.tree.map(lambda *leaves: np.concatenate(leaves), *chunks)
        self.kept.append((function, lanes))
        found, start = function.map(lanes), 0
        for place, each in enumerate(chunks):
            part = slice(start, start + len(jax.tree.leaves(each)[0]))
            accept(place, jax.tree.map(lambda leaf, part=part: leaf[part], found))
            start = part.stop


class Counter:
    """The steps of a kernel's lanes, emulated one by one."""

    def __init__(self, kernel: Kernel, lanes):
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), lanes)
        program = ptx.device_program(trace(kernel.__wrapped__, (shapes,))[0])
        self._signature, self._module = program.signature, EmulatedModule(program.ptx)

    def steps(self, lanes) -> np.ndarray:
        """Return the steps of each lane."""
        inputs, outputs = self._signature
        arrays = [
            np.ascontiguousarray(leaf, kind)
            for leaf, (_, kind) in zip(jax.tree.leaves(lanes), inputs, strict=True)
        ]
        number = len(arrays[0])
        arrays += [np.empty((number, *shape), kind) for shape, kind in outputs]
        one = np.int64([1])
        self._module.memory = {a.ctypes.data: a.nbytes for a in (one, *arrays) if a.size}
        found = np.empty(number, int)
        for lane in range(number):
            places = [a.ctypes.data + lane * a.strides[0] for a in arrays]
            self._module.launch(ptx.ENTRY, 1, 1, [one.ctypes.data, *places])
            found[lane] = self._module.steps
        return found


def of_warps(steps: np.ndarray) -> float:
    """Return the steps of all warps, for the steps of threads in their order.

    A last warp that is not full counts in part: launches have thousands of lanes.
    """
    warps = [steps[first : first + WARP] for first in range(0, len(steps), WARP)]
    return sum(warp.max() * len(warp) / WARP for warp in warps)


def of_queue(steps: np.ndarray, threads: int) -> float:
    """Return the steps of all warps whose threads take lanes from a queue."""
    free = [(0, thread) for thread in range(threads)]  # when, and which
    ends = np.zeros(threads)
    for each in steps:
        now, thread = heapq.heappop(free)
        ends[thread] = now + each
        heapq.heappush(free, (ends[thread], thread))
    return of_warps(ends)


def repeated(steps: np.ndarray, lanes: int) -> tuple[np.ndarray, int]:
    """Return the lanes of whole warps with so many lanes per thread, and the threads."""
    threads = -(-len(steps) // WARP) * WARP
    return np.resize(steps, lanes * threads), threads


def costs(launches: Sequence[np.ndarray]) -> dict[str, float]:
    """Return the costs of launches, by the steps of their lanes, relative to the ideal."""

    def mean(cost, lanes: int = 1) -> float:
        relative = []
        for steps in launches:
            many, threads = repeated(steps, lanes) if lanes > 1 else (steps, len(steps))
            relative.append(cost(many, threads) * WARP / many.sum())
        return round(float(np.average(relative, weights=[s.sum() for s in launches])), 4)

    found = {"as launched": mean(lambda steps, _: of_warps(steps))}
    found["in order of steps"] = mean(lambda steps, _: of_warps(np.sort(steps)))
    for lanes in PER_THREAD:
        found[f"queue, {lanes} lanes per thread"] = mean(of_queue, lanes)
    return found


def main() -> None:
    """Count the steps of all launches and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS, help=f"of {SIZE} samples")
    options = parser.parse_args()
    rows = np.linspace(0, SIZE - 1, options.rows).astype(int)
    chosen = {
        path: values.reshape(SIZE, SIZE)[rows].ravel()
        for path, values in samples(SIZE).items()
    }
    launches = Launches()
    with jv.ensemble.use_executor(launches):
        jv.orbits.regimes(jv.two_body_impact(), chosen)
    counters: dict[Kernel, Counter] = {}
    found: dict[str, list[np.ndarray]] = {}
    for kernel, lanes in launches.kept:
        if kernel not in counters:
            counters[kernel] = Counter(kernel, lanes)
        name = kernel.__wrapped__.__qualname__.replace(".<locals>", "")
        found.setdefault(name, []).append(counters[kernel].steps(lanes))
    rows = []
    for name, every in found.items():
        row = {"program": name, "launches": len(every), "lanes": sum(map(len, every))}
        rows.append(row | {"steps": int(sum(map(np.sum, every)))} | costs(every))
    every = [steps for each in found.values() for steps in each]
    rows.append({"program": "all", "steps": int(sum(map(np.sum, every)))} | costs(every))
    for row in rows:
        print(json.dumps(row))
    result = {"machine": machine(), "samples": options.rows * SIZE, "rows": rows}
    output = Path(__file__).with_name("gpu_divergence.json")
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
