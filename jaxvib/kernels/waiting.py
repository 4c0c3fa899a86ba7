"""Quick code that XLA calls: compiled better once it has run for long enough."""

import atexit
import threading
from collections.abc import Callable
from typing import NamedTuple

_LOOK = 0.25  # s, from one look at what has run to the next: half of what it looks for


class _Waiting(NamedTuple):
    """A program that is compiled better by `improve` when it `has_run`."""

    has_run: Callable[[], bool]
    improve: Callable[[], object]


class _Watch:
    """A thread that looks at all programs that wait, for as long as there are some."""

    def __init__(self):
        self._lock, self._end = threading.Lock(), threading.Event()
        self._waiting: list[_Waiting] = []
        self._thread: threading.Thread | None = None

    def add(self, has_run: Callable[[], bool], improve: Callable[[], object]) -> None:
        """Look at a program from now on."""
        with self._lock:
            self._waiting.append(_Waiting(has_run, improve))
            if self._thread is None and not self._end.is_set():
                self._thread = threading.Thread(target=self._look, daemon=True)
                self._thread.start()

    def end(self) -> None:
        """Look no more, and wait for a compilation that has begun."""
        self._end.set()
        thread = self._thread  # which may end, and say so, just now
        if thread is not None:
            thread.join()

    def _look(self) -> None:
        while not self._end.wait(_LOOK):
            with self._lock:
                ready = [program for program in self._waiting if program.has_run()]
            for program in ready:
                program.improve()
            with self._lock:
                self._waiting = [each for each in self._waiting if each not in ready]
                if not self._waiting:
                    self._thread = None
                    return


_WATCH = _Watch()
# LLVM may not compile while what it stands on is taken down at the end of the process.
atexit.register(_WATCH.end)


def improve_when(has_run: Callable[[], bool], improve: Callable[[], object]) -> None:
    """Call `improve`, beside other work, once something `has_run` for long."""
    _WATCH.add(has_run, improve)
