"""Provenance of results: versions, device, instruction set and state of the code."""

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

from ... import __version__
from ...foundation.machine import instruction_set

_PACKAGES = (
    "jax",
    "jaxlib",
    "numpy",
    "scipy",
    "equinox",
    "diffrax",
    "lineax",
    "llvmlite",
)


def versions() -> dict[str, str]:
    """Return the versions of jaxvib, Python and the packages used to compute."""
    found = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"jaxvib": __version__, "python": platform.python_version(), **found}


def fingerprint(device: str) -> dict[str, str]:
    """Return what the bytes of a result depend on besides config and versions."""
    from ...linalg import implementation  # imports JAX, not needed to open a study

    flags = os.environ.get("XLA_FLAGS", "")
    table = {"device": device, **instruction_set(), "xla_flags": flags}
    return {**table, "linear_algebra": implementation()}


def git_state() -> dict | None:
    """Return the commit of jaxvib's checkout and whether files were changed.

    `None` if jaxvib does not run from a checkout, as after `pip install`.
    """
    tracked = _git("ls-files", "--error-unmatch", "__init__.py")
    commit = _git("rev-parse", "HEAD")
    if not tracked or not commit:
        return None
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "changed": bool(changed)}


def _git(*arguments: str) -> str:
    folder = Path(__file__).parents[2]
    try:
        done = subprocess.run(
            ["git", "-C", folder, *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
