"""Overhead of store and executor, by the number of workers.

    python -m experiments.benchmarks.throughput [--rows ...] [--repeats 3]

Studies of N and of 2 N chunks are run; the slope of the time between them is that of a
chunk, and the remainder of the first is the start-up, reported separately. Two kinds of
work:

- "waiting": a chunk is a second of idle time, so that many workers fit on one machine.
  Workers are processes forked from the run, or threads of a Dask cluster; the overhead
  is that of the wall time over the ideal time, chunks x 1 s / workers.
- "computing": chunks of the real regime map, of about a second, by the real command.
  The overhead is that of the CPU time of all processes over that of the bare loop,
  which calls `compute_chunk` in one process and stores nothing. Both run on as many
  cores as a worker has. The row "on all cores" is what workers compete with: one process
  whose threads use every core.
- "beams": the same for eigenvalues of beams, a computation that has no threads.

Compare wall times of rows only from one run on a machine that does nothing else.

Rows are repeated alternately; the median is written after each repetition. Rows that
are not run again are kept in `experiments/benchmarks/throughput-<device>-<cores>.json`.
"""

import argparse
import contextlib
import functools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from experiments.benchmarks.many_samples import install, instant
from experiments.machine import machine

WAIT = 1.0  # s, of a chunk
WAITING = """
[system]
kind = "two_body_impact"
[analysis]
kind = "periodic_orbit"
[run]
device = "cpu"
chunk = 256
[sweep]
load.amplitude = {{ linspace = [10.0, 900.0, {chunks}] }}
load.frequency = {{ linspace = [5.0, 8.0, 256] }}
[output]
report = false
"""
# What the command does before JAX is imported, on which hangs what is compiled.
INSIDE = """
from jaxvib.foundation.environment import use_compilation_cache
use_compilation_cache()
from experiments.benchmarks import throughput
throughput.main()
"""
# Row: work, who computes, workers, chunks of the shorter run.
ROWS = {
    "waiting, this process": ("waiting", "here", 1, 10),
    "waiting, 2 processes": ("waiting", "processes", 2, 20),
    "waiting, 16 processes": ("waiting", "processes", 16, 160),
    "waiting, 16 of a Dask cluster": ("waiting", "dask", 16, 160),
    "computing, bare": ("computing", "bare", 1, 10),
    "computing, this process": ("computing", "here", 1, 10),
    "computing, this process on all cores": ("computing", "everywhere", 1, 10),
    "computing, 2 processes": ("computing", "processes", 2, 10),
    "beams, this process on all cores": ("beams", "everywhere", 1, 4),
    "beams, 2 processes": ("beams", "processes", 2, 4),
}


def waiting(*arguments, **more):
    """Return numbers that look like regimes of a grid, after a second."""
    time.sleep(WAIT)
    return instant(*arguments, **more)


def config(work: str, chunks: int) -> str:
    """Return the text of a study of so many chunks."""
    if work == "waiting":
        return WAITING.format(chunks=chunks)
    if work == "beams":
        text = Path("configs/beam_with_bodies.toml").read_text()
        text = text.replace("1e4, 251]", f"1e4, {128 * chunks}]")
        text = text.replace("chunk = 1024", "chunk = 128")
        return text.replace("report = true", "report = false")
    text = Path("configs/regime_map.toml").read_text()
    text = text.replace("1000.0, 64]", f"1000.0, {chunks}]")
    text = text.replace("8.0, 64]", "8.0, 256]").replace("chunk = 1024", "chunk = 256")
    return text.replace("report = true", "report = false").replace(
        "traces = 256", "traces = 0"
    )


def wait(folder: Path, who: str, workers: int) -> None:
    """Run the study of a folder with work that waits, in this process."""
    from experiments.faulting.workers import Forked
    from jaxvib import cli
    from jaxvib.studies.run import execute
    from jaxvib.studies.run.distributed.processes import ProcessExecutor

    install(waiting)
    execute.ProcessExecutor = functools.partial(ProcessExecutor, start=Forked)
    words = ["run", str(folder / "study.toml"), "--out", str(folder / "out")]
    with contextlib.ExitStack() as stack:
        if who == "processes":
            words += ["--workers", str(workers)]
        if who == "dask":
            from distributed import LocalCluster

            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=False,
                dashboard_address=":0", memory_limit=None,
            )  # fmt: skip
            words += ["--cluster", stack.enter_context(cluster).scheduler_address]
        stack.enter_context(contextlib.suppress(SystemExit))
        cli.main(words, standalone_mode=False)


