"""Progress of a study: `running.json` of an active run, and what its folder holds."""

import collections
import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...foundation.text import duration_text
from ..store.checked_read import read_record
from ..store.folder import Folder
from ..store.journal import Journal
from ..store.lock import is_held
from ..store.recovery import has_study
from ..store.share import Share
from .distributed.executors import Worker

FILE = "running.json"
_EVERY = 2.0  # s between updates of `running.json`
_KEPT = 5  # most recent messages


def status(directory: Path) -> dict[str, Any]:
    """Return the progress of a study, its workers and failures.

    `state` is `running`, `complete` or `stopped`; `live`: the report of an active run,
    or `None`. **Raises:** `FileNotFoundError` if there is no study, `OSError` if it is
    damaged.
    """
    if not has_study(directory):
        raise FileNotFoundError(f"{directory} contains no study")
    record = read_record(Folder(directory))
    steps = {commit.step for commit in Journal(directory / "journal.jsonl").sound()}
    width, count = record["chunk"], -(-record["samples"] // record["chunk"])
    share = Share.parse(record["share"]) if "share" in record else None
    chunks = range(count) if share is None else share.chunks(count)
    numbers = [number for number in chunks if f"chunk {number}" in steps]
    samples, done = (
        sum(min(width, record["samples"] - number * width) for number in some)
        for some in (chunks, numbers)
    )
    if "group " in steps:
        done = samples
    holder = is_held(directory)
    ended = "complete" in steps or (share is not None and done == samples)
    return {
        "study": record["title"],
        "share": None if share is None else str(share),
        "state": "running" if holder else "complete" if ended else "stopped",
        "by": holder or None,
        "done": done,
        "samples": samples,
        "chunks_done": len(numbers),
        "chunks": len(chunks),
        "live": _live(directory, samples - done) if holder else None,
    }


def lines(found: dict[str, Any]) -> list[str]:
    """Format the result of `status` as text."""
    words = {"running": f": {found['by']}", "stopped": "; `--resume` continues it"}
    percent = 100 * found["done"] / found["samples"]
    return [
        f"study      {found['study']}",
        *([f"share      {found['share']}"] if found["share"] else []),
        f"state      {found['state']}{words.get(found['state'], '')}",
        f"done       {found['done']} of {found['samples']} samples ({percent:.3g} %), "
        f"{found['chunks_done']} of {found['chunks']} chunks",
        *(_live_lines(found["live"]) if found["live"] else []),
    ]


def _live(directory: Path, left: int) -> dict[str, Any] | None:
    """Return the report of an active run, None if there is none yet."""
    try:
        found = Folder(directory).read_json(FILE)
        rate = found["samples"] / max(1e-9, found["now"] - found["began"])
        now = time.time()
        workers = [
            {
                "name": str(each["name"]),
                "chunk": each["chunk"],
                "seconds": None if each["chunk"] is None else now - each["since"],
                "silent": bool(each["silent"]),
            }
            for each in found["workers"]
        ]
        return {
            "samples_a_second": rate,
            "seconds_left": left / rate if rate > 0 else None,
            "failed": found["failed"],
            "workers": workers,
            "messages": [str(line) for line in found["messages"]],
            "written_seconds_ago": now - found["now"],
        }
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        return None


def _live_lines(live: dict[str, Any]) -> list[str]:
    left, old = live["seconds_left"], live["written_seconds_ago"]
    more = "" if left is None else f", about {duration_text(left)} left"
    return [
        f"rate       {live['samples_a_second']:.3g} samples/s{more}",
        f"failed     {live['failed']} samples since the last start",
        *(f"worker     {_worker(each)}" for each in live["workers"]),
        *(f"message    {line}" for line in live["messages"]),
        *([f"updated    {duration_text(old)} ago: the run may hang"] if old > 30 else []),
    ]


def _worker(found: dict[str, Any]) -> str:
    if found["chunk"] is None:
        what = "is idle"
    else:
        what = f"computes chunk {found['chunk']} for {duration_text(found['seconds'])}"
    return f"{found['name']} {what}{', not responding' if found['silent'] else ''}"


class LiveStatus:
    """A progress that forwards its calls and writes `running.json`."""

    def __init__(self, directory: Path, progress):
        self._folder = Folder(directory)
        self._progress = progress
        self._began = time.time()
        self._samples = 0
        self._failed = 0
        self._lines: collections.deque[str] = collections.deque(maxlen=_KEPT)
        self._workers: Callable[[], Sequence[Worker]] = tuple
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> "LiveStatus":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()
        with contextlib.suppress(OSError):
            self._folder.remove(FILE)

    def follow(self, workers: Callable[[], Sequence[Worker]]) -> None:
        """Query this function for the workers from now on."""
        self._workers = workers

    def advance(self, samples: int) -> None:
        """Count completed samples."""
        self._samples += samples
        self._progress.advance(samples)

    def fail(self, samples: int) -> None:
        """Count failed samples."""
        self._failed += samples
        self._progress.fail(samples)

    def message(self, line: str) -> None:
        """Print a line to stderr."""
        self._lines.append(line)
        self._progress.message(line)

    def _write(self) -> None:
        while not self._ended.wait(_EVERY):
            found = {
                "began": self._began,
                "now": time.time(),
                "samples": self._samples,
                "failed": self._failed,
                "workers": [dataclasses.asdict(each) for each in self._workers()],
                "messages": list(self._lines),
            }
            with contextlib.suppress(OSError):
                text = json.dumps(found, indent=1) + "\n"
                self._folder.write(FILE, text.encode(), sync=False)
