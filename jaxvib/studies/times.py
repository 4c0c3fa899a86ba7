"""How long a study took and where: `times.json`, all that differs from run to run."""

import datetime
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

_COMPILING = "/jax/core/compile/backend_compile_duration"


class Times:
    """The stopwatch of one session of a study; a resumed study has several.

    **Fields:** `sessions`: what `times.json` holds, this session last.
    """

    def __init__(self, directory: Path, started: float):
        import jax

        self._path = directory / "times.json"
        self._started = started
        self._computing = time.monotonic()
        before = json.loads(self._path.read_text()) if self._path.exists() else {}
        began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        session: dict[str, Any] = {
            "started": began,
            "host": platform.node(),
            "cores": os.cpu_count(),
        }
        session |= {"samples": 0, "compile_seconds": 0.0}
        self.sessions = [*before.get("sessions", []), session]
        self._monitoring = jax.monitoring

    def __enter__(self) -> "Times":
        self._monitoring.register_event_duration_secs_listener(self._listen)
        self.note()
        return self

    def __exit__(self, *_) -> None:
        self._monitoring.unregister_event_duration_listener(self._listen)
        self.note()

    def note(self, samples: int = 0) -> None:
        """Write down the time, and that so many more samples are done."""
        now = time.monotonic()
        session = self.sessions[-1]
        session["samples"] += samples
        session["seconds"] = round(now - self._started, 3)
        session["startup_seconds"] = round(self._computing - self._started, 3)
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps({"sessions": self.sessions}, indent=2) + "\n")
        new.replace(self._path)

    def _listen(self, event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == _COMPILING:
            session = self.sessions[-1]
            session["compile_seconds"] = round(
                session["compile_seconds"] + duration_secs, 3
            )
