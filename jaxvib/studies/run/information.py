"""What jaxvib runs on here: versions, devices, precision, compilation cache."""

import os
import platform
import time
from pathlib import Path

import jax
import numpy as np

from ..._environment import kept_files, kernel_folder
from ..._machine import instruction_set
from ..store.provenance import git_state, versions
from .ready import folder


def information() -> list[str]:
    """Return at most twelve lines about this installation and machine."""
    found = versions()
    packages = [
        f"{name} {found[name]}" for name in found if name not in ("jaxvib", "python")
    ]
    state = git_state()
    commit = "" if state is None else f" ({state['commit'][:9]}{'+' * state['changed']})"
    devices = ", ".join(
        f"{device.platform} {device.device_kind}" for device in jax.devices()
    )
    precision = jax.numpy.zeros(0).dtype
    return [
        f"jaxvib      {found['jaxvib']}{commit}",
        f"Python      {found['python']}, {platform.system()} {platform.machine()}",
        f"packages    {', '.join(packages[:4])}",
        f"            {', '.join(packages[4:])}",
        f"processor   {instruction_set()['processor']}, {os.cpu_count()} cores",
        f"devices     {devices}",
        f"precision   {precision}",
        f"cache       {_folder()}",
        f"            {_cache_state()}",
        f"kernels     {_kernels()}",
        f"studies     {folder()}",
    ]


def _kernels() -> str:
    """Return where machine code of kernels is kept, and how much there is."""
    folder = kernel_folder()
    files = [path for path in kept_files() if os.path.dirname(path) == folder]
    size = sum(os.lstat(path).st_size for path in files) / 1e6
    return f"{folder}; {len(files)} files, {size:.1f} MB"


def _folder() -> str:
    return os.environ.get(
        "JAX_COMPILATION_CACHE_DIR", "none: the home cannot be written to"
    )


def _cache_state() -> str:
    # A program of this very moment cannot be in the folder yet: it is stored, dropped
    # from memory and asked for again. Only its own entry counts, since JAX has been
    # seen to store some programs and miss others.
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
    size = sum(entry.stat().st_size for entry in entries if entry not in mine) / 1e6
    if not mine:
        return "does not work: JAX stored no program"
    if "/jax/compilation_cache/cache_hits" not in events:
        return "does not work: JAX stored a program and did not load it again"
    return f"works; {len(entries) - len(mine)} programs, {size:.1f} MB"
