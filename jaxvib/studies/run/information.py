"""Information about the installation: versions, devices, precision, caches."""

import os
import platform
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ...foundation.cache import cache_folder, entries, why_private
from ...foundation.machine import instruction_set
from ...foundation.text import size_text
from ...kernels.gpu.device_check import verdicts
from ...kernels.gpu.device_choice import mode
from ...kernels.gpu.driver import DriverError, driver
from ..store.store_metadata import git_state, versions
from .builtin_studies import folder


def information() -> dict[str, Any]:
    """Return information about this installation and machine."""
    found = versions()
    return {
        "jaxvib": found.pop("jaxvib"),
        "commit": git_state(),
        "python": found.pop("python"),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": found,
        "processor": instruction_set()["processor"],
        "cores": os.cpu_count(),
        "devices": [f"{each.platform} {each.device_kind}" for each in jax.devices()],
        "precision": str(jax.numpy.zeros(0).dtype),
        "gpu": _gpu(),
        "cache": {"folder": _folder(), "state": _cache_state(), "private": why_private()},
        "kernels": _kernels(),
        "studies": str(folder()),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """Format the information as at most twelve lines."""
    packages = [f"{name} {version}" for name, version in found["packages"].items()]
    state, kernels = found["commit"], found["kernels"]
    commit = "" if state is None else f" ({state['commit'][:9]}{'+' * state['changed']})"
    cached = f"{kernels['files']} files, {size_text(kernels['bytes'])}"
    why = found["cache"]["private"]
    return [
        f"jaxvib      {found['jaxvib']}{commit}",
        f"Python      {found['python']}, {found['platform']}",
        f"packages    {', '.join(packages[:4])}",
        f"            {', '.join(packages[4:])}",
        f"processor   {found['processor']}, {found['cores']} cores",
        f"devices     {', '.join(found['devices'])}; {found['precision']}",
        f"GPU         {_gpu_line(found['gpu'])}",
        f"cache       {found['cache']['folder']}",
        f"            {found['cache']['state']}",
        *([f"            for this process only: {why}"] if why else []),
        f"kernels     {kernels['folder']}; {cached}",
        f"studies     {found['studies']}",
    ]


def _gpu() -> dict[str, Any]:
    """Return the GPUs of kernels, or why there are none, and the kept verdicts."""
    try:
        devices, reason = [device.identity for device in driver().devices], ""
    except DriverError as error:
        devices, reason = [], str(error)
    found = [each for each in verdicts() if each.device in devices]
    return {
        "devices": devices,
        "reason": f"JAXVIB_GPU = {mode()}" if mode() else reason,
        "launched": [each.program for each in found if each.launched],
        "on_cpu": {each.program: each.reason for each in found if not each.launched},
    }


def _gpu_line(found: dict[str, Any]) -> str:
    devices = ", ".join(dict.fromkeys(found["devices"])) or "none"
    reason = f" ({found['reason']})" if found["reason"] else ""
    if not found["devices"]:
        return devices + reason
    refused = [f"; {name} on the CPU: {why}" for name, why in found["on_cpu"].items()]
    launched = f"; {len(found['launched'])} kernels checked and launched"
    return f"{devices}{reason}{launched}{''.join(refused)}"


def _kernels() -> dict[str, Any]:
    """Return the folder and size of the kernel cache."""
    folder = cache_folder("kernels")
    sizes = [size for path, size in entries() if path.parent == folder]
    return {"folder": str(folder), "files": len(sizes), "bytes": sum(sizes)}


def _folder() -> str:
    return os.environ.get("JAX_COMPILATION_CACHE_DIR", "none: no writable folder")


def _cache_state() -> str:
    # The entry of a fresh program is checked: it is compiled, dropped from memory and
    # requested again. Only this entry counts, since JAX may store some programs and
    # miss others.
    path = Path(_folder())
    if not path.is_dir():
        return "off"
    constant = time.time_ns() % 2**31

    def jaxvib_probe(x):
        return x * constant

    events = []
    jax.monitoring.register_event_listener(lambda event, **_: events.append(event))
    for _ in range(2):
        jax.clear_caches()
        events.clear()
        jax.jit(jaxvib_probe)(np.ones(())).block_until_ready()
    entries = list(path.glob("*-cache"))
    mine = [entry for entry in entries if entry.name.startswith("jit_jaxvib_probe-")]
    for entry in mine:
        entry.unlink()
    size = sum(entry.stat().st_size for entry in entries if entry not in mine)
    if not mine:
        return "does not work: JAX stored no program"
    if "/jax/compilation_cache/cache_hits" not in events:
        return "does not work: JAX stored a program and did not load it again"
    return f"works; {len(entries) - len(mine)} programs, {size_text(size)}"
