"""How a process that is told to stop ends: at once, with one line and the signal's code."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_words: Callable[[], str] = lambda: "nothing was written"  # noqa: E731


def heed() -> None:
    """End with one line and code 128 + signal on Ctrl-C, SIGTERM and SIGHUP, from now on.

    Those that whoever started us ignores (`nohup`) stay ignored.
    """
    for name in _SIGNALS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def say(words: Callable[[], str]) -> None:
    """Set what is said about the work when the process is told to stop."""
    global _words
    _words = words


def leave(code: int) -> None:
    """Say that the work was stopped and end the process, whatever its threads are at."""
    line = f"\nstopped; {_words()}\n"
    # In the middle of a write, or where the terminal is gone, which is what SIGHUP says:
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.write(2, line.encode("utf-8", "backslashreplace"))
    # Threads in compiled code cannot be stopped; the store is whole at any moment.
    os._exit(code)


def _end(number: int, frame) -> None:
    leave(128 + number)
