"""Kernels of the library, with a persistent cache of their lowered programs.

JAX needs longer to trace a program than LLVM to compile it. The cache key of a library
function is its name, the static parts of its system, and the library's code.
"""

import functools
import hashlib
import importlib.metadata
import os
import platform
import types
from pathlib import Path
from typing import Any

from ..foundation.cache import read_entry, write_entry
from ..foundation.environment import BEGUN
from .cpu import host_width
from .fingerprint import Fingerprint, fingerprint
from .kernel import Kernel
from .lowering import Traced
from .serialization import deserialize, serialize

_VERSIONS = ("jax", "jaxlib", "equinox", "diffrax", "numpy", "llvmlite")


def cached_kernel(function: types.FunctionType, *parts: Any) -> Kernel:
    """Return a `kernel` whose program is cached under a fingerprint.

    `parts`: everything but the library's code that distinguishes functions of the same
    name: systems without their arrays, names, numbers. For users' functions among them
    see `fingerprint`; those without a fingerprint are traced in each process.
    """
    return Kernel(
        function, _DiskCache(f"{function.__module__}.{function.__qualname__}", parts)
    )


class _DiskCache:
    """The cache of a function's programs, by the structure of its arguments."""

    def __init__(self, name: str, parts):
        self._name, self._parts = name, parts
        self._description: Fingerprint | None = None

    def __reduce__(self):
        # Captured variables are not pickled: another process has its own globals.
        return _DiskCache, (self._name, self._parts)

    def is_current(self) -> bool:
        """Return whether the last trace is still valid."""
        if self._description is None:
            self._description = fingerprint(self._parts)
        return self._description.is_current()

    def get(self, arguments) -> Traced | None:
        """Return the cached trace for arguments, a pytree of shapes, if any."""
        entry = self._entry(arguments)
        whole = None if entry is None else read_entry(entry)
        return None if whole is None else deserialize(whole)

    def put(self, arguments, traced: Traced) -> None:
        """Store a trace with its program."""
        entry = self._entry(arguments)
        whole = None if entry is None else serialize(traced)
        if entry is not None and whole is not None:
            write_entry(entry, whole)

    def _entry(self, arguments) -> str | None:
        self._description = fingerprint((self._name, self._parts, arguments))
        digest, code = self._description.digest, _code()
        if digest is None or code is None:
            return None
        return f"kernels/{hashlib.sha256(code + digest).hexdigest()}.text"


@functools.cache
def _code() -> bytes | None:
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
