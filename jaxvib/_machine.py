"""The processor that programs are compiled for and run on."""

import os
import platform
import re
from pathlib import Path

_VECTOR_FLAGS = re.compile(r"(sse|ssse|avx|amx|fma|f16c|bmi|asimd|sve)[0-9a-z_]*")


def instruction_set() -> dict[str, str]:
    """Return the processor's make and the vector instructions that it has.

    XLA compiles for the very processor it runs on, so that the last bits of a result
    depend on them.
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
    """Return how many cores this process may run on."""
    affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
    return len(affinity(0)) if affinity else os.cpu_count() or 1
