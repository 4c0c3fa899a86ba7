"""What a study would cost: samples, memory and time, before anything runs."""

import os
import time
from pathlib import Path

from ..._machine import memory
from ..analyses.kinds import ANALYSES
from ..store.store import has_study
from .device import choose
from .execute import build, chunks
from .room import needed, size, too_large
from .study import Study

# What `_probe` took on the machine on which the costs of the kinds were measured: two
# cores of an AMD EPYC with AVX-512, otherwise idle.
_PROBE_THERE = 0.0145


def estimate(study: Study, directory: Path) -> list[str]:
    """Return lines on samples, memory and time; nothing is run or written.

    Times were measured for each kind of analysis on one machine. They are scaled by
    how fast this one runs a short loop and by the processes it is busy with, and
    spread over its cores. **Raises:** `ValueError` for a study that could not be run
    here.
    """
    _, device = choose(study.run.device)
    build(study)
    cost = ANALYSES[study.analysis.kind].cost(study.analysis, study.run)
    cores = os.cpu_count() or 1
    busy = _busy()
    slower = _probe() / _PROBE_THERE * max(1.0, (busy + 1) / cores)
    computing = slower * cost.sample * study.samples / min(cores, study.samples)
    compiling = 0.0 if _is_cached(cost.programs) else slower * cost.compile
    rest = slower * (cost.start + cost.end)
    stored = study.samples * cost.sample_bytes
    fits = "" if too_large(study) is None else f": more than the {size(memory())} here"
    number = len(chunks(study))
    place = "holds a study already" if has_study(directory) else "is free"
    return [
        f"samples    {study.described()}",
        f"work       {study.analysis.kind}, evidence {study.run.evidence}, rtol "
        f"{study.run.rtol:g}; stored in {number} chunk{'s' * (number > 1)}",
        f"device     {device}, {cores} cores",
        f"memory     about {size(needed(study))}{fits}, and {size(stored)} on disk",
        f"time       about {_duration(rest + compiling + computing)}: computing "
        f"{_duration(computing)}, compiling {_duration(compiling)}, start and report "
        f"{_duration(rest)}",
        f"           from times measured once, on a machine {_compared(slower)} this one "
        f"with {busy:.0f} busy processes",
        f"results    {directory} {place}",
    ]


def _busy() -> float:
    """Return how many processes have wanted a core in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _probe() -> float:
    """Return the time of a loop of plain Python on a core of its own, s: the least."""
    least = float("inf")
    for _ in range(15):
        began = time.thread_time()  # waiting for a core is counted by who is busy
        x = 0.5
        for _ in range(400_000):
            x = 3.7 * x * (1.0 - x)
        least = min(least, time.thread_time() - began)
    return least


def _is_cached(programs: tuple[str, ...]) -> bool:
    folder = Path(os.environ.get("JAX_COMPILATION_CACHE_DIR", ""))
    return all(any(folder.glob(f"jit_{name}-*-cache")) for name in programs)


def _compared(slower: float) -> str:
    if slower > 1.1:
        return f"{slower:.1f} times as fast as"
    return f"{1 / slower:.1f} times as slow as" if slower < 0.9 else "about as fast as"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
