"""One run per folder: a lock that ends with its process."""

import contextlib
import datetime
import os
import platform
import re
import time
from pathlib import Path

from .folder import NO_LINK, Folder

FILE = "run.lock"
_MOST_TOLD = 200  # bytes of the file's text
_MOMENT = 0.01  # s between two attempts
_GLANCE = 0.25  # s: a mere check holds the lock for far less
_PATIENCE = 1.0  # s, for a lock left behind by a process that has ended


class Lock:
    """The exclusive right to write to a study's folder, from `take` to `release`.

    The operating system holds it (`flock`) and releases it when the process ends; the
    text in the file is for information only.
    """

    def __init__(self, directory: Path):
        self._folder = Folder(directory)
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock, if not already held; the folder must exist.

        **Raises:** `BlockingIOError` naming the process that holds it; `OSError` if it
        cannot be taken.
        """
        if self._file is not None:
            return
        path = self._folder.path(FILE)
        if self._folder.kind(FILE) not in ("", "file"):
            raise OSError(f"{path} is not a plain file")
        while self._file is None:
            file = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o666)
            try:
                holder = os.read(file, _MOST_TOLD).decode("utf-8", "replace").strip()
                if not _is_released(file, _PATIENCE if _is_gone(holder) else _GLANCE):
                    who = f" by {holder}" if holder else ""
                    raise BlockingIOError(f"{self._folder.root} is in use{who}")
                if _is_there(path, file):  # its previous holder may have removed it
                    self._file = file
            finally:
                if self._file is None:
                    os.close(file)
        began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        words = f"process {os.getpid()} on {platform.node()} since {began}\n"
        os.ftruncate(self._file, 0)
        os.write(self._file, words.encode())

    def release(self) -> None:
        """Release the lock, if held."""
        if self._file is not None:
            file, self._file = self._file, None
            with contextlib.suppress(OSError):
                self._folder.path(FILE).unlink()
            with contextlib.suppress(OSError):
                os.close(file)


def is_held(directory: Path) -> str:
    """Return the text of the process that holds a folder's lock, `""` if none does."""
    folder = Folder(directory)
    if folder.kind(FILE) != "file":
        return ""
    try:
        file = os.open(folder.path(FILE), os.O_RDONLY | NO_LINK)
    except FileNotFoundError:
        return ""  # removed by its holder in the meantime
    try:
        words = os.read(file, _MOST_TOLD).decode("utf-8", "replace").strip()
        return "" if _is_released(file, _GLANCE) else words or "an unknown process"
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
    """Return whether the text names a process of this machine that has ended."""
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


def _is_released(file: int, seconds: float) -> bool:
    """Return whether the lock is free or is released within a time.

    A child that was being started by a killed holder keeps it until it has started.
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
