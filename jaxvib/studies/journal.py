"""The journal of a study: what is committed, and the checksum of every file of it."""

import dataclasses
import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Commit:
    """One line of the journal: a step's name and the crc32 of each file it wrote."""

    step: str
    files: dict[str, int]


class Journal:
    """An append-only file of commits, each line guarded by its own checksum.

    A line that a killed process left half written ends the journal and is not
    counted. **Raises:** `OSError` for a line that is damaged otherwise.
    """

    def __init__(self, path: Path):
        self.path = path

    def read(self) -> list[Commit]:
        """Return the commits so far, oldest first; none if there is no journal."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")[:-1]  # after the last \n: half a line
        return [self._parse(number, line) for number, line in enumerate(lines, 1)]

    def append(self, step: str, directory: Path, files: Iterable[str]) -> None:
        """Commit a step: its files in `directory` are on the disk before its line is."""
        sums = {file: checksum(directory / file, sync=True) for file in files}
        with self.path.open("ab") as stream:
            stream.write(_line(Commit(step, sums)))
            _sync(stream)

    def rewrite(self, commits: Iterable[Commit]) -> None:
        """Replace the journal by these commits, all at once."""
        new = self.path.with_suffix(".new")
        with new.open("wb") as stream:
            stream.writelines(_line(commit) for commit in commits)
            _sync(stream)
        new.replace(self.path)

    def _parse(self, number: int, line: bytes) -> Commit:
        guard, _, text = line.partition(b" ")
        if guard != b"%08x" % zlib.crc32(text):
            raise OSError(f"{self.path}, line {number} is damaged")
        return Commit(**json.loads(text))


def checksum(path: Path, *, sync: bool = False) -> int:
    """Return a file's crc32, after making sure that it is on the disk if `sync`."""
    with path.open("rb") as stream:
        if sync:
            os.fsync(stream.fileno())
        return zlib.crc32(stream.read())


def damaged(commit: Commit, directory: Path) -> list[Path]:
    """Return the files of a commit that are missing or hold other bytes."""
    paths = {directory / file: expected for file, expected in commit.files.items()}
    return [
        path
        for path, expected in paths.items()
        if not path.is_file() or checksum(path) != expected
    ]


def _line(commit: Commit) -> bytes:
    text = json.dumps(dataclasses.asdict(commit), sort_keys=True).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _sync(stream) -> None:
    stream.flush()
    os.fsync(stream.fileno())
