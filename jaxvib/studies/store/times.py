"""`times.json`: duration and host of each session, which differ between runs.

The file is optional: if missing or damaged, there are no sessions.
"""

import contextlib
import datetime
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from .folder import Folder

FILE = "times.json"
_NUMBERS = ("samples", "seconds", "startup_seconds", "compile_seconds")


def read_times(directory: Path) -> dict[str, list[dict]]:
    """Read `times.json`, dropping invalid content."""
    try:
        sessions = Folder(directory).read_json(FILE).get("sessions")
    except OSError:
        sessions = None
    if not isinstance(sessions, list):
        sessions = []
    return {"sessions": [each for each in sessions if _is_session(each)]}


def _is_session(found) -> bool:
    return isinstance(found, dict) and all(
        type(found.get(key)) in (int, float) and 0 <= found[key] < 1e12 for key in _NUMBERS
    )


class Times:
    """The stopwatch of one session of a study; a resumed study has several.

    **Fields:** `sessions`: content of `times.json`, this session last. Its text `kernels`
    says on which processors kernels ran. `compiling` is a `CompileTimes`, of which only
    a run needs JAX.
    """

    def __init__(self, directory: Path, started: float, compiling: Any):
        self._folder = Folder(directory)
        self._started = started
        self._computing = time.monotonic()
        before = read_times(directory)
        began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        session: dict[str, Any] = {
            "started": began,
            "host": platform.node(),
            "cores": os.cpu_count(),
        }
        session |= {"samples": 0}
        self._compiling = compiling
        self.sessions = [*before["sessions"], session]

    def __enter__(self) -> "Times":
        self._compiling.__enter__()
        self.note()
        return self

    def __exit__(self, *_) -> None:
        self._compiling.__exit__()
        self.note()

    def note(self, samples: int = 0) -> None:
        """Store the elapsed time and a number of further completed samples."""
        now = time.monotonic()
        session = self.sessions[-1]
        session["samples"] += samples
        session["seconds"] = round(now - self._started, 3)
        session["startup_seconds"] = round(self._computing - self._started, 3)
        session["compile_seconds"] = round(self._compiling.seconds, 3)
        text = json.dumps({"sessions": self.sessions}, indent=2) + "\n"
        with contextlib.suppress(OSError):  # not essential
            self._folder.write(FILE, text.encode(), sync=False)
