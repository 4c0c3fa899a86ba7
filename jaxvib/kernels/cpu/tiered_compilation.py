"""Tiered compilation: recompiles programs that have run for long enough."""

import atexit
import threading
from collections.abc import Callable
from typing import NamedTuple

_LOOK = 0.25  # s between two checks: half of the run time that they look for


class _Candidate(NamedTuple):
    """A program that `improve` recompiles once it `has_run`."""

    has_run: Callable[[], bool]
    improve: Callable[[], object]


class _Watch:
    """A thread that checks the waiting programs, as long as there are any."""

    def __init__(self):
        self._lock, self._end = threading.Lock(), threading.Event()
        self._waiting: list[_Candidate] = []
        self._thread: threading.Thread | None = None

    def add(self, has_run: Callable[[], bool], improve: Callable[[], object]) -> None:
        """Call `improve` in the background once `has_run()` is true."""
        with self._lock:
            self._waiting.append(_Candidate(has_run, improve))
            if self._thread is None and not self._end.is_set():
                self._thread = threading.Thread(target=self._look, daemon=True)
                self._thread.start()

    def end(self) -> None:
        """Stop, and wait for a running compilation."""
        self._end.set()
        thread = self._thread  # may be set to None meanwhile
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
# LLVM must not compile during the interpreter's shutdown.
atexit.register(_WATCH.end)
recompile_when = _WATCH.add
