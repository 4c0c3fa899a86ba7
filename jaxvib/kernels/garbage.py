"""Python's collection of garbage, put off while a program is traced."""

import contextlib
import gc
import threading
from collections.abc import Generator


class _Put:
    """How many put it off just now, and whether it went on before the first one."""

    def __init__(self):
        self.lock, self.by, self.went_on = threading.Lock(), 0, False


_PUT = _Put()


@contextlib.contextmanager
def garbage_put_off() -> Generator[None]:
    """Collect no garbage for a while.

    A trace makes a hundred thousand objects that stay, and no garbage: to look through all
    of JAX's beside them, again and again, takes a third of the time that tracing takes.
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
