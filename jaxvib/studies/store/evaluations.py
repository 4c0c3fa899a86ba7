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

from .folder import NO_LINK, Folder, json_table, write_all

FILE = "evaluations.jsonl"
_LARGEST = 1 << 32  # bytes of a file that is read: more than any design writes
_APPEND = os.O_WRONLY | os.O_APPEND | NO_LINK
_SYNC = 1.0  # s: the maximum loss on a power failure


class Evaluations:
    """A file of evaluations next to a store, one line each with a checksum.

    The first line identifies the study; lines of another study, or after a damaged one,
    are ignored.
    """

    def __init__(self, directory: Path):
        self._folder = Folder(directory)
        self._path = directory / FILE
        self._whose = _whose(self._folder)
        self._kept = self._read()
        self._synced = time.monotonic()
        lines = [_line({"study": self._whose})]
        lines += [_line({"key": key, "arrays": kept}) for key, kept in self._kept.items()]
        self._folder.write(FILE, b"".join(lines))

    def get(self, key: str) -> list[np.ndarray] | None:
        """Return the arrays under a key, or `None` if there are none."""
        kept = self._kept.get(key)
        return None if kept is None else [_array(entry) for entry in kept]

    def put(self, key: str, arrays: list[np.ndarray]) -> None:
        """Store arrays under a key."""
        kept = [_entry(np.asarray(array)) for array in arrays]
        with open(os.open(self._path, _APPEND), "wb", buffering=0) as stream:
            write_all(stream, _line({"key": key, "arrays": kept}))
            if time.monotonic() - self._synced > _SYNC:
                os.fsync(stream.fileno())
                self._synced = time.monotonic()

    def forget(self) -> None:
        """Remove the file, after the results are stored."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> dict[str, list]:
        if self._folder.kind(FILE) != "file":
            return {}
        found: dict[str, list] = {}
        lines = self._folder.read(FILE, _LARGEST).split(b"\n")[:-1]
        for number, line in enumerate(lines):
            guard, _, text = line.partition(b" ")
            if guard != b"%08x" % zlib.crc32(text):
                break  # incomplete or damaged: the rest is recomputed
            entry = json_table(text, self._path)
            if number == 0 and entry != {"study": self._whose}:
                break
            if number:
                if not _is_evaluation(entry):
                    break
                found[entry["key"]] = entry["arrays"]
        return found


class Under:
    """A view of evaluations whose keys have a prefix."""

    def __init__(self, evaluations: Evaluations, name: str):
        self._evaluations, self._name = evaluations, name

    def get(self, key: str) -> list[np.ndarray] | None:
        """Return the arrays under a key, or `None` if there are none."""
        return self._evaluations.get(f"{self._name}/{key}")

    def put(self, key: str, arrays: list[np.ndarray]) -> None:
        """Store arrays under a key."""
        self._evaluations.put(f"{self._name}/{key}", arrays)


def _whose(folder: Folder) -> int:
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


def _line(entry: dict) -> bytes:
    text = json.dumps(entry).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)
