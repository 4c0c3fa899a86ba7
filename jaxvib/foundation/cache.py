"""The per-user cache of machine code and programs, in a private folder.

Cached content is executed. A folder is therefore used only if no other user can change
it or its parents, an entry only if its digest matches its name and content.
"""

import atexit
import contextlib
import functools
import hashlib
import logging
import os
import shutil
import stat
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .machine import instruction_set

if sys.platform != "win32":
    import grp
    import pwd

LARGEST = 2**27  # bytes of an entry; the longest programs need a tenth of it
MOST = 2**31  # bytes in total: some ten thousand kernels
UNUSED = 90 * 86400  # s after which an unread entry is removed
_DAY = 86400  # s between updates of an entry's time of last use
_OFTEN = 3600  # s between two scans of all files
_CUT_OFF = 3600  # s after which an unfinished file is abandoned
_DIGEST = 32  # bytes of a digest, SHA-256
_UNFINISHED = ".new-"  # prefix of files that are being written
_LOOKED = ".looked"
_PRIVATE = "JAXVIB_PRIVATE_CACHE"  # passes the private folder to child processes
_INHERITED = os.environ.get(_PRIVATE)
_PLAIN = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):  # do not block on a FIFO
    _PLAIN |= getattr(os, _flag, 0)
_WRITTEN: Counter[Path] = Counter()  # bytes since the last scan
_LOG = logging.getLogger("jaxvib")


def cache_folder(name: str = "") -> Path | None:
    """Return the user's folder for entries of a kind, creating it if necessary.

    If other users could change it, or if it is not writable, return a private folder of
    this process and its children, removed at exit; `None` if that cannot be created.
    """
    return _folder(_root(), name)[0]


def programs_folder() -> Path | None:
    """Return the folder for programs compiled by this JAX for this machine.

    Compiled programs are specific to the processor and to the versions.
    """
    import importlib.metadata  # takes 30 ms, not needed by `jaxvib --help`

    names = [f"{name}-{importlib.metadata.version(name)}" for name in ("jax", "jaxlib")]
    processor = hashlib.sha256(repr(instruction_set()).encode()).hexdigest()[:8]
    return cache_folder("-".join([*names, processor]))


def programs_kept() -> bool:
    """Return whether the compilation cache of this process has any entry."""
    folder = os.environ.get("JAX_COMPILATION_CACHE_DIR") or programs_folder()
    return folder is not None and os.path.isdir(folder) and bool(os.listdir(folder))


def why_private() -> str:
    """Return why the cache is private to this process; "" if it is the user's."""
    return _folder(_root(), "")[1]


def read_entry(name: str) -> bytes | None:
    """Return the content stored under a name, such as `"kernels/add.o"`.

    `None` unless it is a complete regular file of the user, written under this name.
    """
    path = _place(name)
    entry = None if path is None else _content(path, LARGEST + _DIGEST)
    if entry is None:
        return None
    content = entry[_DIGEST:]
    return content if entry[:_DIGEST] == _digest(name, content) else None


def write_entry(name: str, content: bytes) -> None:
    """Store content under a name, atomically."""
    path = _place(name)
    if path is None or len(content) > LARGEST:
        return
    with contextlib.suppress(OSError):  # a full disk: recomputed next time
        _write(path, _digest(name, content) + content)
    _bound(path.parents[1], len(content))


def remove_entry(name: str) -> None:
    """Remove the content stored under a name, if any."""
    path = _place(name)
    if path is not None:
        _remove_file(path)


def entries() -> list[tuple[Path, int]]:
    """Return the files of the cache and their sizes in bytes."""
    folder = cache_folder()
    if folder is None:
        return []
    return [(path, found.st_size) for path, found in _files(folder)]


def clear() -> tuple[int, int]:
    """Empty the cache and make its folders private; return counts of files and bytes.

    **Raises:** `PermissionError` if others own a folder or can change a parent.
    """
    root = _root()
    if root is None or not os.path.isdir(root):
        return 0, 0
    real = Path(os.path.realpath(root))
    for folder in reversed(real.parents):
        _require_closed(folder)
    inside = [each for each in real.iterdir() if each.is_dir() and not each.is_symlink()]
    for folder in (real, *inside):
        _require_own(folder)
        folder.chmod(0o700)
    files, size = 0, 0
    for path, found in _files(real):
        with contextlib.suppress(FileNotFoundError):  # removed by another process
            path.unlink()
            files, size = files + 1, size + found.st_size
    return files, size


def _root() -> str | None:
    """Return the path of the cache; never relative to the working directory."""
    if _INHERITED:
        return _INHERITED
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the XDG specification ignores relative paths
        return os.path.join(base, "jaxvib")
    home = os.path.expanduser("~")
    if not os.path.isabs(home) and sys.platform != "win32":
        with contextlib.suppress(KeyError):  # a user without an account
            home = pwd.getpwuid(os.geteuid()).pw_dir
    return os.path.join(home, ".cache", "jaxvib") if os.path.isabs(home) else None


