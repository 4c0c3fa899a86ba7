"""Pauses the garbage collector during imports and tracing."""

import contextlib
import gc
import threading
from collections.abc import Generator


class _Pauses:
    """The number of active pauses, and the collector's state before them."""

    def __init__(self):
        self.lock, self.active, self.enabled = threading.Lock(), 0, False
        self.others_froze = False  # whether objects were found that others have frozen


_PAUSES = _Pauses()


@contextlib.contextmanager
def gc_paused() -> Generator[None]:
    """Disable the garbage collector in this context.

    Imports and tracing create hundreds of thousands of objects that stay, and no
    garbage: scanning them again and again takes a fifth of the time of importing JAX and
    a third of that of tracing.
    """
    with _PAUSES.lock:
        if _PAUSES.active == 0:
            _PAUSES.enabled = gc.isenabled()
            gc.disable()
        _PAUSES.active += 1
    try:
        yield
    finally:
        with _PAUSES.lock:
            _PAUSES.active -= 1
            if _PAUSES.active == 0 and _PAUSES.enabled:
                if not _others_froze():
                    gc.freeze()
                    gc.unfreeze()  # into the oldest generation
                gc.enable()


def _others_froze() -> bool:
    # Python counts frozen objects one by one, 20 ms for all of JAX's: counted only until
    # some are found.
    _PAUSES.others_froze = _PAUSES.others_froze or gc.get_freeze_count() > 0
    return _PAUSES.others_froze
