"""The journal of a study: what is committed, and the checksum of every file of it."""

import concurrent.futures
import dataclasses
import json
import os
import re
import zlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from ..._words import check_name
from .folder import NO_LINK, Folder, check_path, json_table, write_all

_LARGEST = 1 << 28  # bytes: 10^5 chunks of 30 arrays have 2e8
_BLOCK = 1 << 20  # bytes that are read at a time
_CRC = range(1 << 32)  # what a checksum of 32 bits can be
SIDE_BY_SIDE = 8  # files that are put on the disk at a time
_GUARD = re.compile(rb"[0-9a-f]{8}")


@dataclasses.dataclass(frozen=True)
class Commit:
    """One line of the journal: a step's name and the crc32 of each file it wrote."""

    step: str
    files: dict[str, int]


class Journal:
    """An append-only file of commits, each line guarded by its own checksum.

    A line's guard goes on from that of the line before it, so that a line that is gone
    is noticed; in journals of earlier versions each guard stands on its own. A line that
    a killed process left half written ends the journal and is not counted. **Raises:**
    `OSError` for a line that is damaged otherwise.
    """

    def __init__(self, path: Path):
        self.path = path
        self._folder = Folder(path.parent)
        self._guard: int | None = None  # of the last line, once that is known
        # Kept: on a busy machine, starting threads takes longer than what they do here.
        self._pool = concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE)

    def read(self) -> list[Commit]:
        """Return the commits so far, oldest first; none if there is no journal."""
        found = self._found()
        missing = next((i for i, commit in enumerate(found) if commit is None), None)
        if missing is not None:
            raise OSError(
                f"{self.path}, line {missing + 1} is damaged, or the one before it is "
                "missing; `--resume` mends it"
            )
        return [commit for commit in found if commit is not None]

    def sound(self) -> list[Commit]:
        """Return the commits of those lines that are sound, whatever the others are."""
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
        """Commit a step: its files in `directory` are on the disk before its line is.

        **Arguments:** `written`: the crc32 of what the files were to hold. **Raises:**
        `OSError` if one of them is read back with another.
        """
        folder, files = Folder(directory), list(files)
        # Side by side: a disk that is told of many files at once writes them in one go.
        each = self._pool.map(lambda file: checksum(folder.path(file), sync=True), files)
        sums = dict(zip(files, each, strict=True))
        for file, expected in (written or {}).items():
            if sums[file] != expected:
                raise OSError(f"{directory / file} was written and is read back otherwise")
        if self._guard is None:
            self._guard = self._last_guard()
        line, self._guard = _line(Commit(step, sums), self._guard)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK
        with open(os.open(self.path, flags, 0o666), "wb", buffering=0) as stream:
            write_all(stream, line)
            os.fsync(stream.fileno())

    def rewrite(self, commits: Iterable[Commit]) -> None:
        """Replace the journal by these commits, all at once."""
        lines, self._guard = [], 0
        for commit in commits:
            line, self._guard = _line(commit, self._guard)
            lines.append(line)
        self._folder.write(self.path.name, b"".join(lines))

    def _lines(self) -> list[bytes]:
        if not self._folder.kind(self.path.name):
            return []
        content = self._folder.read(self.path.name, _LARGEST)
        return content.split(b"\n")[:-1]  # after the last \n: half a line

    def _last_guard(self) -> int:
        lines = self._lines()
        return _guard_of(lines[-1]) if lines else 0

    def _found(self) -> list[Commit | None]:
        """Return the commit of each line, `None` for a line that is damaged."""
        lines = self._lines()
        before = [0, *map(_guard_of, lines)][: len(lines)]
        texts = [line[9:] for line in lines]
        pairs = list(zip(lines, texts, strict=True))
        alone = [_sound(line, zlib.crc32(text)) for line, text in pairs]
        chained = [
            _sound(line, zlib.crc32(text, guard))
            for (line, text), guard in zip(pairs, before, strict=True)
        ]
        sound = alone if sum(alone) > sum(chained) else chained
        return [
            _commit(text) if whole else None
            for text, whole in zip(texts, sound, strict=True)
        ]


def checksum(path: Path | str, *, sync: bool = False) -> int:
    """Return a file's crc32; if `sync`, of what the disk gives back, not the memory."""
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
    """Return the files of a commit that are missing or hold other bytes."""
    folder = Folder(directory)
    return [
        directory / file
        for file, expected in commit.files.items()
        if not (path := folder.plain(file)) or checksum(path) != expected
    ]


def missing(commit: Commit, directory: Path, there: Collection[str]) -> list[Path]:
    """Return the files of a commit that are not there, and damaged ones among metadata.

    Chunks of samples are not read. `there`: the files that a look at the folder has found.
    """
    described = [file for file in commit.files if file.endswith((".json", ".toml"))]
    found = damaged(Commit(commit.step, {f: commit.files[f] for f in described}), directory)
    others = (file for file in commit.files if not file.endswith((".json", ".toml")))
    return found + [directory / file for file in others if file not in there]


def _sound(line: bytes, expected: int) -> bool:
    return line[:9] == b"%08x " % expected


def _guard_of(line: bytes) -> int:
    return int(line[:8], 16) if _GUARD.match(line) else 0


def _commit(text: bytes) -> Commit | None:
    """Return a line's commit if it has the form of one."""
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
