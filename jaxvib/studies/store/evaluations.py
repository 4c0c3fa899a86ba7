"""Stored evaluations of a search, to resume it after an interruption.

The points of an optimiser depend on each other. A resumed run starts from the beginning
and takes evaluations from this file, with identical bits.
"""

import base64
import json
import os
import time
import zlib
from pathlib import Path

import numpy as np

from ...ensemble.checkpoint import NoStore
from .folder import NO_LINK, Folder, json_table, write_all

FILE = "evaluations.jsonl"
_LARGEST = 1 << 32  # bytes of a file that is read: more than any design writes
_APPEND = os.O_WRONLY | os.O_APPEND | NO_LINK
_SYNC = 1.0  # s: the maximum loss on a power failure


class Evaluations:
    """A file of evaluations next to a store, one line each with a checksum.

    The first line identifies the study; lines of another study, or after a damaged one,
    are removed. The arrays stay in the file, which may be as large as the memory.
    """

    def __init__(self, directory: Path):
        self._folder = Folder(directory)
        self._path = directory / FILE
        self._study_checksum = _study_checksum(self._folder)
        self._places, end = self._read()
        self._synced = time.monotonic()
        if end:
            with open(os.open(self._path, os.O_WRONLY | NO_LINK), "wb") as stream:
                stream.truncate(end)
        else:
            self._folder.write(FILE, _line({"study": self._study_checksum}))

    def get(self, key: str) -> list[np.ndarray] | None:
        """Return the arrays under a key, or `None` if there are none."""
        if key not in self._places:
            return None
        begin, length = self._places[key]
        with open(os.open(self._path, os.O_RDONLY | NO_LINK), "rb") as stream:
            stream.seek(begin)
            entry = _entry_of(stream.read(length), self._path)
        if entry is None:
            raise OSError(f"{self._path} has been changed")
        return [_array(each) for each in entry["arrays"]]

    def put(self, key: str, arrays: list[np.ndarray]) -> None:
        """Store arrays under a key."""
        stored = [_entry(np.asarray(array)) for array in arrays]
        with open(os.open(self._path, _APPEND), "wb", buffering=0) as stream:
            write_all(stream, _line({"key": key, "arrays": stored}))
            if time.monotonic() - self._synced > _SYNC:
                os.fsync(stream.fileno())
                self._synced = time.monotonic()

    def _read(self) -> tuple[dict[str, tuple[int, int]], int]:
        """Return the place and length of each key's line, and the end of valid lines."""
        found: dict[str, tuple[int, int]] = {}
        if self._folder.kind(FILE) != "file":
            return found, 0
        if self._folder.size(FILE) > _LARGEST:
            raise OSError(f"{self._path} is longer than {_LARGEST} bytes")
        end = 0
        with open(os.open(self._path, os.O_RDONLY | NO_LINK), "rb") as stream:
            for line in stream:
                entry = _entry_of(line, self._path)
                if entry is None:
                    break  # incomplete or damaged: the rest is recomputed
                if end == 0 and entry != {"study": self._study_checksum}:
                    break
                if end:
                    if not _is_evaluation(entry):
                        break
                    found[entry["key"]] = end, len(line)
                end += len(line)
        return found, end


class HeldEvaluations:
    """Evaluations of an unfinished chunk: in memory, and stored by `write`."""

    def __init__(self, directory: Path, prefix: str):
        self._directory, self._prefix = directory, prefix
        there = Folder(directory).kind(FILE) == "file"
        self._stored = Evaluations(directory) if there else NoStore()
        self._held: dict[str, list[np.ndarray]] = {}

    def get(self, key: str) -> list[np.ndarray] | None:
        """Return the arrays under a key, or `None` if there are none."""
        return self._held.get(key) or self._stored.get(self._prefix + key)

    def put(self, key: str, arrays: list[np.ndarray]) -> None:
        """Hold arrays under a key."""
        self._held[key] = arrays

    def write(self) -> None:
        """Store all that is held."""
        stored = Evaluations(self._directory)
        for key, arrays in list(self._held.items()):
            stored.put(self._prefix + key, arrays)


def forget_evaluations(directory: Path) -> None:
    """Remove the file of a store's evaluations, after the results are stored."""
    (directory / FILE).unlink(missing_ok=True)


def _study_checksum(folder: Folder) -> int:
    record = folder.read_json("study.json")
    record["config"].pop("output", None)
    parts = {key: record[key] for key in ("config", "versions", "fingerprint")}
    return zlib.crc32(json.dumps(parts, sort_keys=True).encode())


def _entry(array: np.ndarray) -> list:
    text = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return [array.dtype.str, list(array.shape), text]


def _is_evaluation(entry: dict) -> bool:
    try:
        arrays = [_array(each) for each in entry["arrays"]]
    except (KeyError, TypeError, ValueError):
        return False
    numbers = all(array.dtype.kind in "biufc" for array in arrays)
    return isinstance(entry.get("key"), str) and numbers


def _array(entry: list) -> np.ndarray:
    kind, shape, text = entry
    return np.frombuffer(base64.b64decode(text), np.dtype(kind)).reshape(shape)


def _entry_of(line: bytes, path: Path) -> dict | None:
    """Return the entry of a line, `None` if it is incomplete or damaged."""
    guard, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or guard != b"%08x" % zlib.crc32(text):
        return None
    return json_table(text, path)


def _line(entry: dict) -> bytes:
    text = json.dumps(entry).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)
