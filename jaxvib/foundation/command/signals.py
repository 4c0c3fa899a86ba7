"""Signal handling: exit at once, with one line and code 128 + signal."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Generator

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_words: Callable[[], str] = lambda: "nothing was written"  # noqa: E731
_keep: Callable[[], None] = lambda: None  # noqa: E731


def handle_signals() -> None:
    """Install handlers: exit with code 128 + signal on SIGINT, SIGTERM and SIGHUP.

    Signals that are ignored already (`nohup`) stay ignored.
    """
    for name in _SIGNALS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def set_exit_message(words: Callable[[], str]) -> None:
    """Set the text about the work that is printed when the process is stopped."""
    global _words
    _words = words


@contextlib.contextmanager
def keeping(what: Callable[[], None]) -> Generator[None]:
    """Call a function that stores unfinished work, if the process is stopped inside."""
    global _keep
    before, _keep = _keep, what
    try:
        yield
    finally:
        _keep = before


def exit_interrupted(code: int) -> None:
    """Print that the work was stopped and end the process and its threads."""
    with contextlib.suppress(Exception):  # a full disk must not hold up the end
        _keep()
    line = f"\nstopped; {_words()}\n"
    # The signal may arrive during a write; after SIGHUP the terminal is gone.
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.write(2, line.encode("utf-8", "backslashreplace"))
    # Threads in compiled code cannot be stopped; the store is consistent at any moment.
    os._exit(code)


def _end(number: int, frame) -> None:
    exit_interrupted(128 + number)
