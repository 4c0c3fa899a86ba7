"""The machine and the versions on which the figures of a result file depend."""

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path

import jax


def machine() -> dict:
    """Return what the figures depend on."""
    model = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    names = ("jaxvib", "jax", "jaxlib", "diffrax", "equinox", "numpy", "scipy")
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": model[0] if model else platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "device": jax.devices()[0].platform,
        "versions": {name: importlib.metadata.version(name) for name in names},
        "load": os.getloadavg()[0],
    }
