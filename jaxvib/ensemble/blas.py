"""Single-threaded LAPACK while chunks run on all cores."""

import contextlib
import functools
import threading
from collections.abc import Generator

_lock = threading.Lock()
_held = contextlib.ExitStack()
_inside = 0  # active calls that limit BLAS to one thread


@contextlib.contextmanager
def one_blas_thread() -> Generator[None]:
    """Limit the LAPACK that XLA calls to the calling thread.

    Its own threads, one per core, would compete with those of the chunks: batches of 33
    x 33 matrices took up to fifty times as long.
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
    import scipy.linalg  # noqa: F401 - loads the LAPACK that XLA calls
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()
