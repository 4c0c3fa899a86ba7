"""One run per folder: a lock that dies with the process that holds it."""

import contextlib
import datetime
import os
import platform
import re
import time
from pathlib import Path

from .folder import NO_LINK, Folder

FILE = "run.lock"
_MOST_TOLD = 200  # bytes of the file's words
_MOMENT = 0.01  # s between two looks
_GLANCE = 0.25  # s: somebody who only looks holds it for far less than that
_PATIENCE = 1.0  # s, for what a process that is no more leaves behind


class Lock:
    """The right to write into a study's folder, from `take` to `release`.

    The system holds it (`flock`) and ends it with the process, however that ends; the
    words in the file are for people alone.
    """

    def __init__(self, directory: Path):
        self._folder = Folder(directory)
        self._file: int | None = None

    def take(self) -> None:
        """Take the lock, if it is not held already; the folder must be there.

        **Raises:** `BlockingIOError` saying which process holds it; `OSError` where it
        cannot be taken.
        """
        if self._file is not None:
            return
        path = self._folder.path(FILE)
        if self._folder.kind(FILE) not in ("", "file"):
            raise OSError(f"{path} is no plain file")
        while self._file is None:
            file = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o666)
            try:
                holder = os.read(file, _MOST_TOLD).decode("utf-8", "replace").strip()
                if not _frees(file, _PATIENCE if _is_gone(holder) else _GLANCE):
                    who = f" by {holder}" if holder else ""
                    raise BlockingIOError(f"{self._folder.root} is being computed{who}")
                if _is_there(path, file):  # who held it before may have removed it
                    self._file = file
            finally:
                if self._file is None:
                    os.close(file)
        began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        words = f"process {os.getpid()} on {platform.node()} since {began}\n"
        os.ftruncate(self._file, 0)
        os.write(self._file, words.encode())

    def release(self) -> None:
        """Let others in; nothing where the lock is not held."""
        if self._file is not None:
            file, self._file = self._file, None
            with contextlib.suppress(OSError):
                self._folder.path(FILE).unlink()
            with contextlib.suppress(OSError):
                os.close(file)


def is_held(directory: Path) -> str:
    """Return the words of whoever holds the lock of a folder, `""` if nobody does."""
    folder = Folder(directory)
    if folder.kind(FILE) != "file":
        return ""
    try:
        file = os.open(folder.path(FILE), os.O_RDONLY | NO_LINK)
    except FileNotFoundError:
        return ""  # removed by its holder since it was seen
    try:
        words = os.read(file, _MOST_TOLD).decode("utf-8", "replace").strip()
        return "" if _frees(file, _GLANCE) else words or "nobody knows who"
    finally:
        os.close(file)


def _is_free(file: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return True  # Windows has no such lock
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_gone(holder: str) -> bool:
    """Return whether the words tell of a process of this machine that is no more."""
    words = re.match(rf"process (\d+) on {re.escape(platform.node())} ", holder)
    if words is None:
        return False
    try:
        os.kill(int(words[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _frees(file: int, seconds: float) -> bool:
    """Return whether the lock is free, or comes free within a time.

    A child that its holder was starting when it was killed keeps it until it has started.
    """
    late = time.monotonic() + seconds
    while not _is_free(file):
        if time.monotonic() > late:
            return False
        time.sleep(_MOMENT)
    return True


def _is_there(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file))
    except FileNotFoundError:
        return False
