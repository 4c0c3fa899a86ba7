"""State of an active run for other terminals: `running.json`.

The file is optional: written every two seconds and removed at the end.
"""

import collections
import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..store.folder import Folder
from .executors import Worker

FILE = "running.json"
_EVERY = 2.0  # s between updates of `running.json`
_KEPT = 5  # most recent messages


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
