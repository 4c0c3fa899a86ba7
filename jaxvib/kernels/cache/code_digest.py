"""A fingerprint of the library's code, on which cached programs depend."""

import functools
import hashlib
import importlib.metadata
import os
import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...foundation.cache import read_entry, write_entry
from ...foundation.environment import BEGUN
from ..cpu.machine_code import host_width

_VERSIONS = ("jax", "jaxlib", "equinox", "diffrax", "numpy", "llvmlite")
# Seconds after which a further change of a file is sure to change its times.
_STABLE_AGE = 2.0


class _Source(NamedTuple):
    """A source file: its path below the package, and what changes with its content."""

    path: str
    modified: int
    changed: int
    size: int
    number: int


@functools.cache
def code_digest() -> bytes | None:
    """Return a fingerprint of the code of the library and of its dependencies.

    `None` if a file was changed after this process began: the running code may then
    differ from the files.
    """
    folder = Path(__file__).parents[2]
    sources = sorted(_sources(str(folder), ""))
    if any(source.modified > BEGUN * 1e9 for source in sources):
        return None
    digest = hashlib.sha256(_content_digest(folder, sources))
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _VERSIONS]
    # Equinox's error mode decides whether diffrax's operations can be lowered.
    errors = os.environ.get("EQX_ON_ERROR", "")
    python = ".".join(platform.python_version_tuple()[:2])
    for text in (*versions, python, str(host_width()), errors):
        digest.update(text.encode() + b"\0")
    return digest.digest()


def _sources(folder: str, below: str) -> Iterator[_Source]:
    """Yield the source files of a folder and of those in it."""
    with os.scandir(folder) as found:
        for each in found:
            if each.name.endswith(".py"):
                about = each.stat()
                times = about.st_mtime_ns, about.st_ctime_ns
                yield _Source(below + each.name, *times, about.st_size, about.st_ino)
            elif each.is_dir() and each.name != "__pycache__":
                yield from _sources(each.path, f"{below}{each.name}/")


def _content_digest(folder: Path, sources: Sequence[_Source]) -> bytes:
    """Return a digest of the files' content.

    It is cached under their sizes and times: reading them takes ten times as long.
    """
    listed = hashlib.sha256(repr((str(folder), sources)).encode()).hexdigest()
    entry = f"kernels/{listed}.code"
    stored = read_entry(entry)
    if stored is not None:
        return stored
    digest = hashlib.sha256()
    for source in sources:
        content = (folder / source.path).read_bytes()
        digest.update(source.path.encode() + b"\0" + content)
    last = max(max(source.modified, source.changed) for source in sources) * 1e-9
    if time.time() - last > _STABLE_AGE:
        write_entry(entry, digest.digest())
    return digest.digest()
