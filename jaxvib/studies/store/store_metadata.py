"""What describes a store to other programs, and the provenance of its results."""

import importlib.metadata
import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...ensemble import Reason
from ...foundation.machine import instruction_set

Attributes = Mapping[str, "str | list[int]"]

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
_VERDICTS = {-1: "undecided", 0: "unstable", 1: "stable"}


def flags(name: str, dtype: np.dtype) -> dict[str, Any]:
    """Return the meaning of an array's codes as attributes, if it has codes.

    `flag_values` and `flag_meanings` follow the CF conventions (3.5): a list, and words
    without blanks in the same order.
    """
    if not np.issubdtype(dtype, np.signedinteger):
        return {}
    own = name.rpartition(".")[2]
    if own in ("result", "ends"):
        return _flags({int(code): code.name.lower() for code in Reason})
    return _flags(_VERDICTS) if own == "stable" else {}


def long_name(name: str, description: str = "") -> dict[str, str]:
    """Return the label of an array in plots, by the CF conventions (3.2)."""
    return {"long_name": description or name.replace(".", " ").replace("_", " ")}


# Matches a table of a config's text, to remove the output folder.
_OUTPUT = re.compile(r"^\n?\[output\]\n(?:[^\[\n].*\n|\n)*", re.MULTILINE)


def about(record: Mapping, config: str) -> dict[str, Any]:
    """Return the attributes of the results as a whole.

    `config` is the text of the study's config without the output folder, `seed` that of
    its random samples; `versions`, `fingerprint`, `axes` (names along an axis, such as
    the components of a state) and `grid` (the swept paths and their numbers of values,
    the first one slowest, to reshape the samples) are JSON.
    """
    run = record["config"].get("run")
    seed = run.get("seed") if isinstance(run, dict) else None
    known = {key: record[key] for key in ("title", "analysis", "system", "evidence")}
    texts = {key: record[key] for key in ("versions", "fingerprint", "axes", "grid")}
    return {
        "Conventions": "CF-1.11",
        **known,
        "config": _OUTPUT.sub("", config),
        **{key: json.dumps(value) for key, value in texts.items() if value},
        **({} if seed is None else {"seed": str(seed)}),
        **{f"names_of_{axis}": ", ".join(names) for axis, names in record["axes"].items()},
    }


def _flags(meanings: Mapping[int, str]) -> dict[str, Any]:
    words = [meaning.replace(" ", "_") for meaning in meanings.values()]
    return {"flag_values": list(meanings), "flag_meanings": " ".join(words)}


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
