"""Processor, usable cores and memory of this machine."""

import concurrent.futures
import contextlib
import os
import platform
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

_VECTOR_FLAGS = re.compile(r"(sse|ssse|avx|amx|fma|f16c|bmi|asimd|sve)[0-9a-z_]*")


def instruction_set() -> dict[str, str]:
    """Return the processor's model and its vector instructions.

    XLA compiles for this very processor, on which the last bits of results depend.
    """
    make, flags = platform.processor() or platform.machine(), ""
    information = Path("/proc/cpuinfo")
    if information.exists():
        text = information.read_text()
        if found := re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE):
            make = found[1]
        if found := re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, re.MULTILINE):
            names = sorted(set(found[1].split()))
            flags = " ".join(name for name in names if _VECTOR_FLAGS.fullmatch(name))
    return {"machine": platform.machine(), "processor": make, "instructions": flags}


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every platform
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def memory() -> float:
    """Return the memory available to this process in bytes; inf if unknown.

    The memory of the machine, or the lowest limit of the control groups of the process.
    """
    try:
        found = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not on every platform
        found = float("inf")
    return min([found, *_group_limits()])


def _group_limits() -> list[float]:
    try:
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in groups:
        _, controllers, name = line.split(":", 2)
        old = "memory" in controllers.split(",")
        if controllers and not old:
            continue
        top = Path("/sys/fs/cgroup/memory" if old else "/sys/fs/cgroup")
        file = "memory.limit_in_bytes" if old else "memory.max"
        inside = top / name.lstrip("/")
        for folder in (inside, *inside.parents):
            with contextlib.suppress(OSError, ValueError):  # "max" is no limit
                found.append(float((folder / file).read_text()))
            if folder == top:
                break
    return found


Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> list[Result]:
    """Return a function's results in order, from so many threads, by default one a core.

    A single item needs no thread.
    """
    items = list(items)
    if len(items) < 2:
        return list(map(function, items))
    with concurrent.futures.ThreadPoolExecutor(threads or usable_cores()) as pool:
        return list(pool.map(function, items))
