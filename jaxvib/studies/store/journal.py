"""The journal of a study: its commits, with the checksum of every file."""

import concurrent.futures
import dataclasses
import json
import os
import re
import zlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from ...foundation.text import check_name
from .folder import NO_LINK, Folder, check_path, json_table, write_all

_LARGEST = 1 << 28  # bytes: 10^5 chunks of 30 arrays have 2e8
_BLOCK = 1 << 20  # bytes read at a time
_CRC = range(1 << 32)  # values of a 32-bit checksum
SIDE_BY_SIDE = 8  # files written in parallel
_GUARD = re.compile(rb"[0-9a-f]{8}")


@dataclasses.dataclass(frozen=True)
class Commit:
    """One line of the journal: a step's name and the crc32 of each of its files."""

    step: str
    files: dict[str, int]


class Journal:
    """An append-only file of commits, each line with a chained checksum.

    The checksum of a line continues that of the previous one, so that a missing line is
    detected. An incomplete last line, left by a killed process, is ignored.
    **Raises:** `OSError` for any other damaged line.
    """

    def __init__(self, path: Path):
        self.path = path
        self._folder = Folder(path.parent)
        self._guard: int | None = None  # of the last line, once known
        # Reused: on a busy machine, starting threads takes longer than their work.
        self._pool = concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE)

    def read(self) -> list[Commit]:
        """Return the commits, oldest first; none if there is no journal."""
        found = self._found()
        missing = next((i for i, commit in enumerate(found) if commit is None), None)
        if missing is not None:
            raise OSError(
                f"{self.path}, line {missing + 1} is damaged, or the one before it is "
                "missing; `--resume` repairs it"
            )
        return [commit for commit in found if commit is not None]

    def sound(self) -> list[Commit]:
        """Return the commits of all valid lines."""
        first: dict[str, Commit] = {}
        for commit in self._found():
            if commit is not None:
                first.setdefault(commit.step, commit)
        return list(first.values())

    def append(
        self,
        step: str,
        directory: Path,
        files: Iterable[str],
        written: Mapping[str, int] | None = None,
    ) -> None:
        """Commit a step: its files in `directory` reach the disk before its line does.

        **Arguments:** `written`: the crc32 of the intended content. **Raises:**
        `OSError` if a file read back has a different one.
        """
        folder, files = Folder(directory), list(files)
        # In parallel: a disk handles many flushes at once more efficiently.
        each = self._pool.map(lambda file: checksum(folder.path(file), sync=True), files)
        sums = dict(zip(files, each, strict=True))
        for file, expected in (written or {}).items():
            if sums[file] != expected:
                raise OSError(f"{directory / file} differs from what was written")
        if self._guard is None:
            self._guard = self._last_guard()
        line, self._guard = _line(Commit(step, sums), self._guard)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK
        with open(os.open(self.path, flags, 0o666), "wb", buffering=0) as stream:
            write_all(stream, line)
            os.fsync(stream.fileno())

    def rewrite(self, commits: Iterable[Commit]) -> None:
        """Replace the journal by these commits atomically."""
        lines, self._guard = [], 0
        for commit in commits:
            line, self._guard = _line(commit, self._guard)
            lines.append(line)
        self._folder.write(self.path.name, b"".join(lines))

    def _lines(self) -> list[bytes]:
        if not self._folder.kind(self.path.name):
            return []
        content = self._folder.read(self.path.name, _LARGEST)
        return content.split(b"\n")[:-1]  # the part after the last \n is incomplete

    def _last_guard(self) -> int:
        lines = self._lines()
        return _guard_of(lines[-1]) if lines else 0

    def _found(self) -> list[Commit | None]:
        """Return the commit of each line, `None` for a damaged one."""
        lines = self._lines()
        before = [0, *map(_guard_of, lines)][: len(lines)]
        return [
            _commit(line[9:])
            if line[:9] == b"%08x " % zlib.crc32(line[9:], guard)
            else None
            for line, guard in zip(lines, before, strict=True)
        ]


def checksum(path: Path | str, *, sync: bool = False) -> int:
    """Return a file's crc32; if `sync`, as read back from disk, not from the cache."""
    flags = os.O_RDONLY | NO_LINK
    with open(os.open(path, flags), "rb", buffering=0) as stream:
        if sync:
            os.fsync(stream.fileno())
            if hasattr(os, "posix_fadvise"):  # not on macOS
                os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        crc = 0
        while block := stream.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def damaged(commit: Commit, directory: Path) -> list[Path]:
    """Return the files of a commit that are missing or have other content."""
    folder = Folder(directory)
    return [
        directory / file
        for file, expected in commit.files.items()
        if not (path := folder.plain(file)) or checksum(path) != expected
    ]


def missing(commit: Commit, directory: Path, there: Collection[str]) -> list[Path]:
    """Return the missing files of a commit, and damaged metadata files.

    Chunks of samples are not read. `there`: the existing files of the folder.
    """
    described = [file for file in commit.files if file.endswith((".json", ".toml"))]
    found = damaged(Commit(commit.step, {f: commit.files[f] for f in described}), directory)
    others = (file for file in commit.files if not file.endswith((".json", ".toml")))
    return found + [directory / file for file in others if file not in there]


def _guard_of(line: bytes) -> int:
    return int(line[:8], 16) if _GUARD.match(line) else 0


def _commit(text: bytes) -> Commit | None:
    """Parse the commit of a line, `None` if it is not one."""
    try:
        table = json_table(text, "")
        commit = Commit(**table)
        check_name(commit.step)
        for name, crc in commit.files.items():
            check_path(name)
            if type(crc) is not int or crc not in _CRC:
                return None
    except (OSError, TypeError, ValueError, AttributeError):
        return None
    return commit


def _line(commit: Commit, guard: int) -> tuple[bytes, int]:
    text = json.dumps(dataclasses.asdict(commit), sort_keys=True).encode()
    new = zlib.crc32(text, guard)
    return b"%08x %s\n" % (new, text), new
