"""Runs commands as a user does: in a terminal, timed, or interrupted."""

import dataclasses
import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, seconds, what it wrote and when (terminal only)."""

    code: int
    seconds: float
    out: str
    err: str
    pieces: tuple[tuple[float, str], ...] = ()

    def first(self, word: str) -> float:
        """Return when a word was first seen, s; infinity if it never was."""
        return next((when for when, text in self.pieces if word in text), float("inf"))


class Terminal:
    """Runs commands in one folder, with the programs of one environment first."""

    def __init__(self, folder: Path, programs: Path, cache: Path):
        self.folder = folder
        kept = {
            key: os.environ[key] for key in ("HOME", "LANG", "TERM") if key in os.environ
        }
        self.environment = kept | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(cache),
            "COLUMNS": "100",
        }

    def run(self, *command: str) -> Ended:
        """Run a command with its output piped."""
        started = time.monotonic()
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        seconds = time.monotonic() - started
        return Ended(done.returncode, seconds, done.stdout, done.stderr)

    def watch(self, *command: str, interrupt_after: str | None = None) -> Ended:
        """Run a command at a terminal; press Ctrl-C once a word has been seen.

        Then `seconds` are those from Ctrl-C to the end.
        """
        # What a shell starts in the background ignores Ctrl-C, and so do its children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        started = time.monotonic()
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)
        pieces, seen, since = [], "", started
        while True:
            ready, _, _ = select.select([leader], [], [], 0.05)
            if ready:
                try:
                    text = os.read(leader, 65536).decode(errors="replace")
                except OSError:  # Linux's way to say that the other side is closed
                    break
                if not text:
                    break
                pieces.append((time.monotonic() - started, text))
                seen += text
                if interrupt_after is not None and interrupt_after in seen:
                    process.send_signal(signal.SIGINT)
                    since, interrupt_after = time.monotonic(), None
            elif process.poll() is not None:
                break
        code = process.wait()
        os.close(leader)
        return Ended(code, time.monotonic() - since, seen, "", tuple(pieces))
