"""How long a study took and where: `times.json`, all that differs from run to run.

Nothing else needs it: one that is missing or damaged has no sessions.
"""

import contextlib
import datetime
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from .compiling import Compiling
from .folder import Folder

FILE = "times.json"
_NUMBERS = ("samples", "seconds", "startup_seconds", "compile_seconds")


def read_times(directory: Path) -> dict[str, list[dict]]:
    """Return what `times.json` says, without what it cannot mean."""
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

    **Fields:** `sessions`: what `times.json` holds, this session last.
    """

    def __init__(self, directory: Path, started: float):
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
        self._compiling = Compiling()
        self.sessions = [*before["sessions"], session]

    def __enter__(self) -> "Times":
        self._compiling.__enter__()
        self.note()
        return self

    def __exit__(self, *_) -> None:
        self._compiling.__exit__()
        self.note()

    def note(self, samples: int = 0) -> None:
        """Write down the time, and that so many more samples are done."""
        now = time.monotonic()
        session = self.sessions[-1]
        session["samples"] += samples
        session["seconds"] = round(now - self._started, 3)
        session["startup_seconds"] = round(self._computing - self._started, 3)
        session["compile_seconds"] = round(self._compiling.seconds, 3)
        session["backend_seconds"] = round(self._compiling.backend_seconds, 3)
        session["cold"] = self._compiling.cold
        if samples and "first" not in session:  # what a chunk takes, and not all of them
            computing = now - self._computing - self._compiling.seconds
            session["first"] = [samples, round(max(0.0, computing), 3)]
        text = json.dumps({"sessions": self.sessions}, indent=2) + "\n"
        with contextlib.suppress(OSError):  # no result hangs on it
            self._folder.write(FILE, text.encode(), sync=False)
