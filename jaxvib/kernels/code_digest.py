"""A fingerprint of the library's code, on which cached programs depend."""

import functools
import hashlib
import importlib.metadata
import os
import platform
from pathlib import Path

from ..foundation.environment import BEGUN
from .cpu import host_width

_VERSIONS = ("jax", "jaxlib", "equinox", "diffrax", "numpy", "llvmlite")


@functools.cache
def code_digest() -> bytes | None:
    """Return a fingerprint of the code of the library and of its dependencies.

    `None` if a file was changed after this process began: the running code may then
    differ from the files.
    """
    digest = hashlib.sha256()
    folder = Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        if path.stat().st_mtime > BEGUN:
            return None
        digest.update(os.fsencode(path.relative_to(folder)) + b"\0" + path.read_bytes())
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _VERSIONS]
    # Equinox's error mode decides whether diffrax's operations can be lowered.
    errors = os.environ.get("EQX_ON_ERROR", "")
    for text in (*versions, platform.python_version(), str(host_width()), errors):
        digest.update(text.encode() + b"\0")
    return digest.digest()
