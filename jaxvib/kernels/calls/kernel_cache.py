"""Kernels of the library, with a persistent cache of their lowered programs.

JAX needs longer to trace a program than LLVM to compile it. The cache key of a library
function is its name, the static parts of its system, and the library's code.
"""

import hashlib
import json
import types
from typing import Any

import jax

from ...foundation.cache import read_entry, write_entry
from ..cache.code_digest import code_digest
from ..cache.fingerprint import Fingerprint, fingerprint
from ..cache.patches import is_patched
from ..cache.serialization import deserialize, serialize
from ..cache.shipped_programs import shipped_entry
from ..lower.lowering import Traced
from .kernel import Kernel


def cached_kernel(function: Any, *parts: Any, in_memory: bool = False) -> Kernel:
    """Return a `kernel` whose program is cached under a fingerprint.

    `parts`: everything but the library's code that distinguishes functions of the same
    name: systems without their arrays, names, numbers. For users' functions among them
    see `fingerprint`; those without a fingerprint are traced in each process.
    `in_memory`: whether arrays of more than 16 numbers are in memory, also where that
    is not decided by the length of the program.
    """
    cache = _DiskCache(f"{function.__module__}.{function.__qualname__}", parts)
    return Kernel(function, cache, in_memory)


def cached_fact(function: types.FunctionType, *arguments: Any) -> Any:
    """Return `function(*arguments)`, plain data for JSON, cached like a program.

    `function`: one of the library; `arguments`: everything that the result depends on.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    entry = _entry(fingerprint((name, arguments)), "fact")
    stored = None if entry is None else _read(entry)
    if stored is not None:
        return json.loads(stored)
    fact = function(*arguments)
    if entry is not None:
        write_entry(entry, json.dumps(fact).encode())
    return fact


class _DiskCache:
    """The cache of a function's programs, by the structure of its arguments."""

    def __init__(self, name: str, parts):
        self._name, self._parts = name, parts
        self._description: Fingerprint | None = None

    def __reduce__(self):
        # Captured variables are not pickled: another process has its own globals.
        return _DiskCache, (self._name, self._parts)

    def is_current(self) -> bool:
        """Return whether nothing has changed since the last call or trace."""
        if self._description is None:
            self._description = fingerprint(self._parts)
        current = self._description.is_current()
        if not current:  # what is traced next is compared with the values of now
            self._description = fingerprint(self._parts)
        return current

    def get(self, arguments) -> Traced | None:
        """Return the cached trace for arguments, a pytree of shapes, if any."""
        entry = self._entry(arguments)
        content = None if entry is None else _read(entry)
        return None if content is None else deserialize(content)

    def put(self, arguments, traced: Traced) -> None:
        """Store a trace with its program."""
        entry = self._entry(arguments)
        content = None if entry is None else serialize(traced)
        if entry is not None and content is not None:
            write_entry(entry, content)

    def _entry(self, arguments) -> str | None:
        self._description = fingerprint((self._name, self._parts, arguments))
        return _entry(self._description, "text")


def _read(entry: str) -> bytes | None:
    """Return a cached entry, or one that comes with the package, which is cached then."""
    content = read_entry(entry)
    if content is None:
        content = shipped_entry(entry)
        if content is not None:
            write_entry(entry, content)
    return content


def _entry(description: Fingerprint, kind: str) -> str | None:
    """Return the name of an entry; `None` if what it depends on may change unnoticed."""
    code = code_digest()
    if description.digest is None or code is None or is_patched():
        return None
    config: Any = jax.config
    settings = f"{config.jax_enable_x64} {config.jax_numpy_dtype_promotion}"
    whole = code + settings.encode() + b"\0" + description.digest
    return f"kernels/{hashlib.sha256(whole).hexdigest()}.{kind}"