def bare(folder: Path) -> None:
    """Compute the chunks of a folder's study in this process, and store nothing."""
    from jaxvib.studies.config.toml_writer import to_toml
    from jaxvib.studies.run.chunk import compute_chunk, number_of_chunks
    from jaxvib.studies.run.study import load

    study = load(folder / "study.toml")
    text = to_toml(study.resolved())
    for number in range(number_of_chunks(study)):
        compute_chunk(text, number)


def measured(work: str, who: str, workers: int, chunks: int) -> dict[str, float]:
    """Return wall and processor time of a run of so many chunks, start-up included."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.toml").write_text(config(work, chunks))
        command = [sys.executable]
        if work == "waiting" or who == "bare":
            command += ["-c", INSIDE, "--inside", str(folder)]
            command += ["--who", who, "--workers", str(workers)]
        else:
            command += ["-m", "jaxvib", "run", str(folder / "study.toml")]
            command += ["--out", str(folder / "out"), "--workers", str(workers)]
        # A worker among several has one core, so that it is beside a loop on one core.
        cores = os.sched_getaffinity(0)
        if who in ("bare", "here"):
            os.sched_setaffinity(0, {min(cores)})
        spent, began = _processor_time(), time.perf_counter()
        quiet = subprocess.DEVNULL
        subprocess.run(command, check=True, stdout=quiet, stderr=quiet)
        os.sched_setaffinity(0, cores)
        wall = time.perf_counter() - began
        found = {"wall": wall, "processor": _processor_time() - spent}
        file = folder / "out" / "times.json"
        if file.exists():
            session = json.loads(file.read_text())["sessions"][-1]
            # Without what is imported before: seconds that differ from run to run.
            found["wall"] = session["seconds"] - session["startup_seconds"]
            found["before"] = session["startup_seconds"]
    return found


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def row(name: str, repeats: list[tuple[dict, dict]]) -> dict:
    """Return the slopes of a row and what they mean."""
    work, _, workers, chunks = ROWS[name]

    def median(key: str, which: int) -> float:
        return statistics.median(pair[which].get(key, 0.0) for pair in repeats)

    slope = {
        key: (median(key, 1) - median(key, 0)) / chunks for key in ("wall", "processor")
    }
    key = "wall" if work == "waiting" else "processor"
    found = {
        "workers": workers,
        "chunks": [chunks, 2 * chunks],
        "wall time of a chunk, ms": round(1000 * slope["wall"], 2),
        "processor time of a chunk, ms": round(1000 * slope["processor"], 2),
        f"start-up, {key} time, s": round(
            median("before", 0) * (key == "wall") + median(key, 0) - chunks * slope[key], 2
        ),
        "all": repeats,
    }
    if work == "waiting":
        found["overhead, %"] = round(100 * (slope["wall"] * workers / WAIT - 1), 2)
    return found


def table(rows: dict[str, dict]) -> dict[str, dict]:
    """Return rows in their order, what computes beside the bare loop."""
    rows = {each: rows[each] for each in ROWS if each in rows}
    if alone := rows.get("computing, bare"):
        key = "processor time of a chunk, ms"
        for each, line in rows.items():
            if each.startswith("computing") and line is not alone:
                line["overhead, %"] = round(100 * (line[key] / alone[key] - 1), 2)
    return rows


def main() -> None:
    """Measure rows, or be one of their runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", nargs="*", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--who", default="", help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside is not None:
        if given.who == "bare":
            bare(given.inside)
        else:
            wait(given.inside, given.who, given.workers)
        return
    about = machine()
    name = f"throughput-{about['device']}-{about['cores']}.json"
    file = Path(__file__).with_name(name)
    before = json.loads(file.read_text())["rows"] if file.exists() else {}
    found: dict[str, list] = {name: [] for name in given.rows}
    for _ in range(given.repeats):
        for each, pairs in found.items():
            work, who, workers, chunks = ROWS[each]
            pair = [measured(work, who, workers, many) for many in (chunks, 2 * chunks)]
            pairs.append(pair)
            print(each, json.dumps(pair), flush=True)
        rows = table(before | {each: row(each, pairs) for each, pairs in found.items()})
        text = json.dumps({"machine": about, "rows": rows}, indent=1) + "\n"
        file.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
