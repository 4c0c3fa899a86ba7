"""Pauses the garbage collector during tracing."""

import contextlib
import gc
import threading
from collections.abc import Generator


class _Put:
    """The number of active pauses, and whether collection was enabled before."""

    def __init__(self):
        self.lock, self.by, self.went_on = threading.Lock(), 0, False


_PUT = _Put()


@contextlib.contextmanager
def gc_paused() -> Generator[None]:
    """Disable the garbage collector in this context.

    Tracing creates a hundred thousand objects that stay, and no garbage: scanning them
    and all of JAX's objects again and again takes a third of the tracing time.
    """
    with _PUT.lock:
        if _PUT.by == 0:
            _PUT.went_on = gc.isenabled()
            gc.disable()
        _PUT.by += 1
    try:
        yield
    finally:
        with _PUT.lock:
            _PUT.by -= 1
            if _PUT.by == 0 and _PUT.went_on:
                gc.enable()
