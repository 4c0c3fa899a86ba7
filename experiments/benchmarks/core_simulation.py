"""How many cores a map would keep busy: simulated from the times of its tasks.

    python -m experiments.benchmarks.core_simulation [--size 96] [--before FOLDER]

runs the README's map here, and by the code of another checkout, and records which tasks
each call of machine code consists of, with their processor times, and what the main thread
does between calls, in which no core can help. The simulation gives each task in turn to the
first core that is free, after `INTERPRETER` seconds of Python, one task at a time.
`waits`: a call begins when all tasks of the one before have ended, as it is; `flows`:
blocks of 64 samples go through all calls on their own, the longest ones first, by the mean
time of a sample in each call. Writes `core_simulation.json`.
"""

import argparse
import ast
import heapq
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

CORES = (1, 2, 4, 16, 64)
INTERPRETER = 5e-6  # s of Python per task, measured
NAMES = "waits, s", "flows, s", "efficiency", "efficiency of flows"
BLOCK = 64  # samples that go through all calls together
ROOT = Path(__file__).resolve().parents[2]


class Recorder:
    """Calls of the main thread: samples, times of their tasks and of what is between."""

    def __init__(self):
        self.calls: list[dict] = []
        self._main, self._inside = threading.get_ident(), False
        self._last = time.thread_time()

    def record(self, samples: int, run):
        """Run one call, and add it; calls from other threads are parts of tasks."""
        if threading.get_ident() != self._main or self._inside:
            return run(None)
        between, tasks = time.thread_time() - self._last, []
        self._inside = True
        found = run(tasks)
        self._inside, self._last = False, time.thread_time()
        self.calls.append({"between": between, "samples": samples, "tasks": tasks})
        return found


def record(size: int) -> list[dict]:
    """Return the calls of a map by the code in this process."""
    import jaxvib as jv
    from experiments.benchmarks.regime_map import samples
    from jaxvib.foundation import machine
    from jaxvib.kernels.cpu import machine_code

    inner, threads = machine_code.Native.__call__, machine.map_in_threads
    system, whole = jv.two_body_impact(), samples(size)
    jv.orbits.regimes(system, whole)
    recorder = Recorder()

    def timed(function, tasks):
        def run(*given):
            begun = time.thread_time()
            found = function(*given)
            tasks.append(time.thread_time() - begun)
            return found

        return function if tasks is None else run

    def called(native, arrays, threads):
        def run(tasks):
            code = native.best()
            plain = code.run
            code.run = timed(plain, tasks)
            found = inner(native, arrays, threads)
            code.run = plain
            return found

        return recorder.record(arrays[0].shape[-1], run)

    def mapped(function, items, number=None):
        items = list(items)
        run = lambda tasks: threads(timed(function, tasks), items, number)  # noqa: E731
        return recorder.record(len(items) * BLOCK, run)

    for module in list(sys.modules.values()):
        if getattr(module, "map_in_threads", None) is threads:
            module.map_in_threads = mapped
    machine_code.Native.__call__ = called
    recorder._last = time.thread_time()
    jv.orbits.regimes(system, whole)
    recorder.record(0, lambda tasks: None)
    return recorder.calls


def scheduled(tasks: list[float], cores: int) -> float:
    """Return the time of tasks, each begun by the first core that is free."""
    free, interpreter = [0.0] * cores, 0.0
    for task in tasks:
        begin = max(heapq.heappop(free), interpreter)
        interpreter = begin + INTERPRETER
        heapq.heappush(free, interpreter + task)
    return max(free)


def simulated(calls: list[dict]) -> dict:
    """Return times and efficiencies on several cores, with barriers and without."""
    work, alone = sum(sum(c["tasks"]) for c in calls), sum(c["between"] for c in calls)
    chains = [0.0] * -(-max(call["samples"] for call in calls) // BLOCK)
    for call in calls:
        for block in range(-(-call["samples"] // BLOCK)):
            part = min(BLOCK, call["samples"] - block * BLOCK) / call["samples"]
            chains[block] += part * sum(call["tasks"])
    chains.sort(reverse=True)
    rows = {}
    for cores in CORES:
        waits = alone + sum(scheduled(call["tasks"], cores) for call in calls)
        flows = alone + scheduled(chains, cores)
        efficiencies = (work / (cores * time) for time in (waits, flows))
        rows[cores] = dict(zip(NAMES, (waits, flows, *efficiencies), strict=True))
    return {
        "in tasks, s": work, "main thread between them, s": alone,
        "calls": len(calls), "tasks": sum(len(call["tasks"]) for call in calls),
        "longest block, s": chains[0], "cores": rows,
    }  # fmt: skip


def main() -> None:
    """Record, simulate, write the result."""
    parser, found = argparse.ArgumentParser(), {}
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    run = f"import runpy; print(runpy.run_path({__file__!r})['record']({options.size}))"
    command = [sys.executable, "-c", run]
    found["samples"] = options.size**2
    for name, folder in (("before", options.before), ("now", ROOT)):
        if folder is not None:
            setting = {**os.environ, "PYTHONPATH": str(folder)}
            text = subprocess.run(command, env=setting, stdout=subprocess.PIPE, check=True)
            found[name] = simulated(ast.literal_eval(text.stdout.decode()))
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
