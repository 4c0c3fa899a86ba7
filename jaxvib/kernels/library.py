"""Kernels of the library's own: what they print, kept from one process to the next.

To trace a program takes JAX longer than LLVM to compile it. A function of this library
is known by where it stands, by what of its system is no array, and by the library's code.
"""

import functools
import hashlib
import importlib.metadata
import os
import platform
import types
from pathlib import Path

from .._cache import read_entry, write_entry
from .._environment import BEGUN
from .cpu import host_width
from .described import Description, described
from .kernel import Kernel
from .printer import Traced
from .stored import decoded, encoded

_VERSIONS = ("jax", "jaxlib", "equinox", "diffrax", "numpy", "llvmlite")


def library_kernel(function: types.FunctionType, *parts) -> Kernel:
    """Return a `kernel` whose text is kept under what the function is made of.

    `parts`: all that tells it from others of the same name, beside the code of the
    library: systems without their arrays, names, numbers. A function of somebody else's
    among them is known by all that it is made of, see `described`; where that cannot be
    told it is traced in each process.
    """
    return Kernel(function, _Kept(f"{function.__module__}.{function.__qualname__}", parts))


class _Kept:
    """Where the text of a function is kept, for arguments of each structure."""

    def __init__(self, name: str, parts):
        self._name, self._parts = name, parts
        self._description: Description | None = None

    def __reduce__(self):
        # What was taken stays: another process has globals of its own.
        return _Kept, (self._name, self._parts)

    def holds(self) -> bool:
        """Return whether what was traced last is what would be traced now."""
        if self._description is None:
            self._description = described(self._parts)
        return self._description.holds()

    def get(self, arguments) -> Traced | None:
        """Return what is kept for arguments, a pytree of shapes, if anything is."""
        entry = self._entry(arguments)
        whole = None if entry is None else read_entry(entry)
        return None if whole is None else decoded(whole)

    def put(self, arguments, traced: Traced) -> None:
        """Keep what was traced and printed."""
        entry = self._entry(arguments)
        whole = None if entry is None else encoded(traced)
        if entry is not None and whole is not None:
            write_entry(entry, whole)

    def _entry(self, arguments) -> str | None:
        self._description = described((self._name, self._parts, arguments))
        told, code = self._description.told, _code()
        if told is None or code is None:
            return None
        return f"kernels/{hashlib.sha256(code + told).hexdigest()}.text"


@functools.cache
def _code() -> bytes | None:
    """Return what tells this state of the library, and of those below it, from others.

    `None` where a file was changed since this process began: what runs is then not what
    the files say.
    """
    digest = hashlib.sha256()
    folder = Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        if path.stat().st_mtime > BEGUN:
            return None
        digest.update(os.fsencode(path.relative_to(folder)) + b"\0" + path.read_bytes())
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _VERSIONS]
    # How equinox is to fail decides whether what diffrax does can be printed.
    errors = os.environ.get("EQX_ON_ERROR", "")
    for text in (*versions, platform.python_version(), str(host_width()), errors):
        digest.update(text.encode() + b"\0")
    return digest.digest()
