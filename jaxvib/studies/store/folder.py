"""Files below one folder: links are not followed, and writes are atomic."""

import contextlib
import functools
import json
import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ...foundation.text import check_name

_LONGEST = 240  # bytes of a name: 255 minus room for ".new"
_MEBIBYTE = 1 << 20  # unit of the limits
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # 0 on systems without this flag


class Folder:
    """Access to files below a folder by names such as `results.zarr/period/c/0`.

    The folder itself may be reached by a link. Below it links, pipes and devices are
    never followed, opened or written to, and names cannot leave it. **Raises:**
    `OSError` for a file that is missing, not a plain file, or longer than `at_most`
    bytes; `ValueError` for an invalid name.
    """

    def __init__(self, root: Path | str):
        self.root = Path(root)

    def path(self, name: str) -> Path:
        """Return the path of a name, after checking each folder of it."""
        return Path(self._place(name))

    def _place(self, name: str) -> str:
        # A string: studies may have a million files, and `Path` is slower than the
        # disk.
        *above, last = check_path(name)
        place = str(self.root)
        for step in above:
            place = f"{place}{os.sep}{step}"
            kind = _kind(place)
            if kind not in ("", "folder"):
                raise OSError(f"{place} is a {kind}, not a folder")
        return f"{place}{os.sep}{last}"

    def kind(self, name: str) -> str:
        """Return `"file"`, `"folder"`, `"link"`, `"special file"`, or `""` (none)."""
        with contextlib.suppress(OSError):
            return _kind(self._place(name))
        return ""

    def plain(self, name: str) -> str:
        """Return the path of a plain file, `""` if there is none."""
        with contextlib.suppress(OSError):
            place = self._place(name)
            return place if _kind(place) == "file" else ""
        return ""

    def read(self, name: str, at_most: int = 64 * _MEBIBYTE) -> bytes:
        """Return the bytes of a plain file."""
        path = self._place(name)
        kind = _kind(path)
        if kind != "file":
            raise OSError(f"{path} is {f'a {kind}' if kind else 'missing'}")
        with open(os.open(path, os.O_RDONLY | NO_LINK), "rb") as stream:
            content = stream.read(at_most + 1)
        if len(content) > at_most:
            raise OSError(f"{path} is longer than {at_most} bytes")
        return content

    def size(self, name: str) -> int:
        """Return the number of bytes of a plain file."""
        path = self.plain(name)
        if not path:
            raise OSError(f"{self.root / name} is missing")
        return os.lstat(path).st_size

    def read_json(self, name: str, at_most: int = 64 * _MEBIBYTE) -> dict:
        """Read a JSON table without duplicate keys. **Raises:** `OSError` otherwise."""
        return json_table(self.read(name, at_most), self.root / name)

    def write(self, name: str, content: bytes, *, sync: bool = True) -> None:
        """Write a file atomically.

        With `sync` its bytes are flushed to disk first. **Raises:** `OSError`.
        """
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if _kind(path) not in ("", "file", "link"):
            raise OSError(f"{path} is a {_kind(path)}, not a file")
        new = path.with_name(f"{path.name}.new")
        with contextlib.suppress(FileNotFoundError):
            new.unlink()  # left by a killed process, or a planted link
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK
        try:
            with open(os.open(new, flags, 0o666), "wb", buffering=0) as stream:
                write_all(stream, content)
                if sync:
                    os.fsync(stream.fileno())
            new.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                new.unlink()
            raise

    def remove(self, name: str) -> None:
        """Remove a file or a whole folder; a link is removed, not its target.

        If a parent of it is not a folder, that is removed instead.
        """
        path = self.root
        for step in check_path(name):
            path /= step
            kind = _kind(path)
            if kind not in ("folder", ""):
                path.unlink(missing_ok=True)
                return
        if kind == "folder":
            self.keep_only(name, set())

    def files(self, name: str) -> list[str]:
        """Return the sorted names of all non-folders below a folder."""
        found, _ = self._listed(name)
        return sorted(found)

    def plain_files(self, name: str) -> set[str]:
        """Return the names of all plain files below a folder."""
        found, _ = self._listed(name, plain=True)
        return set(found)

    def keep_only(self, name: str, kept: Collection[str]) -> None:
        """Remove everything below a folder except some files, and empty folders."""
        found, folders = self._listed(name)
        for each in found:
            if each not in kept:
                (self.root / each).unlink(missing_ok=True)
        for each in reversed(folders):
            with contextlib.suppress(OSError):
                (self.root / each).rmdir()

    def _listed(self, name: str, *, plain: bool = False) -> tuple[list[str], list[str]]:
        # Not recursive: untrusted folders may be nested as deep as a path is long.
        found, folders, at = [], [], 0
        if self.kind(name) == "folder":
            folders.append(name)
        while at < len(folders):
            with os.scandir(self.root / folders[at]) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(f"{folders[at]}/{entry.name}")
                    elif not plain or entry.is_file(follow_symlinks=False):
                        found.append(f"{folders[at]}/{entry.name}")
            at += 1
        return found, folders


def json_table(content: bytes, what: Path | str) -> dict:
    """Parse a JSON table without duplicate keys. **Raises:** `OSError` otherwise."""

    def once(pairs):
        table = dict(pairs)
        if len(table) < len(pairs):
            raise ValueError("duplicate key")
        return table

    try:
        found = json.loads(content, object_pairs_hook=once)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise OSError(f"{what} is damaged")
    return found


def write_all(stream: Any, content: bytes) -> None:
    """Write all bytes to an unbuffered file, which may accept them in parts."""
    rest = memoryview(content)
    while rest:
        rest = rest[stream.write(rest) :]


def check_path(name: str) -> list[str]:
    """Return the parts of a name. **Raises:** `ValueError` if it leaves the folder."""
    steps = name.split("/")
    for step in steps:
        _check_step(step)
    return steps


@functools.lru_cache(maxsize=4096)
def _check_step(step: str) -> None:
    check_name(step, _LONGEST)


def _kind(path: Path | str) -> str:
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "special file"
