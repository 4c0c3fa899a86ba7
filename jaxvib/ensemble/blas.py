"""LAPACK on one thread while chunks run on all cores."""

import contextlib
import functools
import threading
from collections.abc import Generator

_lock = threading.Lock()
_held = contextlib.ExitStack()
_inside = 0  # calls that hold BLAS to one thread now


@contextlib.contextmanager
def one_blas_thread() -> Generator[None]:
    """Let the LAPACK that XLA calls compute in the thread that calls it.

    Threads of its own, one for each core, would wait in turns for those of the chunks:
    batches of 33 x 33 matrices were seen to take fifty times as long.
    """
    global _inside
    with _lock:
        if _inside == 0:
            _held.enter_context(_controller().limit(limits=1, user_api="blas"))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _held.close()


@functools.cache
def _controller():
    import scipy.linalg  # noqa: F401 - brings the LAPACK that XLA calls
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()