@functools.cache
def _folder(root: str | None, name: str) -> tuple[Path | None, str]:
    """Return a folder of the cache and why it is private ("" if it is the user's)."""
    if root is None:
        return _private(name, "the user has no home"), "the user has no home"
    try:
        real = _private_folder(root, name)
    except OSError as error:
        # Our own errors have a full message, those of the system an errno.
        why = f"{root} is not writable" if error.errno else str(error)
        return _private(name, why), why
    _bound(Path(os.path.realpath(root)))
    return real, ""


def _private_folder(root: str, name: str) -> Path:
    """Return the real path of an existing, private folder of the user.

    **Raises:** `PermissionError` if it is not private, `OSError` if creation fails.
    """
    real = Path(os.path.realpath(root))
    for folder in reversed(real.parents):
        _make_folder(folder)
        _require_closed(folder)
    for folder in dict.fromkeys((real, real / name)):
        _make_folder(folder)
        _require_own(folder)
        if stat.S_IMODE(folder.lstat().st_mode) & 0o022 and sys.platform != "win32":
            raise PermissionError(
                f"others can write to {folder}; `jaxvib cache clear` empties and closes it"
            )
        folder.chmod(0o700)
    if not os.access(real / name, os.W_OK | os.X_OK):
        raise PermissionError(f"{real / name} is not writable")
    return real / name


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        with contextlib.suppress(FileExistsError):  # created by another process
            folder.mkdir(0o700)


def _require_own(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{folder} is not a folder")
    if sys.platform != "win32" and found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another user")


def _require_closed(folder: Path) -> None:
    """Raise `PermissionError` if others could replace entries of a folder."""
    if sys.platform == "win32":
        return  # no POSIX modes
    found = folder.lstat()
    if found.st_uid not in (0, os.geteuid()):
        raise PermissionError(f"{folder} belongs to another user")
    group = found.st_mode & stat.S_IWGRP and not _is_private_group(found.st_gid)
    # In a sticky folder only the owner can replace an entry.
    if (group or found.st_mode & stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX:
        raise PermissionError(f"others can write to {folder}")


def _is_private_group(group: int) -> bool:
    """Return whether a group is the user's private group."""
    try:
        found, name = grp.getgrgid(group), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}


def _private(name: str, why: str) -> Path | None:
    """Return a private folder of this process, warning once; `None` if impossible."""
    warned = _private_root.cache_info().currsize
    root = _private_root()
    if not warned:
        until = "kept until this process ends" if root else "not kept"
        _LOG.warning("jaxvib: %s; compiled code is %s", why, until)
    try:
        return None if root is None else _private_folder(str(root), name)
    except OSError:
        return None


@functools.cache
def _private_root() -> Path | None:
    try:
        root = Path(tempfile.mkdtemp(prefix="jaxvib-"))
    except OSError:
        return None
    os.environ[_PRIVATE] = str(root)
    atexit.register(_remove, root, os.getpid())
    return root


def _remove(folder: Path, maker: int) -> None:
    if os.getpid() == maker:  # not a fork of it
        shutil.rmtree(folder, ignore_errors=True)


def _place(name: str) -> Path | None:
    """Return the path of an entry."""
    kind, _, file = name.partition("/")
    folder = cache_folder(kind)
    return None if folder is None else folder / file


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


def _content(path: Path, most: int) -> bytes | None:
    """Return the content of a regular file that only the user can open."""
    try:
        with open(os.open(path, _PLAIN), "rb") as file:
            found = os.fstat(file.fileno())
            if not _is_own(found) or found.st_size > most:
                return None
            if sys.platform != "win32" and found.st_mode & 0o077:
                return None
            if time.time() - found.st_mtime > _DAY:
                os.utime(path)
            return file.read(found.st_size)
    except OSError:
        return None


def _is_own(found: os.stat_result) -> bool:
    if not stat.S_ISREG(found.st_mode):
        return False
    if sys.platform == "win32":
        return True
    # The link count is 0 if another process has just replaced the file.
    return found.st_uid == os.geteuid() and found.st_nlink <= 1


def _write(path: Path, content: bytes) -> None:
    number, new = tempfile.mkstemp(dir=path.parent, prefix=_UNFINISHED)
    try:
        with open(number, "wb") as file:
            file.write(content)
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def _bound(root: Path, written: int = 0) -> None:
    """Remove abandoned, irregular and least recently used files."""
    _WRITTEN[root] += written
    looked, now = root / _LOOKED, time.time()
    with contextlib.suppress(OSError):
        if now - looked.lstat().st_mtime < _OFTEN and _WRITTEN[root] < MOST / 16:
            return
    _WRITTEN[root], used = 0, []
    with contextlib.suppress(OSError):
        looked.touch(0o600)
    for path, found in _files(root):
        age = now - max(found.st_atime, found.st_mtime)
        cut_off = path.name.startswith(_UNFINISHED) and age > _CUT_OFF
        if not _is_own(found) or cut_off or age > UNUSED:
            _remove_file(path)
        elif path.parent != root:
            used.append((age, found.st_size, path))
    total = 0
    for _, size, path in sorted(used):
        total += size
        if total > MOST:
            _remove_file(path)


def _files(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            with contextlib.suppress(FileNotFoundError):  # removed by another process
                yield path, path.lstat()


def _remove_file(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
